"""What is known of a host, and of what hangs on it, right before an act, and what has become worse since.

What is known false is stored with the act, for a restart. What has come true after it, and still holds when it is
measured after the settle time, is a harm. Must not: decide what follows from one; `stages.verification` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from opsapp.healing.logic.rules import names_of, target_of
from opsapp.healing.resources.cases import Calm
from opsapp.healing.stages.case import ActingCase, VerifyingCase
from opsapp.healing.stages.verification import Surroundings
from opsapp.runtime.node import node_of
from opsapp.wire.conditions import Condition, parse
from opsapp.wire.harms import MOST_HARMS, Harm

from .alerts import WatchedRule, watched_rules
from .context import PipelineContext
from .inventory import Member
from .readings import LiveReadings, Samples, instances, read
from .world import live_readings

MOST = 2000  # conditions that are noted before an act: those of the host itself first
# A monitor that goes down is a harm, whether a rule looks at it or not.
MONITOR = WatchedRule("", parse('monitor.status == "down"'), "critical", 0.0, 0.0, None)


class Concerned(NamedTuple):
    """A member that measures what an act may harm, and which of its targets."""

    member: Member
    concerns: Callable[[str], bool]


def note_before(context: PipelineContext, record: ActingCase) -> None:
    """What is known to be well as the act is about to be sent."""
    readings = live_readings(node_of(context.root))
    noted: list[Calm] = []
    if readings is not None:
        left = MOST
        for calm in _calm(context, readings, record):
            if left < len(calm[2]):
                break
            noted.append(calm)
            left -= len(calm[2])
    context.book.note_calm(record.id, tuple(noted))


def around(context: PipelineContext, record: VerifyingCase) -> Surroundings:
    """What holds by now of what was known false, as far as it was measured since the settle time."""
    readings = live_readings(node_of(context.root))
    if readings is None:
        return Surroundings()
    harms: list[Harm] = []
    unmeasured: list[str] = []
    holding = context.world.holding
    for subject, rule_id, targets in context.book.calm.get(record.id, ()):
        if rule_id != MONITOR.rule_id and not any(rule_id in holding.get(target, ()) for target in targets):
            continue  # as nearly all: nothing is read or measured for them
        member = context.inventory.by_subject.get(subject)
        rule = _rule(context, rule_id)
        if member is None or rule is None or not rule.applies(member):
            continue
        for target, condition in _suspects(context, readings, rule, member, targets):
            reading = readings.look(subject, condition, context.now)
            if reading.verdict is not True:
                continue
            if reading.measured_at is None or reading.measured_at < record.settled_at:
                unmeasured.append(target)
            else:
                harms.append(Harm(rule_id, target, str(condition)))
    return Surroundings(tuple(_named_once(harms))[:MOST_HARMS], tuple(dict.fromkeys(unmeasured)))


def _named_once(harms: list[Harm]) -> Iterator[Harm]:
    """A monitor that is down is named by the rule about it, where there is one."""
    ruled = {harm.target for harm in harms if harm.rule_id != MONITOR.rule_id}
    return (harm for harm in harms if harm.rule_id != MONITOR.rule_id or harm.target not in ruled)


def _suspects(
    context: PipelineContext, readings: LiveReadings, rule: WatchedRule, member: Member, targets: tuple[str, ...]
) -> list[tuple[str, Condition]]:
    """Those for which the rule says that it holds."""
    if rule is MONITOR:
        return [(member.name, rule.condition)]
    holding = {target for target in targets if rule.rule_id in context.world.holding.get(target, ())}
    samples = readings.samples(member.subject)
    return [(target, condition) for target, condition in _conditions(rule, member, samples) if target in holding]


def _calm(context: PipelineContext, readings: LiveReadings, record: ActingCase) -> Iterator[Calm]:
    """What was measured before the failure says nothing of how it was right before the act."""
    known = record.about.measured_at
    since = record.opened_at if known is None else min(known, record.opened_at)
    rules = watched_rules(context.world.rules.values())
    for member, concerns in _concerned(context, record):
        samples = readings.samples(member.subject)
        for rule in rules if member.is_agent else [*rules, MONITOR]:
            if not rule.applies(member):
                continue
            well = tuple(
                target
                for target, condition in _conditions(rule, member, samples)
                if concerns(target) and _is_known_false(context, samples, condition, member, since)
            )
            if well:
                yield member.subject, rule.rule_id, well


def _is_known_false(
    context: PipelineContext, samples: Samples, condition: Condition, member: Member, since: float
) -> bool:
    reading = read(samples, condition, context.now, member.interval)
    return reading.verdict is False and reading.measured_at is not None and reading.measured_at >= since


def _concerned(context: PipelineContext, record: ActingCase) -> Iterator[Concerned]:
    """The host and its monitors; then what hangs on the target or on its host."""
    hosts = {record.heal.host, record.about.agent_id} - {None}
    own = [member for member in context.inventory if member.agent_id in hosts]
    for member in own:
        yield Concerned(member, lambda _: True)
    acted = {*names_of(record.target), *(member.name for member in own if member.is_agent)}
    seen = {member.subject for member in own}
    for name in context.world.graph.hanging_on(acted):
        for subject in context.inventory.measuring(name):
            if subject not in seen:
                yield Concerned(context.inventory.by_subject[subject], partial(_is_on, name))


def _is_on(name: str, target: str) -> bool:
    return name in names_of(target)


def _conditions(rule: WatchedRule, member: Member, samples: Samples) -> Iterator[tuple[str, Condition]]:
    """Yield the rule's conditions on the member by target; what others tell is left out, as it is no measurement."""
    for condition in () if rule.condition.reads_events else instances(rule.condition, member, samples):
        yield target_of(member.name, condition), condition


def _rule(context: PipelineContext, rule_id: str) -> WatchedRule | None:
    if rule_id == MONITOR.rule_id:
        return MONITOR
    rule = context.world.rules.get(rule_id)
    return next(iter(watched_rules([] if rule is None else [rule])), None)
