"""Compares rules with what is reported, as it arrives: which (rule, target) has become known true.

Only subjects that something arrived for are looked at, and those with a condition that holds or is about to. What
fires is committed to the inbox before it is forgotten. A host may report thousands of services: a look stops when
its time on the hub is used up, and goes on there.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from opsapp.healing.config import HealingSettings
from opsapp.healing.logic import rules
from opsapp.healing.records import RuleRecord, RuleTargets
from opsapp.healing.stages.case import About, RuleEvent
from opsapp.healing.stages.correlation import ROOT_CAUSE
from opsapp.healing.stages.messages import ConditionOver
from opsapp.healing.stages.planning import ENDS
from opsapp.wire import alerts
from opsapp.wire.alerts import AlertState
from opsapp.wire.conditions import Condition, parse, without_event
from opsapp.wire.readings import STALE_AFTER_INTERVALS

from .inventory import Member
from .readings import LiveReadings, Reading, Samples, bind, read
from .watches import Key, Watches

log = logging.getLogger(__name__)

BUDGET_S = 0.004  # of the hub at a time
RESUMED_S = 5.0  # what fired while paused fires again after a resume, unless it has just done so
RETRY_S = 0.25  # before a watch whose time has come, and that could not fire, is looked at again


STATUS = "event.status"
ONLY_TOLD = ("absorbed", *ENDS.values())  # nobody acted, or was asked
Fired = RuleEvent | ConditionOver


class WatchedRule(NamedTuple):
    """An enabled rule. Without a scope it is about everything."""

    rule_id: str
    condition: Condition
    severity: str
    hold_s: float
    cooldown_s: float
    scope: RuleTargets | None

    def applies(self, member: Member) -> bool:
        return member.is_among(self.scope)


class Past(NamedTuple):
    opened_at: float
    outcome: str = ""
    reason: str = ""
    unsure_until: float = 0.0  # its act may still be working until then, and nobody can tell
    open: bool = False

    def moved(self, by: float) -> Past:
        unsure = self.unsure_until + by if self.unsure_until else 0.0
        return self._replace(opened_at=self.opened_at + by, unsure_until=unsure)


class Evaluation(NamedTuple):
    """One subject's evaluation, done in pieces: an item of `events` is None where nothing fires."""

    subject: str
    member: Member | None
    events: Iterator[Fired | None]


