"""Counts an attempt to sign in, and refuses it while one of its counters is locked."""

from __future__ import annotations

from typing import Any

from opsapp.auth import resources
from opsapp.auth.config import LoginSettings
from opsapp.auth.logic.attempts import AttemptLimit
from opsapp.auth.logic.names import username_problem
from opsapp.lib.networks import counted_address
from opsapp.lib.problems import TooMany
from opsapp.runtime.node import Node
from opsapp.runtime.threads.fair import NOBODY, Whose
from opsapp.tree.root import Root

from .browsers import Held, known_browser

TICKETS_S = 60.0
Counter = tuple[str, AttemptLimit]
Counters = list[Counter]


def login_counters(node: Node, ip: str, username: str, held: Held = ()) -> Counters:
    """Attempts count by address, and by username so that many addresses do not help. A known browser has one of its
    own: what others try does not count there."""
    browser_id = known_browser(node, held, username)
    if browser_id is not None:
        return [_of_user(node, "browser", browser_id)]
    by_ip = counter_of_address(node, "ip", ip)
    return [by_ip] if username_problem(username) else [by_ip, _of_user(node, "user", username)]


def proof_counters(node: Node, username: str) -> Counters:
    return [_of_user(node, "proof", username)]


def _of_user(node: Node, kind: str, name: str) -> Counter:
    settings = node.config[LoginSettings]
    return f"{kind}:{name}", AttemptLimit(settings.attempts_per_user, settings.window_s, settings.lock_s)


def counter_of_address(node: Node, kind: str, ip: str) -> Counter:
    settings = node.config[LoginSettings]
    limit = AttemptLimit(settings.attempts_per_ip, settings.window_s, settings.lock_s)
    return f"{kind}:{counted_address(ip)}", limit


def count_ticket(node: Node, root: Root, username: str) -> None:
    """TooMany when there were too many in the last minute; that one is not written."""
    most = node.config[LoginSettings].tickets_per_user
    limit = AttemptLimit(most, TICKETS_S, TICKETS_S)
    locked = resources.count(root, [("ticket:" + username, limit)], node.clock.now())
    if locked:
        text = f"You may make {most} stream tickets a minute. A ticket is good for all reconnects of its stream."
        raise TooMany(text, code="too_many_requests", retry_after=locked)


def count_attempt(node: Node, counters: Counters) -> None:
    locked = in_turn(node, resources.count, counters, node.clock.now(), whose=turn_of(counters))
    if locked:
        raise too_many(locked)


def in_turn(node: Node, fn: Any, *values: Any, whose: Whose = NOBODY) -> Any:
    """This node's transactions on counters take turns, so that a burst does not drown in its own conflicts."""
    return node.lane("attempts", 1).run_for(whose, node.transact, fn, *values)


def turn_of(counters: Counters) -> Whose:
    """Known browsers and signed-in people do not wait behind a storm from unknown addresses."""
    first, _ = counters[0]
    return Whose(first.partition(":")[0], first)


def too_many(seconds: int) -> TooMany:
    return TooMany(f"Too many attempts. Try again in {seconds} seconds.", code="too_many_attempts", retry_after=seconds)
