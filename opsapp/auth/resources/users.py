"""User records: who may sign in, with which role."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from BTrees.OOBTree import OOBTree
from persistent import Persistent

from opsapp.auth.interfaces import IUserGone
from opsapp.auth.records import Source, UserShown
from opsapp.lib.ids import new_id
from opsapp.lib.problems import Conflict
from opsapp.runtime.node import node_of
from opsapp.tree.folder import Folder, Record
from opsapp.tree.root import Root
from opsapp.wire.records import plain

from .keys import drop_keys_of, end_streams_of_keys
from .places import admin_guard_of, all_sessions_of, attempts_of, session_ends_of, users_of
from .sessions import end_sessions


class Wishes(NamedTuple):
    """How somebody wants pages to be. `timezone` None: the zone of the service."""

    timezone: str | None = None
    theme: Literal["system", "light", "dark"] = "system"
    first_steps: Literal["open", "later"] = "open"


class SavedFilter(NamedTuple):
    """A list as somebody wants to see it again: its page and what was asked of it."""

    id: str
    name: str
    path: str
    query: str


class User(Record):
    """`password_hash` is empty for a user of an identity provider or a directory."""

    url = "/api/users/{username}"
    subject: str | None = None  # of a user of an identity provider or a directory: see federation
    entry_id: str | None = None  # of a user of a directory: the bytes of its id there, in hex
    totp: Any = None  # secondfactor.Totp once it is confirmed
    pending_totp: str | None = None  # a sealed secret that waits for its confirmation
    lost_role = False  # disabled because the identity provider gives no role any more, until it gives one again
    withdrawn = False  # disabled because a provider says so by SCIM, until it says otherwise
    claimed: str | None = None  # digest of the claim by which a provider's person is known to be this user
    own_password = True  # no other person or program knows it: False until the user has changed a password given by one
    saved_filters: tuple[SavedFilter, ...] = ()  # in the order in which they were saved
    wishes: Wishes | None = None  # how the user wants pages to be; None: nothing was said yet

    def __init__(self, role: str, password_hash: str, created_at: int, source: Source = "local"):
        self.role = role
        self.password_hash = password_hash
        self.disabled = False
        self.source: Source = source
        self.created_at = created_at
        self.last_login: int | None = None
        self.sessions = OOBTree()  # session id -> token digest
        self.generation = new_id()  # new whenever what was handed out before must not be good any more


class Users(Folder):
    url = "/api/users"
    holds = "user"
    named_by = "username"


class AdminGuard(Persistent):
    """Written when an admin is removed, so that two requests that do it at once conflict."""

    changes = 0


def set_up(root: Root) -> None:
    """Evolve step."""
    users_of.put(root, Users())
    all_sessions_of.put(root, OOBTree())
    session_ends_of.put(root, OOBTree())
    attempts_of.put(root, OOBTree())
    admin_guard_of.put(root, AdminGuard())


def find_enabled(root: Root, username: str) -> User | None:
    user = users_of(root).get(username)
    return None if user is None or user.disabled else user


def is_enabled(root: Root, username: str) -> bool:
    """Whether somebody of this name may sign in; of a record that cannot be read, no."""
    user = users_of(root).find(username)
    return user is not None and not user.disabled


def shown(user: User) -> UserShown:
    has_factor = user.totp is not None
    name, source = user.__name__, user.source
    return UserShown(name, user.role, user.disabled, has_factor, source, user.created_at, user.last_login)


def describe(user: User) -> dict[str, object]:
    """The same as the audit record keeps it."""
    return plain(shown(user))


def wishes_of(user: User | None) -> Wishes:
    return (user.wishes if user is not None else None) or Wishes()


def create(root: Root, username: str, role: str, password_hash: str, now: float, source: Source = "local") -> User:
    if username in users_of(root):
        raise Conflict("There is a user of this name already.", code="user_exists")
    user = users_of(root)[username] = User(role, password_hash, int(now), source)
    user.own_password = source != "local"
    return user


class AccountChange(NamedTuple):
    """None: that stays."""

    role: str | None = None
    disabled: bool | None = None
    password_hash: str | None = None


def change(
    root: Root, user: User, wanted: AccountChange, keep_session: str | None = None, *, end_keys: bool = False
) -> None:
    """What that makes invalid ends at once, with `end_keys` the keys too; `keep_session` stays."""
    changed = {name: value for name, value in wanted._asdict().items() if value not in (None, getattr(user, name))}
    if not changed:
        return
    if user.role == "admin" and not user.disabled and (changed.get("disabled") or "role" in changed):
        _keep_an_admin(root, user)
    for name, value in changed.items():
        setattr(user, name, value)
    if "password_hash" in changed:
        user.own_password = False
    user.generation = new_id()
    end_sessions(root, user, keep=keep_session)
    if "disabled" in changed:
        user.lost_role = user.withdrawn = False
    if changed.get("disabled"):
        _give_back(root, user)
    if changed.get("disabled") or end_keys:
        drop_keys_of(root, user.__name__)
    elif "role" in changed:
        end_streams_of_keys(root, user.__name__)


def delete(root: Root, user: User) -> None:
    if user.role == "admin" and not user.disabled:
        _keep_an_admin(root, user)
    end_sessions(root, user)
    drop_keys_of(root, user.__name__)
    user.disabled, user.generation = True, new_id()  # written, so that a login at this moment meets a conflict
    del users_of(root)[user.__name__]
    _give_back(root, user)


def _give_back(root: Root, user: User) -> None:
    node = node_of(root)
    for _, give_back in node.registry.getUtilitiesFor(IUserGone):
        give_back(root, user.__name__, node.clock.now())


def _keep_an_admin(root: Root, leaving: User) -> None:
    admin_guard_of(root).changes += 1
    others = (user for user in users_of(root).values() if user is not leaving)
    if not any(user.role == "admin" and not user.disabled for user in others):
        raise Conflict("This is the last enabled admin: make another one first.", code="last_admin")
