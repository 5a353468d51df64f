"""Schedules: a heap of the next moments on the node that holds the lease; what is due becomes runs. A projection.

How far ticks were handled is committed with the runs, so a tick makes one run or none. A tick that came while no node
was up, or that the clock jumped over, is missed: it makes one run with `catch_up`, else none. When the clock is set
back, some times come again (`RepeatableSpan`).
"""

from __future__ import annotations

import heapq
import logging
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from opsapp.audit.engine import Actor, note_refusal
from opsapp.automations.resources import SchedulePlan, automations_of, board_of, standing_of
from opsapp.automations.resources.board import ScheduleClock
from opsapp.lib import cron
from opsapp.lib.problems import Conflict, Invalid
from opsapp.notify.engine import tell
from opsapp.runtime.clocks.clock import STEP_S
from opsapp.runtime.cluster.leases import check
from opsapp.runtime.events import Event
from opsapp.runtime.node import Node, node_of, now_of
from opsapp.runtime.projection import Projection
from opsapp.runtime.threads.supervisor import PULSE_S
from opsapp.tree.damage import is_damage
from opsapp.tree.reading import ChildrenOf
from opsapp.tree.root import Root

from . import flow

log = logging.getLogger(__name__)

LEASE = "automations"
CHANGED = "_automation"
QUEUE = "automations-schedule"
LOOK_S = 0.5  # at the latest: the machine's clock may be put on
PAGE = 200
SCHEDULE = "schedule"
LONGEST_S = 2 * 86400.0  # a clock that is set back by more was wrong: what came before it was set counts for nothing


class RepeatableSpan(NamedTuple):
    """Times of the calendar after `since` until `until` that may come again, because somebody has set the clock: lived
    through, or jumped over.

    A schedule with an hour of its own does not run again for a time that was lived through. What repeats (`lib.cron`)
    goes on, as through the doubled hour of a change of the clocks, unless it comes only once in the repeated time.
    Times that a clock jumped over come for the first time.
    """

    since: float
    until: float
    lived: bool


def after_step(spans: Sequence[RepeatableSpan], landed: float, before: float, now: float) -> tuple[RepeatableSpan, ...]:
    """The spans after the clock went from `before` to `now`. `landed` is where the last step had led to."""
    kept = [span for span in spans if span.until > now and span.since <= now + LONGEST_S]
    if now > before:
        return (*kept, RepeatableSpan(before, now, False))
    since = max(now, landed)
    if since < before <= now + LONGEST_S:
        kept.append(RepeatableSpan(since, before, True))
    return tuple(kept)


def comes_again(spans: Sequence[RepeatableSpan], at: float, schedule: str, zone: str, *, catch_up: bool) -> bool:
    """Whether a schedule has had its run for a time. `catch_up`: one that was jumped over was made up for."""
    return any(
        _had(span, at, schedule, zone) if span.lived else catch_up for span in spans if span.since < at <= span.until
    )


def _had(span: RepeatableSpan, at: float, schedule: str, zone: str) -> bool:
    if not cron.repeats(schedule):
        return True
    first = cron.next_time(schedule, zone, span.since)
    return first == at and cron.next_time(schedule, zone, at) > span.until


def _spans(clock: ScheduleClock) -> list[RepeatableSpan]:
    return [RepeatableSpan(*span) for span in clock.spans]


class NextRun(NamedTuple):
    """One automation's next moment. `digest` tells of which settings."""

    at: float
    automation_id: str
    digest: str


def next_of(root: Root, automation_id: str, plan: SchedulePlan | None, after: float) -> NextRun | None:
    if plan is None:
        return None
    zone = plan.zone or node_of(root).config.timezone
    clock = board_of(root).clock
    spans = _spans(clock)
    at = cron.next_time(plan.schedule, zone, after)
    while at > clock.landed and comes_again(spans, at, plan.schedule, zone, catch_up=plan.catch_up):
        at = cron.next_time(plan.schedule, zone, at)
    return NextRun(at, automation_id, plan.digest)


def read(root: Root, automation_id: str) -> NextRun | None:
    """The next run, behind what was handled, and none before the automation's settings were made."""
    handled, plan = board_of(root).clock.handled, automations_of(root).plan_for(automation_id)
    made_at = min(plan.made_at, now_of(root)) if plan else 0.0  # later: by a clock that was ahead
    row = next_of(root, automation_id, plan, max(handled[0] - 0.001, made_at))
    if row is not None and (row.at, row.automation_id) <= handled:
        row = next_of(root, automation_id, plan, row.at)
    return row


def tick(root: Root, due: list[NextRun], now: float, up_since: float) -> list[NextRun]:
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


def _run(root: Root, plan: SchedulePlan, row: NextRun, now: float, *, missed: bool) -> None:
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
    """Whether so many runs wait that a tick makes no other one: a schedule that is faster than its runs would queue for
    ever. People are told when that begins, and again only after half of the queue was worked off."""
    most, state = flow.options(root).max_waiting, standing_of(root, automation_id)
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
            ids={"automation": automation_id},
        )
        log.warning("schedule is faster than its runs automation=%s waiting=%d", automation_id, waiting)
    return True


