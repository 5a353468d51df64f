"""Signing in with a password: count the attempt, check outside any transaction, open the session."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from opsapp.audit.engine import Actor, note, refused
from opsapp.auth import resources
from opsapp.auth.config import LoginSettings
from opsapp.auth.logic.names import username_problem
from opsapp.auth.records import LoggedIn, SecondStepDue
from opsapp.lib.problems import Unauthenticated
from opsapp.runtime.node import Node, now_of
from opsapp.tree.root import Root

from .browsers import Held
from .limits import Counters, in_turn, login_counters, too_many, turn_of
from .passwords import hashing_of, verify_password


class Client(NamedTuple):
    """Who signs in, from where; `held` are the cookies by which a browser is known."""

    ip: str
    agent: str
    held: Held = ()


class BegunAttempt(NamedTuple):
    locked: int
    password_hash: str | None


def sign_in(
    node: Node, username: str, password: str, client: Client, has_left: Callable[[], bool] = lambda: False
) -> LoggedIn | SecondStepDue:
    """A session, or a partial token where the second factor is on; else TooMany, Unauthenticated or HashingBusy, after
    the same time whether the user exists or not. `has_left`: nothing is hashed for a client that has gone."""
    counters = login_counters(node, client.ip, username, client.held)
    with hashing_of(node).admitted(turn_of(counters)):
        return _sign_in(node, username, password, client, counters, has_left)


def _sign_in(
    node: Node, username: str, password: str, client: Client, counters: Counters, has_left: Callable[[], bool]
) -> LoggedIn | SecondStepDue:
    begun = in_turn(node, _begin, counters, username, whose=turn_of(counters))
    if begun.locked:
        login_refused(node, username, client, "too_many_attempts")
        raise too_many(begun.locked)
    answer = None
    if verify_password(node, turn_of(counters), begun.password_hash, password, has_left):
        answer = node.transact(_open, username, begun.password_hash, client, node.config[LoginSettings].session_s)
    if answer is None:
        login_refused(node, username, client, "bad_credentials")
        raise wrong_credentials()
    return answer


def wrong_credentials() -> Unauthenticated:
    return Unauthenticated("The username or the password is wrong.", code="bad_credentials")


def _begin(root: Root, counters: Counters, username: str) -> BegunAttempt:
    locked = resources.count(root, counters, now_of(root))
    user = resources.find_enabled(root, username)
    return BegunAttempt(locked, user.password_hash if user is not None else None)


def _open(
    root: Root, username: str, password_hash: str, client: Client, life: float
) -> LoggedIn | SecondStepDue | None:
    """None if the user was disabled or got another password meanwhile."""
    user = resources.find_enabled(root, username)
    if user is None or user.password_hash != password_hash:
        return None
    if user.totp is not None:
        return SecondStepDue(resources.make_partial(root, username, now_of(root)))
    return open_session(root, username, client, life)


def open_session(root: Root, username: str, client: Client, life: float) -> LoggedIn:
    token = resources.open_session(root, username, now_of(root), client.ip, client.agent, life)
    note(root, Actor(username, client.ip), "login", username)
    return LoggedIn(token, resources.users_of(root)[username].role, username)


def login_refused(node: Node, username: str, client: Client, reason: str, action: str = "login") -> None:
    """What nobody can be called is left out: it may be a password in the wrong field."""
    name = None if username_problem(username) else username
    refused(node, Actor(name, client.ip), action, name or "", reason)