class Alerts:
    """The alerts of one node. `past(rule_id, target)` reads a snapshot of the case book."""

    def __init__(self, readings: LiveReadings, settings: HealingSettings):
        self.readings = readings
        self.settings = settings
        self.rules: list[WatchedRule] = []
        self.of_monitors: set[str] = set()  # what rules name of a monitor, among others
        self.watching = Watches()
        self.dirty: set[str] = set()
        self.begun: Evaluation | None = None  # its subject may be dirty again since
        self.paused = False
        self.restored: set[tuple[str, str]] = set()  # (rule, target) of cases from before this process
        self.past: Callable[[str, str], Past | None] = lambda *_: None
        self.looks = 0

    def use(self, watched: list[WatchedRule]) -> None:
        """Forgets the states of rules that are gone; every subject is evaluated again."""
        kept = {(rule.rule_id, str(rule.condition)) for rule in watched}
        known = {(rule.rule_id, str(rule.condition)) for rule in self.rules}
        gone = {rule_id for rule_id, condition in known - kept}
        for key in [key for key in self.watching.watches if key[0] in gone]:
            self.watching.forget(key)
        self.rules = watched
        if self.begun is not None:
            self.dirty.add(self.begun.subject)
            self.begun = None
        names = {name for rule in watched for name in rule.condition.names}
        self.of_monitors = {name.removeprefix("monitor.") for name in names}
        self.dirty.update(self.readings.members)

    def arrived(self, subject: str, values: Mapping[str, object]) -> bool:
        """Whether a rule may be about these values: thousands of checks arrive each second, and most rules name
        none."""
        if subject.startswith("monitor:"):
            if self.of_monitors.isdisjoint(values):
                return False
        else:
            self.readings.learn(subject, values)
        self.dirty.add(subject)
        return True

    def move(self, by: float) -> None:
        """What is half looked at has times of before."""
        self.watching.move(by)
        if self.begun is not None:
            self.dirty.add(self.begun.subject)
            self.begun = None

    def pause(self, paused: bool) -> None:
        """Pause or resume; after a resume every watched subject is evaluated."""
        if self.paused and not paused:
            self.dirty.update(key[1] for key in self.watching.watches)
        self.paused = paused

    def closed(self, rule_id: str, target: str) -> None:
        """Its cooldown may differ now."""
        subject = self.watching.subject_of(rule_id, target)
        if subject is not None:
            self.dirty.add(subject)

    def step(self, now: float, budget_s: float = BUDGET_S) -> list[Fired]:
        """What fires now, as far as the budget reaches: the hub waits."""
        self.dirty.update(self.watching.due(now))
        begun = time.monotonic()
        fired: list[Fired] = []
        while self.is_behind() and time.monotonic() - begun < budget_s:
            look = self._take_up(now)
            for event in look.events:
                if event is not None:
                    fired.append(event)
                if time.monotonic() - begun >= budget_s:
                    self.begun = look
                    break
        return fired

    def is_behind(self) -> bool:
        return bool(self.dirty) or self.begun is not None

    def unseen(self) -> frozenset[str]:
        return frozenset(self.dirty if self.begun is None else {*self.dirty, self.begun.subject})

    def _take_up(self, now: float) -> Evaluation:
        """Where the last step stopped, unless the member has changed; else the next subject."""
        look, self.begun = self.begun, None
        if look is not None and self.readings.members.get(look.subject) == look.member:
            return look
        subject = self.dirty.pop() if look is None else look.subject
        self.dirty.discard(subject)
        member = self.readings.members.get(subject)
        if member is not None:
            return Evaluation(subject, member, self._look_at(member, now))
        for key in self.watching.of(subject):
            self.watching.forget(key)
        return Evaluation(subject, None, iter(()))

    def _look_at(self, member: Member, now: float) -> Iterator[Fired | None]:
        samples = self.readings.samples(member.subject)
        yield None
        for rule in self.rules:
            if not rule.applies(member):
                continue
            try:
                yield from self._look_by(rule, member, samples, now)
            except Exception:  # it takes nothing from other rules and subjects, nor what has fired already
                log.exception("rule %s could not be compared with what %s reports", rule.rule_id, member.subject)

    def _look_by(self, rule: WatchedRule, member: Member, samples: Samples, now: float) -> Iterator[Fired | None]:
        general = rule.condition
        if general.family is None and not general.reads_events:
            yield None
            yield self._watch((rule.rule_id, member.subject, ""), rule, general, member, samples, now)
            return
        if general.family is not None and not member.is_agent:  # a monitor has no services, containers or mounts
            return
        conditions = {"": general}
        if general.reads_events:
            conditions = {key: about_event(general, key) for key in self.readings.events.get(member.subject, ())}
        if general.family is not None:
            names = general.bindings(samples)
            conditions = {key + name: bind(told, name) for key, told in conditions.items() for name in names}
        self._keep_only(rule.rule_id, member.subject, conditions.keys())
        yield None
        for name, condition in conditions.items():
            yield self._watch((rule.rule_id, member.subject, name), rule, condition, member, samples, now)

    def _keep_only(self, rule_id: str, subject: str, names: Collection[str]) -> None:
        for key in self.watching.of(subject):
            if key[0] == rule_id and key[2] not in names:
                self.watching.forget(key)

    def _watch(
        self, key: Key, rule: WatchedRule, condition: Condition, member: Member, samples: Samples, now: float
    ) -> Fired | None:
        self.looks += 1
        reading = read(samples, condition, now, member.interval)
        watch = self.watching.get(key)
        if watch is None and (reading.verdict is None or (reading.verdict is False and not self.restored)):
            return None
        target = rules.target_of(member.name, condition)
        past = self.past(rule.rule_id, target)
        watch = self._first(rule.rule_id, target, past) if watch is None else watch
        hold, cooldown = rule.hold_s, self._cooldown(rule, watch, past)
        is_open = past is not None and (
            past.open or _measured_too_early(past, reading, member) or _nothing_new(past, reading, watch)
        )
        again = watch.announced
        watch, fires = alerts.look(watch, reading.verdict, now, hold=hold, cooldown=cooldown, open_case=is_open)
        retry_s = self._retry(rule, past)
        comes_again = not (fires or is_open) and alerts.comes_again(watch, reading.verdict, now, retry_s)
        if comes_again:
            watch = watch._replace(tried_at=now)
        if not watch.announced and watch.true_since is None:
            self.watching.forget(key)
        else:
            due = min((watch.true_since or now) + hold, _unknown_from(reading, condition, member))
            if watch.announced:
                due = min((watch.fired_at or now) + cooldown, alerts.tried_at(watch, now) + retry_s)
            self.watching.keep(key, watch, target, max(due, now + RETRY_S))
        if again and not watch.announced and past is not None and past.outcome != "verified":
            said = without_event(str(condition))
            return ConditionOver(rule.rule_id, said, target, now, reading.measured_at, member.is_agent)
        if not (fires or comes_again):
            return None
        about = About(
            "alert",
            str(condition),
            target,
            rule.severity,
            reading.metrics,
            member.agent_id,
            member.subject,
            member.names,
            measured_at=reading.measured_at,
        )
        if comes_again:
            return RuleEvent(rule.rule_id, about, now, early=True, first_at=watch.fired_at, lasts=again)
        early = again and _is_early(past, now, rule.cooldown_s)
        return RuleEvent(rule.rule_id, about, now, early, lasts=again)

    def _first(self, rule_id: str, target: str, past: Past | None) -> AlertState:
        """Return a watch's first state: after a restart, a condition whose last case ended unresolved counts as fired
        already."""
        if (rule_id, target) not in self.restored:
            return AlertState()
        self.restored.discard((rule_id, target))
        if past is None or past.outcome in ("verified", "withdrawn"):
            return AlertState()
        return AlertState(true_since=past.opened_at, fired_at=past.opened_at, announced=True)

    def _cooldown(self, rule: WatchedRule, watch: AlertState, past: Past | None) -> float:
        """How long the same onset does not fire again: for ever while paused. A suppressed alert is tried again soon,
        and is an event before its cooldown ends only if nothing suppresses it now. What another case has taken in
        counts from its first time, unless more came of it since than that people were told."""
        if self.paused:
            return float("inf")
        if past is not None and _resumes(past):
            return RESUMED_S
        cooldown = self._soon(rule) if past is not None and past.outcome == "suppressed" else float(rule.cooldown_s)
        if watch.tried_at is None or watch.fired_at is None or past is None or past.outcome in ONLY_TOLD:
            return cooldown
        return cooldown + watch.tried_at - watch.fired_at

    def _retry(self, rule: WatchedRule, past: Past | None) -> float:
        """After how long an alert that another case has taken in comes again."""
        is_taken_in = past is not None and past.outcome == "absorbed" and not _resumes(past)
        return self._soon(rule) if is_taken_in and not self.paused else float("inf")

    def _soon(self, rule: WatchedRule) -> float:
        return float(min(self.settings.absorption_window_s, rule.cooldown_s))


