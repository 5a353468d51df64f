"""Changes of an account within a transaction, with their audit entries: by an admin, at the shell, or by a provider."""

from __future__ import annotations

from opsapp.audit.engine import Actor, changed, note
from opsapp.auth import resources
from opsapp.auth.interfaces import IUserDeleted
from opsapp.auth.records import Source, UserShown
from opsapp.lib.problems import Conflict, NotFound
from opsapp.runtime.node import node_of, now_of
from opsapp.tree.root import Root


def user_of(root: Root, username: str) -> resources.User:
    user = resources.users_of(root).get(username)
    if user is None:
        raise NotFound(f"There is no user {username!r}.")
    return user


def not_local(source: Source) -> Conflict:
    where = "the directory" if source == "ldap" else "the identity provider"
    return Conflict(f"This user signs in with {where} and has no password here.", code="not_local")


def change(root: Root, username: str, wanted: resources.AccountChange, actor: Actor) -> UserShown:
    user, new_password = user_of(root, username), wanted.password_hash is not None
    if new_password and user.source != "local":
        raise not_local(user.source)
    before = resources.describe(user)
    resources.change(root, user, wanted, end_keys=new_password)
    was, became = changed(before, resources.describe(user))
    if new_password:
        became["credentials_changed"] = True
    note(root, actor, "user.update", username, before=was, after=became)
    return resources.shown(user)


def remove(root: Root, username: str, actor: Actor) -> None:
    user = user_of(root, username)
    before = resources.describe(user)
    drop(root, user)
    note(root, actor, "user.delete", username, before=before)


def drop(root: Root, user: resources.User) -> None:
    """The user goes, with what is stored of them elsewhere."""
    resources.delete(root, user)
    for _, forget in node_of(root).registry.getUtilitiesFor(IUserDeleted):
        forget(root, user.__name__, now_of(root))