class Scheduler(Projection[NextRun]):
    """Lives on the hub of an engine node; its heap is good only while the node holds the lease."""

    kind = "schedule of an automation"
    moves_itself = True

    def __init__(self, node: Node):
        super().__init__(node.clock)
        self.node = node
        self.heap: list[NextRun] = []
        self.rows: dict[str, NextRun] = {}  # automation id -> the row in the heap that counts
        self.loaded = False
        self.lateness: deque[float] = deque(maxlen=20_000)  # seconds
        self._config: Any = None
        self._up_since = node.started_at  # what was due before is missed
        self._steps: list[tuple[float, float]] = []  # of the clock, that the store does not know of: from, to
        node.projections.add("schedules", self)
        node.clock_steps.follow(self.move)

    def move(self, by: float) -> None:
        """The clock was set by so many seconds."""
        now = self.node.clock.now()
        self._steps.append((now - by, now))
        self._up_since = now if by > 0 else self._up_since + by
        self._drop()
        self.node.wake(QUEUE)

    def concerns(self, event: Event) -> str | None:
        return event.data["id"] if event.kind == CHANGED else None

    def ids(self, root: Root) -> Iterable[str]:
        return ChildrenOf(automations_of(root).plans, self.kind).known_names()

    def read(self, root: Root, item_id: str) -> NextRun | None:
        return read(root, item_id)

    def known(self) -> Collection[str]:
        return tuple(self.rows)

    def apply(self, items: Mapping[str, NextRun | None]) -> None:
        for automation_id, row in items.items():
            known = self.rows.get(automation_id)
            if row is not None and known is not None and known.digest == row.digest and known.at >= row.at:
                continue  # it has been carried on from there already
            self.rows.pop(automation_id, None)
            if row is not None:
                self.rows[automation_id] = row
                heapq.heappush(self.heap, row)
                if self.heap[0] is row:
                    self.node.wake(QUEUE)

    def pause(self) -> float:
        """The seconds until the next moment, to the point and not to a pulse. What brings a nearer one wakes the step,
        and so does the lease: without it what is due stays due."""
        if not self.node.leases.holds(LEASE):
            return LOOK_S
        left = max(0.0, self.heap[0].at - self.node.clock.now()) if self.heap else LOOK_S + PULSE_S
        return left if left < PULSE_S else min(LOOK_S, left - PULSE_S)

    def step(self) -> bool:
        if not self.node.leases.holds(LEASE):
            self._steps.clear()  # who holds it goes by its own clock
            self._drop()
            return False
        while self._steps:
            self.node.transact(note_step, *self._steps[0])
            del self._steps[0]
        if self._config is not self.node.config:
            self._drop()  # times may mean another zone now
            self._config = self.node.config
        if not self.loaded:
            self.node.transact(begin, self.node.clock.now())
        if self.behind:
            self.node.transact(self.catch_up)
        self.loaded = True
        return self._tick()

    def _drop(self) -> None:
        """Drop what was read: before the next tick it is read from where the last holder of the lease left off."""
        if self.loaded:
            self.loaded = False
            self.heap, self.rows = [], {}
            self.reset()

    def _tick(self) -> bool:
        """Whether there is more of it."""
        now = self.node.clock.now()
        due: list[NextRun] = []
        while self.heap and self.heap[0].at <= now and len(due) < PAGE:
            row = heapq.heappop(self.heap)
            if self.rows.get(row.automation_id) == row:
                due.append(self.rows.pop(row.automation_id))
        if not due:
            return False
        try:
            following = self._run_due(due, now)
        except BaseException:
            self._drop()  # nothing is known of what was stored: begin again from there
            raise
        if not self.loaded:
            return True  # the clock was set meanwhile: when each comes next is read anew
        self.lateness.extend(self.node.clock.now() - row.at for row in due if row.at >= self.node.started_at)
        self.apply({row.automation_id: row for row in following})
        return True

    def _run_due(self, due: list[NextRun], now: float) -> list[NextRun]:
        """When each comes next. An automation that cannot be read costs nothing but its own runs."""
        try:
            return self.node.transact(tick, due, now, self._up_since)
        except Exception as problem:
            if not is_damage(problem):
                raise
            if len(due) == 1:
                log.exception("schedule did not run automation=%s: it cannot be read", due[0].automation_id)
                return self.node.transact(pass_by, due[0], now)
        return [following for row in due for following in self._run_due([row], now)]


def begin(root: Root, now: float) -> None:
    """The first time of all: what was before is nothing to make up for, nor is there anything to wait for where the
    clock was set back while nobody looked."""
    clock = board_of(root).clock
    if not clock.handled[0]:
        clock.handled = (now, "")
    elif clock.handled[0] > now + STEP_S:
        note_step(root, clock.handled[0], now)


def note_step(root: Root, before: float, now: float) -> None:
    check(root, LEASE)
    clock = board_of(root).clock
    clock.spans = tuple((*span,) for span in after_step(_spans(clock), clock.landed, before, now))
    clock.landed = now
    if clock.handled[0] > now:
        clock.handled = (now, "")


def pass_by(root: Root, row: NextRun, now: float) -> list[NextRun]:
    """A tick that cannot be worked is handled too; when the automation comes next."""
    check(root, LEASE)
    clock = board_of(root).clock
    clock.handled = max(clock.handled, (row.at, row.automation_id))
    later = next_of(root, row.automation_id, automations_of(root).plan_for(row.automation_id), now)
    return [] if later is None else [later]
