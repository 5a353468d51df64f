"""API keys: bearer tokens with a role and an end, that act for their user."""

from __future__ import annotations

from typing import Any

from BTrees.OOBTree import OOBTree

from opsapp.auth.records import KeyShown
from opsapp.lib.ids import digest, new_id, new_token
from opsapp.lib.problems import Conflict
from opsapp.runtime.events import SESSION_ENDED, emit
from opsapp.tree.acl import ROLES
from opsapp.tree.folder import Folder, Record
from opsapp.tree.root import Root

from .places import all_keys_of, key_ids_of, users_of

MOST_KEYS = 100  # of a user
FEDERATED_LIFE_S = 30 * 86400  # an identity provider that takes a role away is asked only at the next sign-in


class ApiKey(Record):
    url = "/api/keys/{key_id}"
    assistant = False  # of an older store

    def __init__(
        self,
        username: str,
        name: str,
        role: str,
        expires_at: int | None,
        token_digest: str,
        now: float,
        *,
        assistant: bool = False,
    ):
        self.username = username
        self.name = name
        self.role = role
        self.expires_at = expires_at
        self.token_digest = token_digest
        self.created_at = int(now)
        if assistant:
            self.assistant = True

    def shown(self) -> KeyShown:
        return KeyShown(
            self.__name__, self.name, self.role, self.expires_at, self.assistant, self.username, self.created_at
        )


class Keys(Folder):
    url = "/api/keys"
    holds = "key"


def set_up(root: Root) -> None:
    """Evolve step."""
    all_keys_of.put(root, Keys())
    key_ids_of.put(root, OOBTree())


def make_key(
    root: Root, username: str, name: str, role: str, expires_at: int | None, now: float, *, assistant: bool = False
) -> tuple[ApiKey, str]:
    root._p_jar.readCurrent(users_of(root)[username])
    if len(keys_of(root, username)) >= MOST_KEYS:
        raise Conflict(f"A user may have {MOST_KEYS} keys. Delete one that is not used.", code="too_many_keys")
    token = new_token()
    key_id = new_id()
    key = all_keys_of(root)[key_id] = ApiKey(username, name, role, expires_at, digest(token), now, assistant=assistant)
    key_ids_of(root)[digest(token)] = key_id
    return key, token


def find_key(root: Root, token: str, now: float) -> tuple[ApiKey, str] | None:
    """The key and the role that it has now: its own, but never more than its user's."""
    key_id = key_ids_of(root).get(digest(token))
    return None if key_id is None else live_key(root, key_id, now)


def live_key(root: Root, key_id: str, now: float) -> tuple[ApiKey, str] | None:
    key = all_keys_of(root).get(key_id)
    user = None if key is None else users_of(root).get(key.username)
    if key is None or user is None or user.disabled:
        return None
    end = end_of(user, key.expires_at, key.created_at)
    if end is not None and end <= now:
        return None
    return key, min(key.role, user.role, key=ROLES.index)


def end_of(user: Any, expires_at: int | None, created_at: int) -> int | None:
    """When a key of this user ends."""
    latest = created_at + FEDERATED_LIFE_S if user.source != "local" else None
    ends = [end for end in (expires_at, latest) if end is not None]
    return min(ends) if ends else None


def drop_key(root: Root, key: ApiKey) -> None:
    del key_ids_of(root)[key.token_digest]
    del all_keys_of(root)[key.__name__]
    emit(root, SESSION_ENDED, {"session_id": key.__name__})


def drop_keys_of(root: Root, username: str) -> None:
    for key in keys_of(root, username):
        drop_key(root, key)


def end_streams_of_keys(root: Root, username: str) -> None:
    """What they have opened is opened anew, with the role that they have now."""
    for key in keys_of(root, username):
        emit(root, SESSION_ENDED, {"session_id": key.__name__, "stays": True})


def keys_of(root: Root, username: str) -> list[ApiKey]:
    return [key for key in all_keys_of(root).values() if key.username == username]
