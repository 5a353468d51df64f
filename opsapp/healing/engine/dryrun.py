"""What would be now: the dry run of an event, a condition compared with live readings, the names that can be read.

Views of `rehearse` and of the same readings, scope and conditions as rules are compared with. Must not: fire anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from opsapp.healing.logic import windows
from opsapp.healing.logic.rules import target_of
from opsapp.healing.records import DeclaredRule, RuleTargets
from opsapp.healing.resources import healing_of
from opsapp.healing.stages import execution
from opsapp.healing.stages.case import About, RuleEvent
from opsapp.healing.stages.world import Reading, World
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Invalid
from opsapp.runtime.node import node_of
from opsapp.tree.root import Root
from opsapp.wire.conditions import Condition, parse
from opsapp.wire.readings import FAMILIES, PLUGIN, split

from .fleet_access import fleet_access
from .inventory import Member
from .pipeline import IHealingEngine, world_now
from .readings import LiveReadings, instances, read
from .rehearse import PRESENT, PolicyChange, RehearsedEvent, Scene, drafted, event_about, rehearse

SHOWN = 50  # targets that are named
NAMED = 1000  # names of readings
OF_MONITORS = ("monitor.", PLUGIN)
ORDER = {True: 0, False: 1, None: 2}


def dry_run(root: Root, given: JsonObject, draft: DeclaredRule | None = None) -> JsonObject:
    """What would become of this event now, under a draft where one is given. Reads only; the caller's transaction is
    aborted all the same."""
    present = world_now(root)
    policy = PRESENT if draft is None else drafted(root, draft.id, draft, present)
    present = policy.over(present)
    rule = present.rules.get(given["rule_id"])
    if rule is None:
        raise Invalid({"event.rule_id": "there is no such rule"})
    said = About.read({**given, "condition": given.get("condition") or rule.condition})._replace(
        severity=given.get("severity") or rule.severity
    )
    event = event_about(said, given["rule_id"], fleet_access(root).inventory(root), present.now)

    def live(event: RuleEvent, _: PolicyChange) -> Scene:
        """Nothing is waited for: what would be done is said of what is known now."""
        world = _told(event.about.metrics, present)
        held = replace(world, unmeasured=lambda *_: False, doubtful=lambda _: False)
        return Scene(world, held, tuple(healing_of(root).book.on_target(event.about.target)))

    [rehearsed] = rehearse(live, [event], policy)
    return _answer(rehearsed, present)


def _answer(rehearsed: RehearsedEvent, world: World) -> JsonObject:
    about, received, plan = rehearsed.event.about, rehearsed.received, rehearsed.plan
    root, choice, window = rehearsed.correlated.root, plan.choice, windows.permitted(world.windows, about.called)
    told = ("source", "condition", "target", "severity", "metrics")
    return {
        "event": {"rule_id": rehearsed.event.rule_id, **{name: getattr(about, name) for name in told}},
        "correlation": {"kind": received.kind, "case_id": received.case_id, "reason": received.reason},
        "dependency": {
            "root_cause": root or about.target,
            "suppressed": root not in (None, about.target),
            "depends_on": list(world.graph.ancestors(about.target)),
            "site": world.graph.site(about.target),
        },
        "window": {"effect": window.effect or None, "cap": window.cap, "reasons": list(window.reasons)},
        "trust": {
            "level": plan.trust_level,
            "effective_level": plan.effective.level,
            "reasons": list(plan.effective.reasons),
        },
        "action_selection": None
        if choice is None
        else {
            "action_type": choice.action.name,
            "action_params": choice.params,
            "step": choice.step.position,
            "risk": choice.action.risk,
            "skipped": [skipped._asdict() for skipped in plan.skipped],
        },
        "pre_flight": {"passed": plan.passed, "checks": [check._asdict() for check in plan.checks]},
        "rollback_plan": execution.rollback_plan(choice.action if choice else None, None),
        "would": rehearsed.would,
        "why": _why(rehearsed),
    }


def _why(rehearsed: RehearsedEvent) -> list[str]:
    stop = rehearsed.stop
    if stop is None:
        return list(rehearsed.plan.why)
    return [f"queued: {stop.reason}" if stop.kind == "wait" else stop.reason]


def _told(metrics: JsonObject, world: World) -> World:
    """Readings as the event gives them; live ones when it gives none."""
    if not metrics:
        return world

    def reading(about: About) -> Reading:
        condition = parse(about.condition)
        return Reading(None if condition.family else condition.evaluate(metrics), metrics, world.now)

    return replace(world, reading=reading)


# -- a condition now ---------------------------------------------------------------------------------------------------


class Look(NamedTuple):
    """One target, and what the condition says of it now."""

    target: str
    name: str
    subject: str
    verdict: bool | None
    readings: JsonObject
    missing: list[str]


def compare(root: Root, text: str, targets: RuleTargets | None) -> JsonObject:
    """Of every agent and monitor in the scope that reports something that the condition names. Where a scope is given,
    of the others in it too: there it says what is missing."""
    readings, condition, now = _readings(root), parse(text), node_of(root).clock.now()
    members = [member for member in fleet_access(root).inventory(root) if member.is_among(targets)]
    looks = [look for member in members for look in _looks(member, readings, condition, now)]
    if targets is None:
        looks = [look for look in looks if look.readings]
    looks.sort(key=lambda look: (ORDER[look.verdict], look.target))
    verdicts = [look.verdict for look in looks]
    return {
        "matching": len(members),
        "holds": verdicts.count(True),
        "false": verdicts.count(False),
        "unknown": verdicts.count(None),
        "targets": [look._asdict() for look in looks[:SHOWN]],
    }


def names(root: Root) -> list[JsonObject]:
    """What can be read now, as conditions say it: a service's state once, whatever services there are."""
    readings = _readings(root)
    row_by_name: dict[tuple[str, str], JsonObject] = {}
    for member in fleet_access(root).inventory(root):
        of, seen = ("host" if member.is_agent else "monitor"), set()
        for key, (value, _) in readings.samples(member.subject).items():
            if value is None or isinstance(value, dict | list) or (of == "monitor") != key.startswith(OF_MONITORS):
                continue
            name = _general(key)
            row = row_by_name.setdefault(
                (of, name), {"name": name, "of": of, "subjects": 0, "example": value, "on": member.name}
            )
            row["subjects"] += name not in seen
            seen.add(name)
    return [row_by_name[key] for key in sorted(row_by_name)[:NAMED]]


def _readings(root: Root) -> LiveReadings:
    return node_of(root).registry.getUtility(IHealingEngine).readings


def _looks(member: Member, readings: LiveReadings, condition: Condition, now: float) -> Iterator[Look]:
    samples = readings.samples(member.subject)
    for instance in instances(condition, member, samples):
        reading = read(samples, instance, now, member.interval)
        missing = [name for name in instance.names if name not in reading.metrics]
        yield Look(
            target_of(member.name, instance), member.name, member.subject, reading.verdict, reading.metrics, missing
        )


def _general(key: str) -> str:
    family, middle, attribute = split(key)
    return f"{family}.*.{attribute}" if middle and family in FAMILIES else key
