"""Schedules: a heap of the next moments on the one node that holds the lease; what is due becomes runs.

How far ticks were handled is committed with the runs, so that a tick makes one run or none, whatever breaks. A tick
that came while no node was up is missed: it makes one run when the automation says `catch_up`, none otherwise.
"""

from __future__ import annotations

import heapq
import logging
from collections import deque
from typing import Any, NamedTuple

from opsapp.audit.engine import Actor, note_refusal
from opsapp.automations.resources import Plan, automations_of, board_of, standing_of
from opsapp.lib import cron
from opsapp.lib.problems import Conflict, Invalid
from opsapp.notify.engine import tell
from opsapp.runtime.events import Event
from opsapp.runtime.leases import check
from opsapp.runtime.node import Node
from opsapp.runtime.wakes import node_of
from opsapp.tree.root import Root

from . import flow

log = logging.getLogger(__name__)

LEASE = "automations"
CHANGED = "_automation"
TICK_S = 0.05
PAGE = 200
SCHEDULE = "schedule"


class Row(NamedTuple):
    """One automation's next moment. `digest` tells of which settings."""

    at: float
    automation_id: str
    digest: str


def next_of(root: Root, automation_id: str, plan: Plan | None, after: float) -> Row | None:
    """When it comes next; None without a plan."""
    if plan is None:
        return None
    zone = plan.zone or node_of(root._p_jar).config["timezone"]
    return Row(cron.next_time(plan.schedule, zone, after), automation_id, plan.digest)


def read(root: Root, ids: list[str]) -> list[Row]:
    """The next moments of these automations: behind what was handled, and none before their settings were made."""
    handled, found = board_of(root).clock.handled, []
    for automation_id in ids:
        plan = automations_of(root).plan_for(automation_id)
        row = next_of(root, automation_id, plan, max(handled[0] - 0.001, plan.made_at if plan else 0.0))
        if row is not None and (row.at, row.automation_id) <= handled:
            row = next_of(root, automation_id, plan, row.at)
        if row is not None:
            found.append(row)
    return found


def tick(root: Root, due: list[Row], now: float, up_since: float) -> list[Row]:
    """What is due, in the order of the heap, becomes runs; when each comes next."""
    check(root, LEASE)
    clock, following = board_of(root).clock, []
    for row in due:
        plan = automations_of(root).plan_for(row.automation_id)
        if plan is None or plan.digest != row.digest:
            continue
        if (row.at, row.automation_id) > clock.handled:
            _run(root, plan, row, now, missed=row.at < up_since)
        later = next_of(root, row.automation_id, plan, now)
        if later is not None:
            following.append(later)
    clock.handled = max(clock.handled, (due[-1].at, due[-1].automation_id))
    return following


def _run(root: Root, plan: Plan, row: Row, now: float, *, missed: bool) -> None:
    if missed and not plan.catch_up:
        return
    if _is_full(root, row.automation_id, plan.name, now):
        return
    origin = "catch_up" if missed else SCHEDULE
    try:
        if plan.simple:
            flow.ask_planned(root, now, row.automation_id, plan, by=SCHEDULE, origin=origin)
        else:
            flow.ask(root, now, row.automation_id, given={}, by=SCHEDULE, origin=origin)
    except (Conflict, Invalid) as refusal:
        log.warning("schedule did not run automation=%s: %s", row.automation_id, refusal)


def _is_full(root: Root, automation_id: str, name: str, now: float) -> bool:
    """Whether so many runs wait already that a tick makes no other one: a schedule that is faster than its runs would
    queue for ever. People are told when that begins, and again only after half of the queue was worked off."""
    most, state = flow.options(root)["max_waiting"], standing_of(root, automation_id)
    waiting, was_full = len(state.waiting) if board_of(root).queue else 0, state.row.full
    if waiting < most:
        if was_full and waiting <= most // 2:
            state.change(full=False)
        return False
    if not was_full:
        state.change(full=True)
        reason = f"{most} runs wait already: ticks of its schedule make no more"
        note_refusal(root, Actor(SCHEDULE, None), "automation.run", automation_id, reason)
        tell(
            root,
            now,
            key=f"automation:{automation_id}",
            kind="automation.full",
            severity="warning",
            title=f"{name}: its schedule is faster than its runs",
            text=f"{name}: {reason}.",
        )
        log.warning("schedule is faster than its runs automation=%s waiting=%d", automation_id, waiting)
    return True


class Scheduler:
    """Lives on the hub of an engine node; its heap is good only while the node holds the lease."""

    def __init__(self, node: Node):
        self.node = node
        self.heap: list[Row] = []
        self.known: dict[str, str] = {}  # automation id -> digest of what is in the heap
        self.changed: set[str] = set()
        self.loaded = False
        self.lateness: deque[float] = deque(maxlen=20_000)  # seconds
        self._config: Any = None

    def on_event(self, event: Event) -> None:
        if event.kind == CHANGED:
            self.changed.add(event.data["id"])

    def step(self) -> bool:
        if not self.node.leases.holds(LEASE):
            self.loaded = False
            return False
        if not self.loaded or self._config is not self.node.config:
            self._load()
        if self.changed:
            self._take_changes()
        return self._tick()

    def _load(self) -> None:
        """Everything, from where the last holder of the lease left off."""
        self._config = self.node.config
        self.changed.clear()
        self.heap, self.known = [], {}
        ids = self.node.transact(_all, self.node.clock.now())
        for start in range(0, len(ids), PAGE):
            self._put(self.node.transact(read, ids[start : start + PAGE]))
        self.loaded = True

    def _take_changes(self) -> None:
        ids = list(self.changed)[:PAGE]
        self.changed.difference_update(ids)
        for automation_id in ids:
            self.known.pop(automation_id, None)
        self._put(self.node.transact(read, ids))

    def _put(self, rows: list[Row]) -> None:
        for row in rows:
            self.known[row.automation_id] = row.digest
            heapq.heappush(self.heap, row)

    def _tick(self) -> bool:
        """Whether there is more of it."""
        now = self.node.clock.now()
        due: list[Row] = []
        while self.heap and self.heap[0].at <= now and len(due) < PAGE:
            row = heapq.heappop(self.heap)
            if self.known.get(row.automation_id) == row.digest:
                due.append(row)
        if not due:
            return False
        try:
            following = self.node.transact(tick, due, now, self.node.started_at)
        except BaseException:
            self.loaded = False  # nothing is known of what was stored: begin again from there
            raise
        self.lateness.extend(self.node.clock.now() - row.at for row in due if row.at >= self.node.started_at)
        for row in due:
            self.known.pop(row.automation_id, None)
        self._put(following)
        return True


def _all(root: Root, now: float) -> list[str]:
    """Every automation with a schedule; the first time of all, what was before is nothing to make up for."""
    clock = board_of(root).clock
    if not clock.handled[0]:
        clock.handled = (now, "")
    return list(automations_of(root).plans)
