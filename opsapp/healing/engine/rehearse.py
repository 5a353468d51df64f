"""What would be: the live stages over a world and events that somebody thinks of. There is no second simulator: dry
run, replay and a draft rule over the past are views of it. Also a condition compared with live readings, and the names
that can be read. Must not: write, fire anything, or reach a host."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from opsapp.healing.logic import windows
from opsapp.healing.logic.graph import Graph
from opsapp.healing.logic.levels import lowest
from opsapp.healing.logic.rules import names_of, part_of, target_of
from opsapp.healing.records import DeclaredRule, RuleRecord, RuleSettings, RuleTargets
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.rules import definition_of
from opsapp.healing.stages import correlation, execution, planning
from opsapp.healing.stages.case import About, CaseRecord, Metrics, PlanningCase, RuleEvent, opened
from opsapp.healing.stages.correlation import Correlated
from opsapp.healing.stages.planning import Plan
from opsapp.healing.stages.trust import Trust, redefine
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
from opsapp.runtime.node import node_of, now_of
from opsapp.tree.root import Root
from opsapp.wire.conditions import Condition, parse
from opsapp.wire.dataclass import frozen
from opsapp.wire.readings import FAMILIES, PLUGIN, split

from .inventory import Member, inventory_of
from .pipeline import IHealingEngine, world_now
from .readings import LiveReadings, instances, read

WOULD = {"suppressed": "suppress", "observed": "observe", "absorbed": "absorb"}
NOBODYS = "0"  # the id of a case that nobody keeps


class PolicyChange(NamedTuple):
    """A change beside what holds now: rules by id with their trust, and the whole graph."""

    rules: Mapping[str, RuleRecord] = {}
    graph: Graph | None = None
    trust: Mapping[str, Trust] = {}

    def over(self, world: World) -> World:
        rules, trust = {**world.rules, **self.rules}, {**world.trust, **self.trust}
        return replace(world, rules=rules, trust=trust, graph=world.graph if self.graph is None else self.graph)


class Scene(NamedTuple):
    """The world as an event arrives, and when its case was held; `cases` are those of its target."""

    arrives: World
    held: World
    cases: Sequence[CaseRecord] = ()


@frozen
class RehearsedEvent:
    """The stages are asked when their answer is needed. Its case may have been held before."""

    event: RuleEvent
    case: CaseRecord
    scene: Scene

    @cached_property
    def received(self) -> Correlated:
        return correlation.receive(self.event, self.scene.arrives, self.scene.cases)

    @cached_property
    def correlated(self) -> Correlated:
        return correlation.correlate(self.case, self.scene.held)

    @cached_property
    def plan(self) -> Plan:
        return planning.plan(self.case.becomes(PlanningCase), self.scene.held)

    @property
    def stop(self) -> Correlated | None:
        """What ends it before it is planned."""
        if self.received.kind != "open":
            return self.received
        return None if self.correlated.kind == "plan" else self.correlated

    @property
    def would(self) -> str:
        return self.after_hold if self.received.kind == "open" else self.on_arrival

    @property
    def on_arrival(self) -> str:
        return "absorb" if self.received.kind == "absorb" else WOULD.get(str(self.received.outcome), "nothing")

    @property
    def after_hold(self) -> str:
        correlated = self.correlated
        return self.plan.would if correlated.kind == "plan" else WOULD.get(str(correlated.outcome), "nothing")


def rehearse(event: RuleEvent, scene: Scene) -> RehearsedEvent:
    return RehearsedEvent(event, replace(opened(event), id=NOBODYS), scene)


def drafted(root: Root, rule_id: str, draft: RuleSettings, world: World) -> PolicyChange:
    """Return the change that the draft makes, with the trust that the rule would have once it is saved."""
    ceiling, definition = draft.trust_ceiling, definition_of(root, draft)
    trust = world.trust.get(rule_id)
    if trust is None:
        trust = Trust(rule_id, lowest(draft.initial_level, ceiling), ceiling, definition, world.now)
    else:
        trust = redefine(trust, definition, ceiling, world.now)
    return PolicyChange({rule_id: RuleRecord(**{**vars(draft), "id": rule_id})}, None, {rule_id: trust})


def event_about(said: About, rule_id: str, inventory: Iterable[Member], at: float) -> RuleEvent:
    host, name = names_of(said.target)[-1], part_of(said.target)
    member = next((member for member in inventory if host in (member.name, *member.names)), None)
    about = said._replace(condition=str(parse(said.condition).bind(name)) if name else said.condition)
    if member is not None:
        about = about._replace(agent_id=member.agent_id, subject=member.subject, names=member.names)
    return RuleEvent(rule_id, about, at)


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
    event = event_about(said, asked.rule_id, inventory_of(root), present.now)
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
    readings, condition, now = _readings(root), parse(text), now_of(root)
    members = [member for member in inventory_of(root) if member.is_among(targets)]
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
    for member in inventory_of(root):
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
