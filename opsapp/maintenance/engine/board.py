"""This node's memory of all windows, so that checks can ask on the hub. A projection: changes of this node are in it
once committed, others' when their event arrives."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import NamedTuple, cast

from opsapp.maintenance.logic import HEALING, Active, WindowPlan, active, steady_until
from opsapp.maintenance.resources import KIND, HealingWindow, windows_of, zone_of
from opsapp.runtime.events import Event, emit
from opsapp.runtime.node import Node, node_of
from opsapp.runtime.projection import Projection
from opsapp.runtime.wakes import after_commit
from opsapp.tree.damage import load
from opsapp.tree.root import Root

EVENT = "maintenance"
WAKE = "maintenance"  # whoever acts when a window begins or ends
FORGOTTEN = "_window_forgotten"  # kept from /api/stream: nobody did that
LONG_S = 86400.0
KEEP_HEALING_S = 30 * 86400.0
PAGE = 200
KEY = "opsapp.maintenance.board"


class _Active(NamedTuple):
    """While the plans are the same. `covered`: a test for ids."""

    of: dict[str, WindowPlan]
    since: float
    until: float
    windows: tuple[Active, ...]
    covered: Callable[[str], bool]


class Board(Projection[WindowPlan]):
    kind = KIND

    def __init__(self, node: Node):
        super().__init__(node.clock)
        self.node = node
        self.plans: dict[str, WindowPlan] = {}  # replaced whole, never changed
        self._zone = ""
        self._active = _Active({}, 0.0, 0.0, (), frozenset[str]().__contains__)

    def concerns(self, event: Event) -> str | None:
        return event.data["id"] if event.kind in (EVENT, FORGOTTEN) else None

    def ids(self, root: Root) -> Iterable[str]:
        store = root["api"].get("maintenance")  # a tree from before this room was made has none
        return () if store is None else store.known_names()

    def read(self, root: Root, item_id: str) -> WindowPlan | None:
        window = windows_of(root).get(item_id)
        return None if window is None else load(window).plan(zone_of(root))

    def known(self) -> Collection[str]:
        return tuple(self.plans)

    def name_of(self, item_id: str) -> str:
        plan = self.plans.get(item_id)
        return plan.name if plan else ""

    def apply(self, items: Mapping[str, WindowPlan | None]) -> None:
        plans = {**self.plans, **items}
        self.plans = {window_id: plan for window_id, plan in plans.items() if plan is not None}
        self.node.wake(WAKE)

    def step(self) -> bool:
        """All of it where date-times are read in another zone."""
        zone = self.node.config.timezone
        if zone != self._zone:
            self.reset()
        if self.behind:
            self.node.transact(self.catch_up)
            self._zone = zone
        return False

    def active(self, now: float) -> tuple[Active, ...]:
        return self._at(now).windows

    def covered(self, now: float) -> Callable[[str], bool]:
        """A test for ids. Each check asks."""
        return self._at(now).covered

    def _at(self, now: float) -> _Active:
        """Worked out anew only when one begins, ends or changes."""
        known, plans = self._active, self.plans
        if known.of is plans and known.since <= now < known.until:
            return known
        windows = tuple(active(plans.values(), now))
        until = min((steady_until(plan, now) for plan in plans.values()), default=now + 60.0)
        known = self._active = _Active(plans, now, until, windows, _covering(windows))
        return known

    def long_over(self, now: float) -> frozenset[str]:
        """Healing windows that ended a day ago: such an end is never moved."""
        plans = self.plans.items()
        return frozenset(key for key, plan in plans if plan.family == HEALING and plan.end < now - LONG_S)

    def covered_since(self, item_id: str, now: float) -> float | None:
        """When the first of those that cover it now began."""
        active = [window for window in self.active(now) if window.plan.family != HEALING]
        begun = [span.start for plan, span in active if plan.scope is None or item_id in plan.scope]
        return min(begun, default=None)


def _covering(active: tuple[Active, ...]) -> Callable[[str], bool]:
    scopes = [window.plan.scope for window in active if window.plan.family != HEALING]
    if any(scope is None for scope in scopes):
        return lambda _: True
    ids = frozenset().union(*(scope for scope in scopes if scope is not None))
    return ids.__contains__


def prepare(node: Node) -> None:
    """Makes the board of windows before anything is checked: a restart within a window is still within it."""
    board = Board(node)
    board.step()
    node.projections.add("windows", board)
    node.registry[KEY] = board


def board_of(node: Node) -> Board:
    return cast("Board", node.registry[KEY])


def start(node: Node) -> None:
    board = board_of(node)
    node.supervisor.add("maintenance", board.step, every=5.0, wake=("config",))
    forget = partial(_forget, node)
    node.supervisor.add("maintenance-purge", forget, every=3600.0, lease="housekeeping", cleans=True)


def _forget(node: Node) -> bool:
    """Healing windows alone: others stay until somebody deletes them."""
    before = node.clock.now() - KEEP_HEALING_S
    plans = board_of(node).plans.values()
    old = [plan.id for plan in plans if plan.family == HEALING and plan.end < before]
    if old:
        node.transact(purge, old[:PAGE], before)
    return len(old) > PAGE


def purge(root: Root, ids: list[str], before: float) -> None:
    store = windows_of(root)
    for window_id in ids:
        window = store.get(window_id)
        if isinstance(window, HealingWindow) and window.record.expires_at < before:
            del store[window_id]
            emit(root, FORGOTTEN, {"id": window_id})
            after_commit(root, board_of(node_of(root)).put, window_id, None)
