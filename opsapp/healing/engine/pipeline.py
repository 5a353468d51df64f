"""One node's healing: what it sees in memory, and the steps that its greenlets repeat."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from typing import NamedTuple

from transaction.interfaces import TransientError
from zope.interface import Interface

from opsapp.agents.engine import take_outcomes
from opsapp.agents.resources import outcomes_wait
from opsapp.healing.config import HealingSettings
from opsapp.healing.records import RuleRecord
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.cases import Case, CaseBook, case_of
from opsapp.healing.resources.rules import IRuleReader
from opsapp.healing.stages import messages
from opsapp.healing.stages.moves import EndCase
from opsapp.healing.stages.world import World
from opsapp.lib.problems import Problem
from opsapp.runtime.atwork import Work
from opsapp.runtime.cluster import leases
from opsapp.runtime.node import Node, node_of
from opsapp.tree.root import Root

from . import (
    arrivals,
    casepurge,
    commands,
    edges,
    entries,
    inlets,
    offline_policies,
    problems,
    steps,
    trials,
    trusted,
    world,
)
from .alerts import Alerts, Fired, Past, watched_rules
from .clocks import LEASE, is_left, move, move_on
from .context import PipelineContext, StepResult
from .holds import end_pause, hands_off_over, tell_hands_off_over
from .inventory import IFleetAccess, Inventory, fleet_access, inventory_of
from .offline_policies import report_local
from .readings import LiveReadings
from .toldevents import IToldReader, ToldReader
from .wavetrials import compare, settle
from .world import Holding

log = logging.getLogger(__name__)

EVENTS_AT_ONCE = 1000
BATCH_S = 0.1  # so long alerts are gathered before they are committed, while there are more to look at
RECEIVED_AT_ONCE = CASES_AT_ONCE = 250  # of an outage of thousands: nobody else waits longer for a commit
REFRESH_S = 2.0
REFRESH_NEWS_S = 0.25  # when there is something new: at most so often


class IHealingEngine(Interface):
    """Utility."""


def engine_of(node: Node) -> HealingEngine | None:
    """None on a node without healing."""
    engine: HealingEngine | None = node.registry.queryUtility(IHealingEngine)
    return engine


class HealingEngine:
    """Its greenlets call `look`, `work`, `govern`, `purge`; tests do the same."""

    def __init__(self, node: Node):
        self.node = node
        self.readings = LiveReadings(node.series.live)
        self.alerts = Alerts(self.readings, node.config[HealingSettings])
        self.pasts: dict[tuple[str, str], Past] = {}
        self.alerts.past = lambda rule_id, target: self.pasts.get((rule_id, target))
        self.refreshed_at = float("-inf")
        self.stale = False  # something is there that the last refresh did not know
        self.inventory = Inventory()
        self.version: tuple[int, ...] = ()
        # version of the events from elsewhere, and whom they may be about
        self.told: tuple[int, Inventory] | None = None
        self.told_reader = ToldReader()
        self.fired: list[Fired] = []  # what is not committed yet: the alerts themselves do not fire again for it
        self.last_work_s = 0.0
        node.registry.registerUtility(self.readings, world.ILiveReadings)
        node.registry.registerUtility(self.changed, IRuleReader)
        node.registry.registerUtility(self.told_reader, IToldReader)
        node.clock_steps.follow(self._move)
        node.clock_steps.carry(LEASE, "healing", move, move_on)

    def watch(self) -> None:
        """Every subject that is known already is looked at once."""
        self.readings.live.subscribe(self._arrived)

    def _move(self, by: float) -> None:
        self.readings.move(by)
        self.alerts.move(by)
        self.pasts.update({key: past.moved(by) for key, past in self.pasts.items()})

    def _arrived(self, subject: str, values: Mapping[str, object]) -> None:
        if self.alerts.arrived(subject, values):
            self.stale = self.stale or subject not in self.readings.members
            self.node.wake("live", "healing")

    def changed(self) -> None:
        """Note a change and wake the node; any thread may call it."""
        self.stale = True
        self.node.wake("live")

    # -- alerts

    def look(self) -> bool:
        """Evaluate rules for what has arrived; commit what fires."""
        self.refresh()
        self.fired += self.alerts.step(self.node.clock.now())
        until = self.node.clock.monotonic() + BATCH_S
        while self.alerts.is_behind() and len(self.fired) < EVENTS_AT_ONCE and self.node.clock.monotonic() < until:
            self.node.hub.breathe()  # a storm: fewer and larger transactions, and nobody waits for them
            self.fired += self.alerts.step(self.node.clock.now())
        if not self.fired:
            return self.alerts.is_behind()
        self.node.transact(submit, self.fired)
        self.fired = []  # after the commit: while the store is away they are kept
        return True

    def refresh(self) -> None:
        """Every two seconds, or when there is news. What is as it was costs nothing more than the look."""
        now = self.node.clock.monotonic()
        if now - self.refreshed_at < (REFRESH_NEWS_S if self.stale else REFRESH_S):
            return
        self.stale = False  # before the look: what is new during it is looked at again
        first = self.refreshed_at == float("-inf")
        while first and self.node.transact(is_left) and self.node.transact(move_on):
            self.node.hub.breathe()  # what ended when is read now: whole, though a node was killed that moved it
        seen = self.node.transact(snapshot, first, self.version)
        self.refreshed_at = now
        if seen.inventory is not self.inventory:
            self.inventory, fresh = seen.inventory, seen.inventory.by_subject
            self.alerts.dirty.update(fresh.keys() ^ self.readings.members.keys())  # what is new, and what is gone
            self.readings.members = fresh
        self.alerts.pause(seen.paused)
        self.alerts.settings = self.node.config[HealingSettings]
        if first:
            self.pasts.update(seen.pasts)
            self.alerts.restored.update(seen.pasts)
        told = (seen.told_version, self.inventory)
        if self.told is None or self.told[0] != told[0] or self.told[1] is not told[1]:
            self.alerts.dirty.update(self.readings.told(self.node.transact(self.told_reader.read, self.inventory)))
            self.told = told
        if seen.rules is not None:
            self.alerts.use(watched_rules(seen.rules))
            self.version = seen.version  # last: what was not taken is read again

    # -- the pipeline

    def work(self) -> bool:
        """Whether there was anything."""
        if not self.node.transact(anything, self.node.clock.now()):
            return False
        if self.node.transact(is_left):
            self.node.transact(move_on)
            return True
        self.refresh()
        begun = self.node.clock.monotonic()
        self.readings.unseen = self.alerts.unseen()  # before what fails is read: what is in neither was seen well
        inventory, failing = self.inventory, self.alerts.watching.failing()
        now = self.node.clock.now()
        try:
            worked = self.node.transact(work, now, inventory, failing)
        except (Problem, TransientError):
            raise
        except Exception:
            log.exception("a step of the pipeline failed; each event and case is tried by itself")
            worked = self._one_by_one(now, inventory, failing)
        self.last_work_s = self.node.clock.monotonic() - begun
        self.pasts.update(worked.pasts)
        if any(past.reason.startswith("paused") for past in worked.pasts.values()):
            self.alerts.pause(True)  # seen here first; the next refresh says when it is over
        for rule_id, target in worked.pasts:
            self.alerts.closed(rule_id, target)
        for subject in dict.fromkeys(worked.rechecks):
            self._recheck(subject)
        self.measure(dict.fromkeys(worked.above))
        return worked.done > 0

    def _one_by_one(self, now: float, inventory: Inventory, failing: Holding) -> StepResult:
        """The batch again: one that cannot be worked must not stop the others."""
        waiting, cases = self.node.transact(due_now, now)
        total = StepResult(0, {}, [], [])
        jobs: list[tuple[int, tuple[str, ...]]] = [(1, ())] * min(waiting, EVENTS_AT_ONCE)
        for events, only in jobs + [(0, (case_id,)) for case_id in dict.fromkeys(cases)]:
            try:
                done = self.node.transact(work, now, inventory, failing, events, only)
            except (Problem, TransientError):
                raise
            except Exception as broken:
                why = f"internal_error: {type(broken).__name__}: {broken}"
                with Work(self.node, "case", *only) if only else nullcontext():
                    log.exception("dropped: %s", only or "an event")
                self.node.transact(drop_case if only else drop_event, now, inventory, failing, *only, why)
            else:
                rechecks, above = total.rechecks + done.rechecks, total.above + done.above
                total = StepResult(total.done + done.done, total.pasts | done.pasts, rechecks, above)
        return total

    def measure(self, subjects: Iterable[str]) -> None:
        for subject in subjects:
            if not self.readings.is_asked(subject, self.node.clock.now()):
                self._recheck(subject)

    def _recheck(self, subject: str) -> None:
        def done(began: float) -> None:
            self.alerts.dirty.add(subject)  # it says something about what hangs on it once rules were compared with it
            self.readings.checked[subject] = began
            self.node.wake("live", "healing")

        self.readings.asked[subject] = self.node.clock.now()
        self.node.registry.getUtility(IFleetAccess).recheck(self.node, subject, done)

    def govern(self) -> bool:
        self.node.transact(trusted.govern, self.node.clock.now())
        self.node.transact(problems.close_quiet, self.node.clock.now())
        return False

    def give_policies(self) -> bool:
        self.refresh()
        return offline_policies.step(self.node, self.inventory, self.alerts.watching.failing())

    def look_after_inlets(self) -> bool:
        now = self.node.clock.now()
        self.node.transact(inlets.tell_refused, now)
        while self.node.transact(inlets.forget, now):
            self.node.hub.breathe()
        return False

    def purge(self) -> bool:
        return casepurge.step(self.node)


# -- transactions ----------------------------------------------------------------------------------------------------


def submit(root: Root, events: list[Fired]) -> None:
    for event in events:
        healing_of(root).book.submit(root, event)


class StoreLook(NamedTuple):
    """`rules` None: they are those of the known version."""

    inventory: Inventory
    paused: bool
    told_version: int
    version: tuple[int, ...]
    rules: list[RuleRecord] | None
    pasts: dict[tuple[str, str], Past]


def snapshot(root: Root, with_pasts: bool, known: tuple[int, ...] = ()) -> StoreLook:
    healing, rules = healing_of(root), healing_of(root).rules
    version = (rules.version, len(rules.keys()))
    return StoreLook(
        inventory_of(root),
        healing.paused,
        healing.told.version,
        version,
        None if version == known else [rule.record for rule in rules.values()],
        _pasts(healing.book) if with_pasts else {},
    )


def _pasts(book: CaseBook) -> dict[tuple[str, str], Past]:
    pasts = {key: Past(*known) for key, known in book.last_of.items()}  # older stores have only the first three
    for record in [case.record for case in book.all_open()]:
        pasts.update({(rule_id, record.target): Past(record.opened_at, open=True) for rule_id in record.events})
    for event in book.events():  # committed by a process that is gone, and not received yet: it has fired
        pasts[event.rule_id, event.about.target] = Past(event.at, open=True)
    return pasts


def anything(root: Root, now: float) -> bool:
    """A cheap look before the world is built."""
    healing, book = healing_of(root), healing_of(root).book
    if is_left(root) or book.ready(now, 1) or healing.trials.ready(now, 1) or healing.edges.ready(now, 1):
        return True
    if any(trial.due <= now for _, trial in healing.trials.compared()):
        return True
    if book.messages or outcomes_wait(root) or healing.pause_is_over(now):
        return True
    if healing.deeds_of_outages is not None and healing.deeds_of_outages.to_ask():
        return True
    return bool(answered(root)) or bool(hands_off_over(root, now))


def answered(root: Root) -> list[Case]:
    book = healing_of(root).book
    waiting = (book.find(case_id) for case_id in book.acting)
    return [case for case in waiting if case is not None and commands.is_answered(root, case.record)]


def work(
    root: Root,
    now: float,
    inventory: Inventory,
    failing: Holding,
    events: int = RECEIVED_AT_ONCE,
    only: tuple[str, ...] | None = None,
) -> StepResult:
    """One transaction: so many events, and all due cases or only those named. While there is something to be moved with
    a clock that was set (a node left it that was killed), only a piece of that."""
    if is_left(root):
        move_on(root)
        return StepResult(1, {}, [], [])
    end_pause(root, now)
    tell_hands_off_over(root, now)
    context = _context(root, now, inventory, failing)
    for outcome in take_outcomes(root, events):
        report_local(context, outcome)
    received = context.book.messages.take(events)
    for row in received:
        arrivals.receive(context, messages.read(row))
    trials.look(context)
    compare(context)
    edges.look(context)
    for case in answered(root):
        context.book.schedule(case, now)
    named = None if only is None else [context.book.cases[case_id] for case_id in only]
    ready = context.book.ready(now, CASES_AT_ONCE) if named is None else named
    for case in ready:
        if case.record.due <= now:
            with Work(node_of(root), "case", case.record.id):
                steps.advance(context, case)
    settle(context)
    return StepResult(len(received) + len(ready) + context.asked, context.pasts, context.rechecks, context.above)


def _context(root: Root, now: float, inventory: Inventory, failing: Holding) -> PipelineContext:
    token = leases.check(root, LEASE)
    seen = world.build(root, now, inventory, failing)
    trusted.let_fall(root, seen.edited)
    return PipelineContext(root, seen, fleet_access(root), token, inventory)


def due_now(root: Root, now: float) -> tuple[int, tuple[str, ...]]:
    """How many events wait, and which cases are due."""
    book = healing_of(root).book
    return len(book.messages), tuple(case.record.id for case in [*book.ready(now, CASES_AT_ONCE), *answered(root)])


def drop_event(root: Root, now: float, inventory: Inventory, failing: Holding, why: str) -> None:
    context = _context(root, now, inventory, failing)
    for row in context.book.messages.take(1):
        if row.get("kind") == "rollback":
            context.healing.answers[row["request"]] = None
        elif not row.get("kind"):
            entries.end_event(context, case_of(row), "suppressed", why, 1)


def drop_case(root: Root, now: float, inventory: Inventory, failing: Holding, case_id: str, why: str) -> None:
    """It is closed: nobody can say what became of it, and it must not stop the others."""
    context = _context(root, now, inventory, failing)
    case = context.book.cases[case_id]
    context.book.acting.discard(case_id)
    if case.record.state == "closed":
        context.book.rest(case, case.record)
        return
    entries.end_case(context, case, EndCase(case.record, "lost", why))


def world_now(root: Root) -> World:
    """Return the world for a view or an approval, with what this node knows."""
    node = node_of(root)
    engine = engine_of(node)
    failing = engine.alerts.watching.failing() if engine else {}
    return world.build(root, node.clock.now(), inventory_of(root), failing)
