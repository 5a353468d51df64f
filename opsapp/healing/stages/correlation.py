"""Stage 1, correlation: an event's case, the rule that leads it, and its root cause."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from opsapp.healing.logic import windows
from opsapp.healing.logic.levels import PREDICTIVE_SOURCES, SEVERITIES, rank

from . import guards, planning
from .case import CaseRecord, ClosedCase, CorrelatingCase, PlanningCase, RuleEvent, opened
from .moves import EndCase, Next, PlanNow, Wait
from .trust import effective
from .world import World

MOST_DOUBT_S = 60.0  # how long a case is held at most until a check above it that failed has been repeated
LOOK_AGAIN_S = 1.0  # how often a case that is held for what it hangs on is looked at
ROOT_CAUSE = "root cause"  # what a reason begins with that names one


class Correlated(NamedTuple):
    """What follows on arrival: `open` a case, `absorb` it into one (`case_id`), or `end` with an outcome. After the
    hold, for the rule that leads: `plan`, `end`, `wait` until `due` for a window, or `hold` until what it hangs on was
    measured. `root`: as far as it is known; `ask`: targets above it to be measured first."""

    kind: str
    rule_id: str = ""
    outcome: str | None = None
    reason: str = ""
    root: str | None = None
    due: float = 0.0
    ask: tuple[str, ...] = ()
    case_id: str | None = None


class Cause(NamedTuple):
    name: str
    why: str

    @property
    def reason(self) -> str:
        return f"{ROOT_CAUSE} {self.name}: {self.why}"


class Above(NamedTuple):
    """The root cause, and what has to be waited for before that can be told."""

    cause: Cause | None
    unmeasured: tuple[str, ...]
    doubtful: tuple[str, ...]


def receive(event: RuleEvent, world: World, cases: Iterable[CaseRecord]) -> Correlated:
    """`cases`: the open ones of its target, and the one closed last."""
    trust = world.trust.get(event.rule_id)
    if trust is None or world.enabled(event.rule_id) is None:
        return Correlated("end", outcome="suppressed", reason="rule_disabled")
    if world.paused:
        return Correlated("end", outcome="suppressed", reason=guards.paused(world))
    level = effective(trust, source=event.about.source, caps=()).level
    if level == "observation":
        return Correlated("end", outcome="observed", reason="level observation")
    window = windows.permitted(world.windows, event.about.called)
    if window.effect == "suppress":
        return Correlated("end", outcome="suppressed", reason="; ".join(window.reasons))
    for case in cases:
        if _stands(case, event, world) or _rapid(case, event, world):
            return Correlated("absorb", case_id=case.id, reason=f"case {case.id} is about the same target")
    due = world.now + world.settings.hold_s
    if window.effect:
        return Correlated("open", due=due)
    above = look_above(event.about.target, event.about.subject, world.now, world, event.about.measured_at)
    if above.cause is None:
        return Correlated("open", due=due, ask=above.unmeasured)
    if above.unmeasured or above.doubtful:  # its root cause may have failed for the sake of another
        return Correlated("open", due=due, root=above.cause.name, ask=above.unmeasured)
    return Correlated("end", outcome="suppressed", reason=above.cause.reason, root=above.cause.name)


def look_above(target: str, subject: str | None, since: float, world: World, measured_at: float | None = None) -> Above:
    """Looks above a target for the cause of what arose at `since`."""

    def well(name: str) -> bool:
        ill = name in world.failing or world.doubtful(name)
        return not ill and world.well(name, since, subject)

    cause, over = world.graph.suppressor(target, world.failing, well), _over_since(target, measured_at, world)
    if over is not None and (cause is None or over in world.graph.ancestors(cause[0])):
        return Above(_cause_over(over, world.graph.suppressor(over, world.failing, well)), (), ())
    unknown = [name for name in world.graph.declared_above(target, well) if name not in world.failing]
    return Above(
        None if cause is None else Cause(*cause),
        tuple(name for name in unknown if world.unmeasured(name, since, subject)),
        tuple(name for name in unknown if world.doubtful(name)),
    )


def _over_since(target: str, measured: float | None, world: World) -> str | None:
    """The topmost declared target above this one that is well again since the event's measurement. What it took down
    comes up by itself, within the hold."""
    if measured is None:
        return None
    paths = {name: path for name, path in world.graph.ancestors(target).items() if name in world.graph.nodes}
    wells = {name: world.well_since(name) for name in paths}
    over = {
        name: paths[name]
        for name, well in wells.items()
        if well is not None and measured < well + world.settings.hold_s
    }
    return world.graph.root_of(over) if over else None


def _cause_over(over: str, failed: tuple[str, str] | None) -> Cause:
    """What is over may hang on a failed target whose heal is not verified yet: that is the cause."""
    if failed is None:
        return Cause(over, "it is over, not measured afterwards")
    return Cause(failed[0], f"{over} depends on it and is over, not measured afterwards")


def _may_do_more(event: RuleEvent, case: CaseRecord, world: World) -> bool:
    """Both under what holds all rules down: then they are the same."""
    return rank(planning.plan(opened(event), world).effective.level) > rank(case.level)


def _stands(case: CaseRecord, event: RuleEvent, world: World) -> bool:
    """A case that waits for people, perhaps for an hour, keeps no other rule from acting for longer than the window,
    nor one that may do more at all."""
    if case.state != "awaiting_approval" or event.rule_id in case.events:
        return case.state != "closed"
    within = world.now - case.opened_at < world.settings.absorption_window_s
    return within and not _may_do_more(event, case, world)


def _rapid(case: CaseRecord, event: RuleEvent, world: World) -> bool:
    """Whether a closed case still stands for what happens now. Not when it was verified: this is a new failure. Nor
    when this event may do more. Nor when it was stopped, and what stopped it is over."""
    if not isinstance(case, ClosedCase) or case.held or case.outcome in ("verified", "withdrawn"):
        return False
    recent = world.now - case.opened_at < world.settings.absorption_window_s
    return recent and not _may_do_more(event, case, world)


def taken_in(case: CaseRecord, event: RuleEvent) -> str:
    """How a case takes an event in: as its `own` while it acts; with an entry that ends at once (`beside`) while it
    waits for people on another rule's word; with one that ends with the window (`late`) once it is closed."""
    if case.state == "closed":
        return "late"
    return "beside" if case.state == "awaiting_approval" and event.rule_id != case.rule_id else "own"


