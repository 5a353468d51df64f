"""Stage 2, planning: level, host, the step worth trying, pre-flight, and what follows."""

from __future__ import annotations

from typing import NamedTuple

from opsapp.healing.logic import brake, effectiveness, rules, windows
from opsapp.healing.logic.levels import PREDICTIVE_SOURCES, behaviour, rank, tells_people
from opsapp.healing.records import RuleRecord, RuleStep
from opsapp.lib.jsontypes import JsonObject
from opsapp.wire.actions import Action
from opsapp.wire.causes import CAUSES
from opsapp.wire.dataclass import frozen
from opsapp.wire.fields import WireError

from .case import CaseRecord
from .stakes import at_stake
from .trust import Effective, Trust, effective
from .world import SERVER, Host, World

BRAKE = "brake: "
IN_VAIN = "in_vain: "
OVERDUE = "problem_overdue"
ENDS = {"observe": "observed", "simulate": "simulated", "notify": "notified"}
Caps = list[tuple[str, str]]  # a level, and why it is no higher


@frozen
class PreflightCheck:
    check: str
    passed: bool
    detail: str = ""


class StepChoice(NamedTuple):
    """The step that was chosen, with its whole parameters."""

    step: RuleStep
    action: Action
    params: JsonObject


@frozen
class SkippedStep:
    step: int
    action: str
    reason: str


class Plan(NamedTuple):
    """`outcome` is set when the case, or this step, ends with it."""

    would: str
    outcome: str | None
    reason: str
    trust_level: str
    effective: Effective
    choice: StepChoice | None
    host: Host | None
    skipped: tuple[SkippedStep, ...]
    checks: tuple[PreflightCheck, ...]
    tell: bool
    why: tuple[str, ...]

    @property
    def act(self) -> tuple[StepChoice, Host]:
        """What is done, and where. Without an outcome it has both."""
        assert self.choice is not None
        assert self.host is not None
        return self.choice, self.host

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def brake(self) -> str | None:
        brakes = (why for why in self.effective.reasons if why.startswith(BRAKE))
        return next((why.removeprefix(BRAKE) for why in brakes), None)


def plan(case: CaseRecord, world: World) -> Plan:
    """Everything that stood in the way is in `why`."""
    rule, trust = world.rules[case.rule_id], world.trust[case.rule_id]
    choice, skipped = choose(case, rule, world)
    host, no_host = whereto(case, rule, world, choice)
    caps = _caps(case, no_host, world)
    risk, stakes = choice.action.risk if choice else "low", at_stake(case, host, world)
    level = effective(trust, source=case.about.source, caps=caps, stakes=stakes, risk=risk)
    checks = preflight(choice, host, no_host)
    would, outcome, reason = _decide(level, choice, skipped, checks, caps)
    if would in ("observe", "simulate") and _is_told(case, trust, caps):
        would, outcome, reason = "notify", "notified", f"{case.about.source}: one level below {trust.current_level}"
    why = [f"level {trust.current_level}, effective {level.level}", *level.reasons]
    why += [f"step {skip.step} {skip.action} skipped: {skip.reason}" for skip in skipped]
    why += [
        f"pre-flight {check.check}: {'passed' if check.passed else 'failed'} {check.detail}".rstrip()
        for check in checks
    ]
    why.append(f"would {would}" + (f": {reason}" if reason else ""))
    tell = would == "notify" or (choice is not None and tells_people(level.level, choice.action.risk))
    return Plan(
        would, outcome, reason, trust.current_level, level, choice, host, tuple(skipped), checks, tell, tuple(why)
    )


def whereto(
    case: CaseRecord, rule: RuleRecord, world: World, choice: StepChoice | None = None
) -> tuple[Host | None, str]:
    """What only the service can do runs there, whoever asks."""
    named = rule.acts_on
    if named == SERVER or (choice is not None and choice.action.where == "server"):
        return world.server, ""
    hostname = choice.step.params.get("hostname") if choice is not None and choice.action.shell else None
    wanted = hostname or named or case.about.agent_id
    if not wanted:
        return None, "no_host"
    hosts = world.find_hosts(wanted)
    if not hosts:
        return None, "no_host"
    if len(hosts) > 1 or (hosts[0].ambiguous and wanted != hosts[0].agent_id):
        return None, "ambiguous_host"
    return hosts[0], ""


def _caps(case: CaseRecord, no_host: str, world: World) -> Caps:
    """The reasons are stable words."""
    window = windows.permitted(world.windows, case.about.called)
    caps = [(window.cap, "; ".join(window.reasons))]
    if world.graph.is_external(case.target):
        caps.append(("notify", "external"))
    if no_host:
        caps.append(("notify", no_host))
    caps += overdue(case, world)
    load = world.load(case.rule_id, case.target)
    pulled = brake.pulled(brake.without_heals(load) if case.counted else load, world.settings.brake)
    if pulled:
        caps.append(("notify", f"{BRAKE}{pulled}"))
    return caps


