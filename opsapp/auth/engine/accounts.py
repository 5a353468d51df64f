"""Making and changing users, by the same rules for the API, the command line and the first start."""

from __future__ import annotations

import logging
import os
import secrets
import sys
from pathlib import Path

from opsapp.audit.engine import SHELL, Actor, note, refusals_noted
from opsapp.auth import resources
from opsapp.auth.logic.names import password_problem, username_problem
from opsapp.auth.records import UserShown
from opsapp.lib.problems import Invalid
from opsapp.runtime.node import Node, now_of
from opsapp.tree.root import Root

from . import directory
from .accountchanges import change, not_local, remove, user_of
from .limits import count_attempt, proof_counters, turn_of
from .passwords import hash_password, hashing_of, verify_password

log = logging.getLogger(__name__)


def add_user(
    node: Node, username: str, role: str, password: str, *, disabled: bool = False, actor: Actor = SHELL
) -> UserShown:
    with refusals_noted(node, actor, "user.create", username):
        problems = {"username": username_problem(username), "password": password_problem(password, username)}
        _refuse(problems)
        return node.transact(_add, username, role, hash_password(node, password), disabled, actor)


def change_user(
    node: Node,
    username: str,
    actor: Actor,
    *,
    role: str | None = None,
    disabled: bool | None = None,
    password: str | None = None,
) -> UserShown:
    with refusals_noted(node, actor, "user.update", username):
        password_hash = None
        if password is not None:
            _refuse({"password": password_problem(password, username)})
            password_hash = hash_password(node, password)
        return node.transact(change, username, resources.AccountChange(role, disabled, password_hash), actor)


def remove_user(node: Node, username: str, actor: Actor = SHELL) -> None:
    with refusals_noted(node, actor, "user.delete", username):
        node.transact(remove, username, actor)


def set_password(node: Node, username: str, password: str, actor: Actor = SHELL) -> None:
    """Ends the user's sessions."""
    change_user(node, username, actor, password=password)


def disable_user(node: Node, username: str, actor: Actor = SHELL) -> None:
    change_user(node, username, actor, disabled=True)


def unlock_user(node: Node, username: str, actor: Actor = SHELL) -> None:
    with refusals_noted(node, actor, "user.unlock", username):
        node.transact(_unlock, username, actor)


def _unlock(root: Root, username: str, actor: Actor) -> None:
    user_of(root, username)
    unlocked = resources.forget_attempts(root, [f"user:{username}", f"proof:{username}"], now_of(root))
    note(root, actor, "user.unlock", username, after={"was_locked": unlocked})


def list_users(node: Node) -> list[UserShown]:
    return node.transact(lambda root: [resources.shown(user) for user in resources.users_of(root).whole()])


def change_own_password(
    node: Node, username: str, session_id: str, actor: Actor, *, current: str, new: str, end_keys: bool
) -> None:
    """The present one proves who asks; that session stays, the user's others end, with `end_keys` the keys too."""
    with refusals_noted(node, actor, "password.change", username):
        _refuse({"new": password_problem(new, username)})
        node.transact(_must_be_here, username)
        prove(node, username, current, "current")
        node.transact(_change_own, username, hash_password(node, new), session_id, end_keys, actor)


def prove(node: Node, username: str, password: str, field: str) -> None:
    """Invalid (naming the field) unless it is this user's password; attempts are limited."""
    counters = proof_counters(node, username)
    with hashing_of(node).admitted(turn_of(counters)):
        count_attempt(node, counters)
        known, entry_id = node.transact(_proof_of, username)
        if entry_id is not None:
            right = directory.knows_password(node, turn_of(counters), entry_id, password)
        elif known == "":
            raise not_local("oidc")
        else:
            right = verify_password(node, turn_of(counters), known, password, lambda: False)
    if not right:
        raise Invalid({field: "is not the present password"}, code="wrong_password")


def _refuse(checked: dict[str, str | None]) -> None:
    problems = {name: problem for name, problem in checked.items() if problem}
    if problems:
        raise Invalid(problems)


def _proof_of(root: Root, username: str) -> tuple[str | None, str | None]:
    user = resources.find_enabled(root, username)
    return (None, None) if user is None else (user.password_hash, user.entry_id)


def _add(root: Root, username: str, role: str, password_hash: str, disabled: bool, actor: Actor) -> UserShown:
    user = resources.create(root, username, role, password_hash, now_of(root))
    user.disabled = disabled
    note(root, actor, "user.create", username, after=resources.describe(user))
    return resources.shown(user)


def _must_be_here(root: Root, username: str) -> None:
    if user_of(root, username).source == "ldap":
        raise not_local("ldap")


def _change_own(root: Root, username: str, password_hash: str, session_id: str, end_keys: bool, actor: Actor) -> None:
    user = user_of(root, username)
    wanted = resources.AccountChange(password_hash=password_hash)
    resources.change(root, user, wanted, session_id, end_keys=end_keys)
    user.own_password = True
    note(root, actor, "password.change", username, after={"keys_ended": end_keys})


def make_first_admin(node: Node) -> None:
    """With no user in the store: an `admin`, its password from the environment or random."""
    if node.transact(_has_users):
        return
    given, data = os.environ.get("OPSAPP_ADMIN_PASSWORD"), node.registry.settings.get("opsapp.data")
    if not (given or data or sys.stdout.isatty()):
        log.warning("there is no user: start with OPSAPP_ADMIN_PASSWORD set, or with a data directory for the password")
        return
    if given and password_problem(given, "admin"):
        log.warning("the first admin's password from the environment %s: change it", password_problem(given, "admin"))
    password = given or secrets.token_urlsafe(15)
    if node.transact(_add_first_admin, hash_password(node, password)) and not given:
        _tell(password, data)


def _has_users(root: Root) -> bool:
    return any(True for _ in resources.users_of(root))


def _add_first_admin(root: Root, password_hash: str) -> bool:
    if _has_users(root):
        return False
    user = resources.create(root, "admin", "admin", password_hash, now_of(root))
    note(root, SHELL, "user.create", "admin", after=resources.describe(user))
    return True


def _tell(password: str, data: str | None) -> None:
    """Write the password to a file beside the data, and to a terminal. What is not a terminal is a log, which others
    read: it gets the name of the file only."""
    if data:
        path = Path(data).absolute() / "admin-password"
        path.unlink(missing_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(password + "\n")
        log.warning("the first user is admin, and its password is in %s", path)
    if sys.stdout.isatty():
        print(f"First admin: user admin, password {password}", flush=True)  # noqa: T201 - meant for the person who starts it