def absorbed(case: CaseRecord, event: RuleEvent) -> CaseRecord:
    """What has happened counts for more than a guess."""
    about = case.abouts.get(event.rule_id)
    if about is None or about.source in PREDICTIVE_SOURCES:
        about = event.about
    counted = {**case.events, event.rule_id: case.events.get(event.rule_id, 0) + 1}
    return replace(case, events=counted, abouts={**case.abouts, event.rule_id: about})


def is_resolved_by_itself(cases: Iterable[CaseRecord], rule_id: str) -> bool:
    """Whether people are told at once. A case of its rule that is at work says itself what came of it."""
    own = [case for case in cases if rule_id in case.events]
    return all(case.state == "awaiting_approval" for case in own)


def hold_over(case: CorrelatingCase, world: World) -> Next:
    correlated = correlate(case, world)
    about = case.abouts.get(correlated.rule_id, case.about)
    line = f"correlated: {correlated.kind}" + (f", {correlated.reason}" if correlated.reason else "")
    case = replace(case, about=about, rule_id=correlated.rule_id, queued=correlated.kind == "wait").saying(line)
    if correlated.kind == "wait":
        return Wait(replace(case, waits_from=case.waits_from or world.now), correlated.due, correlated.ask)
    if correlated.kind == "hold":
        return Wait(case, correlated.due, correlated.ask)
    if correlated.kind == "end":
        held = case.held or guards.held(case, world) is not None
        return EndCase(replace(case, held=held), correlated.outcome or "", correlated.reason, root=correlated.root)
    return PlanNow(case.becomes(PlanningCase))


def correlate(case: CaseRecord, world: World) -> Correlated:
    """The leading rule, then pause, windows, the condition itself, the graph."""
    leader = leading(case, world)
    if leader is None:
        return Correlated("end", case.rule_id, "suppressed", "rule_disabled")
    if world.paused:
        return Correlated("end", leader, "suppressed", guards.paused(world))
    window = windows.permitted(world.windows, case.about.called)
    if window.effect == "suppress":
        return Correlated("end", leader, "suppressed", "; ".join(window.reasons))
    if window.effect == "queue":
        return Correlated("wait", leader, reason="; ".join(window.reasons), due=_after(window, case, world))
    about = case.abouts.get(leader, case.about)
    reading = world.reading(about)
    if reading.verdict is False:
        return Correlated("end", leader, "withdrawn", "condition_gone")
    measured = [at for at in (about.measured_at, reading.measured_at) if at is not None]
    above = look_above(case.target, case.about.subject, case.opened_at, world, max(measured, default=None))
    held, why = held_for(above, world.now - case.opened_at, world)
    if held:
        return Correlated("hold", leader, reason=why, due=world.now + LOOK_AGAIN_S, ask=above.unmeasured)
    if above.cause is not None:
        return Correlated("end", leader, "suppressed", above.cause.reason, root=above.cause.name)
    return Correlated("plan", leader, root=case.target)


def held_for(above: Above, waited: float, world: World) -> tuple[bool, str]:
    """Whether what `waited` so long goes on waiting, and why."""
    if above.unmeasured and waited < world.settings.cause_wait_s:
        return True, f"{above.unmeasured[0]} is being measured"
    if above.doubtful and waited < MOST_DOUBT_S:
        return True, f"{above.doubtful[0]} may have failed"
    return False, ""


def leading(case: CaseRecord, world: World) -> str | None:
    """The rule that may do most, then the most severe, then the first. One whose condition is over leads no other."""
    leader: str | None = None
    best: tuple[bool, int, int] = (False, -1, -1)
    for rule_id in case.events:
        rule, trust = world.enabled(rule_id), world.trust.get(rule_id)
        if rule is None or trust is None:
            continue
        level = effective(trust, source=case.about.source, caps=()).level
        holds = world.reading(case.abouts.get(rule_id, case.about)).verdict is not False
        weight = (holds, rank(level), SEVERITIES.index(rule.severity) if rule.severity in SEVERITIES else 0)
        if weight > best:
            leader, best = rule_id, weight
    return leader


def _after(window: windows.WindowEffect, case: CaseRecord, world: World) -> float:
    """Spread, so that queued cases do not come at once."""
    ends = world.now + 60.0 if window.ends is None else window.ends
    return ends + spread(case.id, world.settings.queue_spread_s)


def spread(case_id: str, over_s: float) -> float:
    return over_s * (int(case_id, 16) % 997) / 997
