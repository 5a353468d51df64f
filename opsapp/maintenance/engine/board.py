"""This node's memory of all windows, so that a check can ask on the hub whether one is on.

A change by this node is in it as soon as it is committed; one by another node when its event arrives.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from zope.interface import Interface

from opsapp.maintenance.logic import HEALING, Active, Plan, current, steady_until
from opsapp.maintenance.resources import HealingWindow, plans_of, windows_of
from opsapp.tree.root import Root

if TYPE_CHECKING:
    from opsapp.runtime.node import Node

EVENT = "maintenance"
WAKE = "maintenance"
KEEP_HEALING_S = 30 * 86400.0


class IBoard(Interface):
    """Utility: this node's memory of the windows."""


class Board:
    def __init__(self, node: Node):
        self.node = node
        self.plans: dict[str, Plan] = {}
        self._zone = ""
        self._stale = True
        self._active: tuple[float, float, tuple[Active, ...]] = (0.0, 0.0, ())  # true from, until, which
        self._covered: tuple[tuple[Active, ...], Callable[[str], bool]] = ((), _nothing)

    def put(self, plan: Plan) -> None:
        """Any thread: a window that was committed."""
        self.plans = {**self.plans, plan.id: plan}
        self._active = (0.0, 0.0, ())

    def drop(self, window_id: str) -> None:
        self.plans = {each: plan for each, plan in self.plans.items() if each != window_id}
        self._active = (0.0, 0.0, ())

    def touch(self, event: Any) -> None:
        """A listener of the outbox: somebody has changed a window."""
        if event.kind == EVENT:
            self._stale = True
            self.node.wake(WAKE)

    def step(self) -> bool:
        """Read the store again, if anything has changed."""
        if self._stale or self._zone != self.node.config["timezone"]:
            self._stale, self._zone = False, self.node.config["timezone"]
            self.plans = {plan.id: plan for plan in self.node.transact(plans_of)}
            self._active = (0.0, 0.0, ())
        return False

    def active(self, now: float) -> tuple[Active, ...]:
        """Windows that are on. Worked out anew only when one begins or ends, or was changed."""
        since, until, found = self._active
        if since <= now < until:
            return found
        plans = tuple(self.plans.values())
        found = tuple(Active(plan, span) for plan in plans if (span := current(plan, now)) is not None)
        self._active = (now, min((steady_until(plan, now) for plan in plans), default=now + 60.0), found)
        return found

    def covered(self, now: float) -> Callable[[str], bool]:
        """A test for ids: whether a maintenance window covers it now."""
        active = self.active(now)
        known = self._covered
        if known[0] is not active:  # each check asks
            known = self._covered = (active, _covering(active))
        return known[1]

    def covers(self, each: str, now: float) -> bool:
        return self.covered(now)(each)


def _nothing(_: str) -> bool:
    return False


def _covering(active: tuple[Active, ...]) -> Callable[[str], bool]:
    scopes = [each.plan.scope for each in active if each.plan.family != HEALING]
    if any(scope is None for scope in scopes):
        return lambda _: True
    ids = frozenset().union(*(scope for scope in scopes if scope is not None))
    return ids.__contains__ if ids else _nothing


def prepare(node: Node) -> None:
    """Before anything is served or checked: a restart within a window is still within it."""
    board = Board(node)
    board.step()
    node.registry.registerUtility(board, IBoard)


def board_of(node: Node) -> Board:
    return node.registry.getUtility(IBoard)


def start(node: Node) -> None:
    board = board_of(node)
    node.events.listen(board.touch)
    node.supervisor.add("maintenance", board.step, every=5.0, wake=(WAKE, "config"))
    forget = partial(_forget, node)
    node.supervisor.add("maintenance-purge", forget, every=3600.0, lease="housekeeping")


def _forget(node: Node) -> bool:
    return node.transact(purge, node.clock.now())


def purge(root: Root, now: float) -> bool:
    """Healing windows that ended long ago. The others are somebody's, until he deletes them."""
    store = windows_of(root)
    for one in store.of_family(HealingWindow):
        if one.fields["expires_at"] < now - KEEP_HEALING_S:
            del store[one.__name__]
    return False
