"""Dry run: the stages on the live world, and their decisions thrown away. There is no second simulator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from opsapp.healing.logic import windows
from opsapp.healing.logic.levels import lowest
from opsapp.healing.logic.rules import names_of
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.cases import case_of
from opsapp.healing.resources.rules import definition_of
from opsapp.healing.stages import correlation, execution, planning
from opsapp.healing.stages.case import About, RuleEvent
from opsapp.healing.stages.trust import Trust, redefine
from opsapp.healing.stages.world import Reading, World
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Invalid
from opsapp.tree.root import Root
from opsapp.wire.conditions import parse

from .default_rules import complete
from .fleet_access import fleet_access
from .inventory import Member
from .pipeline import world_now

WOULD = {"suppressed": "suppress", "observed": "observe", "absorbed": "absorb"}


def dry_run(root: Root, given: dict[str, Any], draft: JsonObject | None = None) -> dict[str, Any]:
    """What would become of this event now, under a draft where one is given. Reads only; the caller's transaction is
    aborted all the same."""
    world = world_now(root)
    if draft is not None:
        world = with_draft(root, draft, world)
    rule = world.rules.get(given["rule_id"])
    if rule is None:
        raise Invalid({"event.rule_id": "there is no such rule"})
    event = _event(given, rule, fleet_access(root).inventory(root), world)
    world.reading = _with(event["metrics"], world)
    case = replace(case_of(event), id="0")
    received = correlation.receive(RuleEvent.read(event), world, healing_of(root).book.on_target(event["target"]))
    correlated = correlation.correlate(case, replace(world, unmeasured=_known, doubtful=_known))
    plan = planning.plan(case, world)
    window = windows.permitted(world.windows, (*names_of(event["target"]), *event["names"]))
    would, why = _would(received, correlated, plan)
    choice = plan.choice
    return {
        "event": {name: event[name] for name in ("source", "rule_id", "condition", "target", "severity", "metrics")},
        "correlation": {"kind": received.kind, "case_id": received.case_id, "reason": received.reason},
        "dependency": {
            "root_cause": correlated.root or event["target"],
            "suppressed": correlated.root not in (None, event["target"]),
            "depends_on": list(world.graph.ancestors(event["target"])),
            "site": world.graph.site(event["target"]),
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
        "would": would,
        "why": why,
    }


def with_draft(root: Root, draft: JsonObject, world: World) -> World:
    """The world with the draft in it, and the trust that it would have once it is saved."""
    rule_id, fields = draft["id"], complete(draft)
    ceiling, definition = fields["trust_ceiling"], definition_of(root, fields)
    trust = world.trust.get(rule_id)
    if trust is None:
        trust = Trust(rule_id, lowest(fields["initial_level"], ceiling), ceiling, definition, world.now)
    else:
        trust = redefine(trust, definition, ceiling, world.now)
    rules = {**world.rules, rule_id: {"id": rule_id, **fields}}
    return replace(world, rules=rules, trust={**world.trust, rule_id: trust})


def _known(*_: Any) -> bool:
    """Nothing is waited for: what would be done is said of what is known now."""
    return False


def _would(
    received: correlation.Received, correlated: correlation.Correlated, plan: planning.Plan
) -> tuple[str, list[str]]:
    """The first gate that ends it decides, as in the pipeline."""
    if received.kind == "absorb":
        return "absorb", [received.reason]
    if received.kind == "end":
        return WOULD[str(received.outcome)], [received.reason]
    if correlated.kind == "wait":
        return "nothing", [f"queued: {correlated.reason}"]
    if correlated.kind == "end":
        return WOULD.get(str(correlated.outcome), "nothing"), [correlated.reason]
    return plan.would, list(plan.why)


def _event(given: dict[str, Any], rule: Any, inventory: list[Member], world: World) -> dict[str, Any]:
    """The event as alerts would have made it: with the host or monitor that its target names."""
    host = names_of(given["target"])[-1]
    member = next((candidate for candidate in inventory if host in (candidate.name, *candidate.names)), None)
    condition = given.get("condition") or rule["condition"]
    name = given["target"].partition("/")[2]
    return {
        **given,
        "condition": str(parse(condition).bind(name)) if name else condition,
        "severity": given.get("severity") or rule["severity"],
        "agent_id": member.agent_id if member else None,
        "subject": member.subject if member else None,
        "names": member.names if member else (),
        "at": world.now,
    }


def _with(metrics: dict[str, Any], world: World) -> Any:
    """Readings as the event gives them; live ones when it gives none."""
    if not metrics:
        return world.reading

    def reading(about: About) -> Reading:
        condition = parse(about.condition)
        return Reading(None if condition.family else condition.evaluate(metrics), metrics, world.now)

    return reading