def _unknown_from(reading: Reading, condition: Condition, member: Member) -> float:
    """When nobody knows any more whether it holds, if nothing arrives: `for` begins anew then."""
    if reading.measured_at is None or condition.only_told:
        return float("inf")
    return reading.measured_at + STALE_AFTER_INTERVALS * member.interval + RETRY_S


def _measured_too_early(past: Past, reading: Reading, member: Member) -> bool:
    """Where the result of an action is unknown, only a measurement after it calls for another. A check may have
    begun an interval before its end."""
    if not past.unsure_until:
        return False
    since = past.unsure_until + (0.0 if member.is_agent else member.interval)
    return reading.measured_at is None or reading.measured_at <= since


def _nothing_new(past: Past, reading: Reading, watch: AlertState) -> bool:
    """An alert that a root cause suppressed fires again only after a new measurement."""
    if past.outcome != "suppressed" or not past.reason.startswith(ROOT_CAUSE) or watch.fired_at is None:
        return False
    return reading.measured_at is not None and reading.measured_at <= watch.fired_at


def _is_early(past: Past | None, now: float, cooldown: float) -> bool:
    is_held = past is not None and past.outcome == "suppressed"
    return past is not None and is_held and now - past.opened_at < cooldown and not _resumes(past)


def _resumes(past: Past) -> bool:
    """It was ended by the kill switch alone."""
    return past.reason.startswith("paused")


@lru_cache(maxsize=16384)
def about_event(condition: Condition, event: str) -> Condition:
    return condition.about_event(event)


def watched_rules(rules: Iterable[RuleRecord]) -> list[WatchedRule]:
    return [_watched(rule) for rule in rules if rule.enabled]


def _watched(rule: RuleRecord) -> WatchedRule:
    condition = _while_it_fires(rule.condition)
    return WatchedRule(rule.id, condition, rule.severity, rule.hold_s, float(rule.cooldown_s), rule.targets)


def _while_it_fires(text: str) -> Condition:
    """A rule about events is about firing ones, unless it names a status itself."""
    condition = parse(text)
    if not condition.reads_events or STATUS in condition.names:
        return condition
    return parse(f'({condition}) and {STATUS} == "firing"')
