"""What would be now: the dry run of an event, a condition compared with live readings, the names that can be read.

Must not: fire anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from opsapp.healing.logic import windows
from opsapp.healing.logic.rules import target_of
from opsapp.healing.records import DeclaredRule, RuleTargets
from opsapp.healing.resources import healing_of
from opsapp.healing.stages import execution
from opsapp.healing.stages.case import About, Metrics
from opsapp.healing.stages.world import Reading, World
from opsapp.healing.whatif import (
    Compared,
    ComparedTarget,
    EventAsked,
    OfWhat,
    Preflight,
    ReadingRecord,
    SelectedAction,
    Simulated,
    SimulatedCorrelation,
    SimulatedDependency,
    SimulatedEvent,
    SimulatedTrust,
    SimulatedWindow,
)
from opsapp.lib.problems import Invalid
from opsapp.runtime.node import node_of
from opsapp.tree.root import Root
from opsapp.wire.conditions import Condition, parse
from opsapp.wire.readings import FAMILIES, PLUGIN, split

from .inventory import Member, fleet_access
from .pipeline import IHealingEngine, world_now
from .readings import LiveReadings, instances, read
from .rehearse import RehearsedEvent, Scene, drafted, event_about, rehearse

SHOWN = 50  # targets that are named
NAMED = 1000  # names of readings
OF_MONITORS = ("monitor.", PLUGIN)
ORDER = {True: 0, False: 1, None: 2}


def dry_run(root: Root, asked: EventAsked, draft: DeclaredRule | None = None) -> Simulated:
    """Reads only; the caller's transaction is aborted all the same."""
    present = world_now(root)
    if draft is not None:
        present = drafted(root, draft.id, draft, present).over(present)
    rule = present.rules.get(asked.rule_id)
    if rule is None:
        raise Invalid({"event.rule_id": "there is no such rule"})
    condition, severity = asked.condition or rule.condition, asked.severity or rule.severity
    said = About(asked.source, condition, asked.target, severity, asked.metrics)
    event = event_about(said, asked.rule_id, fleet_access(root).inventory(root), present.now)
    world = _told(event.about.metrics, present)
    held = replace(world, unmeasured=lambda *_: False, doubtful=lambda _: False)  # it is about what is known now
    scene = Scene(world, held, tuple(healing_of(root).book.on_target(event.about.target)))
    return _answer(rehearse(event, scene), present)


def _answer(rehearsed: RehearsedEvent, world: World) -> Simulated:
    about, received, plan = rehearsed.event.about, rehearsed.received, rehearsed.plan
    root, choice, window = rehearsed.correlated.root, plan.choice, windows.permitted(world.windows, about.called)
    return Simulated(
        SimulatedEvent(
            about.source, rehearsed.event.rule_id, about.condition, about.target, about.severity, about.metrics
        ),
        SimulatedCorrelation(received.kind, received.case_id, received.reason),
        SimulatedDependency(
            root or about.target,
            root not in (None, about.target),
            tuple(world.graph.ancestors(about.target)),
            world.graph.site(about.target),
        ),
        SimulatedWindow(window.effect or None, window.cap, window.reasons),
        SimulatedTrust(plan.trust_level, plan.effective.level, plan.effective.reasons),
        None
        if choice is None
        else SelectedAction(choice.action.name, choice.params, choice.step.position, choice.action.risk, plan.skipped),
        Preflight(plan.passed, plan.checks),
        execution.rollback_plan(choice.action if choice else None, None),
        rehearsed.would,
        _why(rehearsed),
    )


def _why(rehearsed: RehearsedEvent) -> tuple[str, ...]:
    stop = rehearsed.stop
    if stop is None:
        return rehearsed.plan.why
    return (f"queued: {stop.reason}" if stop.kind == "wait" else stop.reason,)


def _told(metrics: Metrics, world: World) -> World:
    """Live readings where the event gives none."""
    if not metrics:
        return world

    def reading(about: About) -> Reading:
        condition = parse(about.condition)
        return Reading(None if condition.family else condition.evaluate(metrics), metrics, world.now)

    return replace(world, reading=reading)


# -- a condition now ---------------------------------------------------------------------------------------------------


def compare(root: Root, text: str, targets: RuleTargets | None) -> Compared:
    """Compare the condition with whatever reports something that it names; with `targets`, also with those of them that
    do not."""
    readings, condition, now = _readings(root), parse(text), node_of(root).clock.now()
    members = [member for member in fleet_access(root).inventory(root) if member.is_among(targets)]
    looks = [look for member in members for look in _looks(member, readings, condition, now)]
    if targets is None:
        looks = [look for look in looks if look.readings]
    looks.sort(key=lambda look: (ORDER[look.verdict], look.target))
    verdicts = [look.verdict for look in looks]
    holds, false, unknown = (verdicts.count(verdict) for verdict in ORDER)
    return Compared(len(members), holds, false, unknown, tuple(looks[:SHOWN]))


def names(root: Root) -> list[ReadingRecord]:
    """List the readings as conditions name them: a service's state once, whatever services there are."""
    readings = _readings(root)
    examples: dict[tuple[str, str], tuple[OfWhat, object, str]] = {}
    subjects: dict[tuple[str, str], set[str]] = {}
    for member in fleet_access(root).inventory(root):
        of: OfWhat = "host" if member.is_agent else "monitor"
        for key, (value, _) in readings.samples(member.subject).items():
            if value is None or isinstance(value, dict | list) or (of == "monitor") != key.startswith(OF_MONITORS):
                continue
            name = _general(key)
            examples.setdefault((of, name), (of, value, member.name))
            subjects.setdefault((of, name), set()).add(member.subject)
    rows = ((key, len(subjects[key]), *examples[key]) for key in sorted(examples)[:NAMED])
    return [ReadingRecord(name, of, count, example, on) for (_, name), count, of, example, on in rows]


def _readings(root: Root) -> LiveReadings:
    return node_of(root).registry.getUtility(IHealingEngine).readings


def _looks(member: Member, readings: LiveReadings, condition: Condition, now: float) -> Iterator[ComparedTarget]:
    samples = readings.samples(member.subject)
    for instance in instances(condition, member, samples):
        reading = read(samples, instance, now, member.interval)
        missing = tuple(name for name in instance.names if name not in reading.metrics)
        yield ComparedTarget(
            target_of(member.name, instance), member.name, member.subject, reading.verdict, reading.metrics, missing
        )


def _general(key: str) -> str:
    family, middle, attribute = split(key)
    return f"{family}.*.{attribute}" if middle and family in FAMILIES else key
