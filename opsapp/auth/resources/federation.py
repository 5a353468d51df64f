"""Stores users of an identity provider by issuer and subject, never by name; and the states that were used."""

from __future__ import annotations

from typing import Any

from BTrees.OOBTree import OOBTree

from opsapp.lib.ids import digest
from opsapp.tree.root import Root

from .expiry import purge_page
from .places import subjects_of, used_states_of, users_of


def set_up(root: Root) -> None:
    """Evolve step."""
    subjects_of.put(root, OOBTree())
    used_states_of.put(root, OOBTree())


def subject_of(issuer: str, subject: str) -> str:
    return digest(f"{len(issuer)} {issuer} {subject}")


def find_subject(root: Root, subject: str) -> Any:
    """A name that was given to somebody else since is not theirs."""
    user = _bound_to(root, subject)
    return user if user is not None and user.subject == subject else None


def bind_subject(root: Root, user: Any, subject: str) -> None:
    user.subject = subject
    subjects_of(root)[subject] = user.__name__


def find_claimed(root: Root, claim: str) -> Any:
    """Who has signed in with this claim last."""
    user = _bound_to(root, claim)
    return user if user is not None and user.claimed == claim else None


def _bound_to(root: Root, key: str) -> Any:
    username = subjects_of(root).get(key)
    return None if username is None else users_of(root).get(username)


def bind_claim(root: Root, user: Any, claim: str | None) -> None:
    """`claim`: a digest (`subject_of`) of what a provider's word about the person is compared with later."""
    if claim != user.claimed:
        user.claimed = claim
    if claim is not None and subjects_of(root).get(claim) != user.__name__:
        subjects_of(root)[claim] = user.__name__


def use_state(root: Root, state: str, forget_at: float) -> bool:
    states = used_states_of(root)
    if digest(state) in states:
        return False
    states[digest(state)] = forget_at
    return True


def purge_states(root: Root, now: float, after: str = "") -> str | None:
    return purge_page(used_states_of(root), after, lambda forget_at: forget_at <= now)