def overdue(case: CaseRecord, world: World) -> Caps:
    """What should have been looked into by now is healed no more without a person."""
    return [("approve", OVERDUE)] if (case.rule_id, case.target) in world.overdue else []


def choose(case: CaseRecord, rule: RuleRecord, world: World) -> tuple[StepChoice | None, list[SkippedStep]]:
    """Nothing speaks against it."""
    skipped: list[SkippedStep] = []
    for step in rule.steps[case.step :]:
        action = world.actions[step.action]
        params, reason = _against(step, action, case, world)
        if not reason:
            return StepChoice(step, action, params), skipped
        skipped.append(SkippedStep(step.position, step.action, reason))
    return None, skipped


def _against(step: RuleStep, action: Action, case: CaseRecord, world: World) -> tuple[JsonObject, str]:
    """ "" when nothing does."""
    if case.about.source in PREDICTIVE_SOURCES and action.risk != "low":
        return step.params, f"risk {action.risk}: only low risk for what is predicted"
    cause = CAUSES.get(case.cause.id) if case.cause else None
    if case.cause and cause is not None and cause.in_vain(step.action):
        return step.params, f"{IN_VAIN}{case.cause.text}"
    host, fleet = world.history(step.action, case.about.condition, case.target)
    doubt = effectiveness.against(host, fleet, world.now, world.settings.skip)
    if doubt:
        return step.params, f"low_effectiveness: {doubt}"
    try:
        params = action.check(action.complete(step.params, rules.part_of(case.target)))
    except WireError as error:
        return step.params, f"parameters: {error}"
    return params, _protected(params, case, world)


def _protected(params: JsonObject, case: CaseRecord, world: World) -> str:
    for name in sorted({*case.about.called}.intersection(world.settings.protected.targets)):
        return f"protected: target {name}"
    part = protected_part(params, world)
    return f"protected: {part}" if part else ""


def protected_part(params: JsonObject, world: World) -> str:
    """The service or container that nothing may be done to; else ""."""
    kept = {*world.settings.protected.processes, *world.settings.protected.targets}
    named = ((name, str(params.get(name) or "").removesuffix(".service")) for name in ("service", "container"))
    return next((f"{name} {value}" for name, value in named if value in kept), "")


def preflight(choice: StepChoice | None, host: Host | None, no_host: str) -> tuple[PreflightCheck, ...]:
    if choice is None:
        return (PreflightCheck("action", False, "no step is left"),)
    if host is None:
        return (PreflightCheck("host", False, no_host),)
    reachable = PreflightCheck("host_online", host.online, host.hostname)
    if choice.action.where == "server":
        return reachable, PreflightCheck("capability", True, "by the service itself")
    capable = _capability(choice.action, host)
    if host.agent_id == SERVER and choice.action.reversible:
        return reachable, capable, PreflightCheck("snapshot", False, "the service itself takes none")
    return reachable, capable


# What takes no tool is done by the agent's code, on any host that has an agent. The service itself has none of it.
AGENTS_CODE = "the agent's own code, which the service itself does not have: run an agent on this machine"


def _capability(action: Action, host: Host) -> PreflightCheck:
    if host.usable is None:
        return PreflightCheck("capability", True, "the agent looks for its tools itself")
    handler = host.handler(action)
    if handler is None:
        return PreflightCheck("capability", False, f"looked for {', '.join(action.tools()) or AGENTS_CODE}")
    return PreflightCheck("capability", True, f"by {', '.join(handler.tools)}")


OFFLINE = "host_offline"
FAILURES = {
    "capability": "no_capable_handler",
    "host_online": OFFLINE,
    "host": "no_capable_handler",
    "snapshot": "no_snapshot",
}


def _is_told(case: CaseRecord, trust: Trust, caps: Caps) -> bool:
    """A prediction is acted upon one level below; people are told at the rule's own level."""
    own = effective(trust, source="alert", caps=caps).level
    return case.about.source in PREDICTIVE_SOURCES and rank(own) >= rank("notify")


def _decide(
    level: Effective,
    choice: StepChoice | None,
    skipped: list[SkippedStep],
    checks: tuple[PreflightCheck, ...],
    caps: Caps,
) -> tuple[str, str | None, str]:
    does = behaviour(level.level, choice.action.risk if choice else "low")
    if does in ("observe", "simulate", "notify"):
        held = next((why for cap, why in caps if cap == level.level and why), "")
        held = held if level.lowered is None else str(level.lowered)
        return does, ENDS[does], held or f"level {level.level}"
    if choice is None:
        return "nothing", "skipped", skipped[-1].reason if skipped else "chain_exhausted"
    for check in checks:
        if not check.passed:
            return "nothing", "failed", f"{FAILURES[check.check]}: {check.detail}"
    return does, None, ""
