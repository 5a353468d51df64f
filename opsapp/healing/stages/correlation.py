"""Stage 1, correlation: which case an event belongs to, which rule leads the case, and what its root cause is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from opsapp.healing.logic import windows
from opsapp.healing.logic.levels import rank
from opsapp.healing.logic.rules import names_of

from . import planning
from .trust import effective
from .world import World

MOST_DOUBT_S = 60.0  # how long a case is held at most until something above it is known to be well or down
DOUBT_S = 1.0
ROOT_CAUSE = "root cause"  # what a reason begins with that names one
SEVERITIES = ("info", "warning", "error", "critical")


class Received(NamedTuple):
    """What becomes of an event as it arrives: `open` a case, `absorb` it into one, or `end` with an outcome."""

    kind: str
    case_id: str | None = None
    outcome: str | None = None
    reason: str = ""
    due: float = 0.0


class Correlated(NamedTuple):
    """What becomes of a case when its hold is over: `plan`, `end` with an outcome, `wait` until `due` for a window, or
    be held (`hold`) for what is just being looked at."""

    kind: str
    rule_id: str
    outcome: str | None = None
    reason: str = ""
    root: str | None = None
    due: float = 0.0


def receive(event: Mapping[str, Any], world: World, cases: Iterable[Mapping[str, Any]]) -> Received:
    """`cases` are those of the event's target: the open ones, and the one closed last."""
    rule, trust = world.rules.get(event["rule_id"]), world.trust.get(event["rule_id"])
    if rule is None or trust is None or not rule["enabled"]:
        return Received("end", outcome="suppressed", reason="rule_disabled")
    if world.paused:
        return Received("end", outcome="suppressed", reason="paused")
    level = effective(trust, source=event["source"], caps=()).level
    if level == "observation":
        return Received("end", outcome="observed", reason="level observation")
    window = windows.permitted(world.windows, (*names_of(event["target"]), *event.get("names", ())))
    if window.effect == "suppress":
        return Received("end", outcome="suppressed", reason="; ".join(window.reasons))
    for case in cases:
        if _stands(case, event, world) or _rapid(case, event, world):
            return Received("absorb", case_id=case["id"], reason=f"case {case['id']} is about the same target")
    found = None if window.effect else world.graph.suppressor(event["target"], world.failing)
    if found is not None:  # what it hangs on has failed already: there is nothing to wait for
        return Received("end", outcome="suppressed", reason=f"{ROOT_CAUSE} {found[0]}: {found[1]}")
    over = None if window.effect else _over_since(event, world)
    if over is not None:
        return Received("end", outcome="suppressed", reason=f"{ROOT_CAUSE} {over}: it is over, not measured afterwards")
    return Received("open", due=world.now + world.settings["hold_s"])


def _over_since(event: Mapping[str, Any], world: World) -> str | None:
    """A declared target that this one hangs on, and that is well again since what the event was made of was measured.
    What it has taken down with it comes up by itself, for which it has as long as the hold."""
    measured = event.get("measured_at")
    if measured is None:
        return None
    for name in world.graph.declared_above(event["target"]):
        well = world.well_since(name)
        if well is not None and measured < well + world.settings["hold_s"]:
            return name
    return None


def _may_do_more(event: Mapping[str, Any], case: Mapping[str, Any], world: World) -> bool:
    """Whether the event's rule may do more now than the case could. Both under what holds all rules down: under a brake
    or in a window that only notifies, they are the same."""
    return rank(planning.level_of(event, world).level) > rank(case["level"])


def _stands(case: Mapping[str, Any], event: Mapping[str, Any], world: World) -> bool:
    """Whether an open case stands for the event.

    One that waits for people may wait for an hour: it keeps no other rule from acting for longer than the window, nor
    one that may do more at all.
    """
    if case["state"] != "awaiting_approval" or event["rule_id"] in case["events"]:
        return case["state"] != "closed"
    within = world.now - case["opened_at"] < world.settings["absorption_window_s"]
    return within and not _may_do_more(event, case, world)


def _rapid(case: Mapping[str, Any], event: Mapping[str, Any], world: World) -> bool:
    """Whether a closed case still stands for what happens now.

    Not when it was verified: then this is a new failure. Nor when it ended at a lower level than this event has,
    for a case that only told somebody must not keep another rule from acting. Nor when it was stopped on its way, and
    what stopped it is over.
    """
    recent = case["state"] == "closed" and world.now - case["opened_at"] < world.settings["absorption_window_s"]
    stopped = case["outcome"] in ("verified", "withdrawn") or case.get("held")
    return recent and not stopped and not _may_do_more(event, case, world)


def correlate(case: Mapping[str, Any], world: World) -> Correlated:
    """After the hold: the leading rule, then pause, windows, the condition itself, the graph."""
    leader = leading(case, world)
    if leader is None:
        return Correlated("end", case["rule_id"], "suppressed", "rule_disabled")
    if world.paused:
        return Correlated("end", leader, "suppressed", "paused")
    window = windows.permitted(world.windows, (*names_of(case["target"]), *case.get("names", ())))
    if window.effect == "suppress":
        return Correlated("end", leader, "suppressed", "; ".join(window.reasons))
    if window.effect == "queue":
        return Correlated("wait", leader, reason="; ".join(window.reasons), due=_after(window, case, world))
    if world.reading(case).verdict is False:
        return Correlated("end", leader, "withdrawn", "condition_gone")
    found = world.graph.suppressor(case["target"], world.failing)
    if found is not None:
        return Correlated("end", leader, "suppressed", f"{ROOT_CAUSE} {found[0]}: {found[1]}", root=found[0])
    doubtful = [name for name in world.graph.declared_above(case["target"]) if world.doubtful(name)]
    if doubtful and world.now - case["opened_at"] < MOST_DOUBT_S:
        return Correlated("hold", leader, reason=f"{doubtful[0]} may have failed", due=world.now + DOUBT_S)
    return Correlated("plan", leader, root=case["target"])


def leading(case: Mapping[str, Any], world: World) -> str | None:
    """The rule that may do most leads, then the most severe, then the first. Arrival decides only between equals."""
    found: str | None = None
    best: tuple[int, int] = (-1, -1)
    for rule_id in case["events"]:
        rule, trust = world.rules.get(rule_id), world.trust.get(rule_id)
        if rule is None or trust is None or not rule["enabled"]:
            continue
        level = effective(trust, source=case["source"], caps=()).level
        weight = (rank(level), SEVERITIES.index(rule["severity"]) if rule["severity"] in SEVERITIES else 0)
        if weight > best:
            found, best = rule_id, weight
    return found


def _after(window: windows.Permission, case: Mapping[str, Any], world: World) -> float:
    """When a queued case is looked at again: after the window, spread so that they do not all come at once."""
    ends = world.now + 60.0 if window.ends is None else window.ends
    return ends + spread(case["id"], world.settings["queue_spread_s"])


def spread(case_id: str, over_s: float) -> float:
    """A case's place in the time over which those that were queued are looked at."""
    return over_s * (int(case_id, 16) % 997) / 997
