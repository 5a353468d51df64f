"""A user's sealed TOTP secret and recovery codes, and the partial tokens between the two steps."""

from __future__ import annotations

from typing import Any

from BTrees.OOBTree import OOBTree
from persistent import Persistent

from opsapp.lib.ids import digest, new_token
from opsapp.tree.root import Root

from .expiry import purge_page
from .places import partials_of, users_of

PURPOSE = "totp"
PARTIAL_S = 300
WRONG_CODES = 5


class Totp(Persistent):
    """A confirmed second factor. `last_step`: the newest time step whose code was accepted."""

    def __init__(self, sealed: str, last_step: int, recovery: tuple[str, ...]):
        self.sealed = sealed
        self.last_step = last_step
        self.recovery = recovery  # digests of the codes that are left


class Partial(Persistent):
    """A right password whose code is still due."""

    wrong = 0

    def __init__(self, username: str, generation: str, now: float):
        self.username = username
        self.generation = generation
        self.expires_at = now + PARTIAL_S


def set_up(root: Root) -> None:
    """Evolve step."""
    partials_of.put(root, OOBTree())


def make_partial(root: Root, username: str, now: float) -> str:
    token = new_token()
    user = users_of(root)[username]
    partials_of(root)[digest(token)] = Partial(username, user.generation, now)
    return token


def find_partial(root: Root, token: str, now: float) -> tuple[Partial, Any] | None:
    """The live partial token and its user, if nothing about the user has changed since."""
    partial = partials_of(root).get(digest(token))
    if partial is None or partial.expires_at <= now:
        return None
    user = users_of(root).get(partial.username)
    if user is None or user.disabled or user.totp is None or user.generation != partial.generation:
        return None
    return partial, user


def drop_partial(root: Root, token: str) -> None:
    del partials_of(root)[digest(token)]


def count_wrong_code(root: Root, token: str, partial: Partial) -> None:
    partial.wrong += 1
    if partial.wrong >= WRONG_CODES:
        drop_partial(root, token)


def use_recovery_code(totp: Totp, code: str) -> bool:
    """Whether it was one that is left; it is not any more."""
    wanted = digest(code.replace("-", "").replace(" ", "").lower())
    if wanted not in totp.recovery:
        return False
    totp.recovery = tuple(kept for kept in totp.recovery if kept != wanted)
    return True


def purge_partials(root: Root, now: float, after: str = "") -> str | None:
    return purge_page(partials_of(root), after, lambda partial: partial.expires_at <= now)


def reseal(root: Root, anew: Any) -> None:
    """For `opsapp rekey`: every sealed secret once more."""
    for user in users_of(root).whole():
        if user.totp is not None:
            user.totp.sealed = anew(user.totp.sealed, PURPOSE)
        if user.pending_totp is not None:
            user.pending_totp = anew(user.pending_totp, PURPOSE)
