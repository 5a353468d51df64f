"""Decides whose turn it is on a host: one heal at a time, and none on an old reading. What a case waited for, or the
heal of what it depends on, may have cured it: it is looked at again, and an unknown condition does not act."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from opsapp.lib.jsontypes import JsonObject

from .case import BeforeAct, CaseRecord, ClosedCase
from .guards import Lost
from .moves import Measure, Wait
from .planning import StepChoice
from .timing import POLL_S, patience_of, settle_of
from .world import SERVER, Reading, World

OLD_S = 1.0  # a case that waited for longer acts only on a reading from after its wait
LOOK = "look"  # what a heal id ends with where nothing is healed, only looked at
LOOKED_AT = "looked at again before it acts"
HEALED_ABOVE = "something that it depends on was just healed"


class Neighbours(NamedTuple):
    """`holder`: of a host, the case that began there last."""

    others_act: bool = False
    holder: Callable[[str], CaseRecord | None] = lambda _: None


def is_taken(case_id: str, holder: CaseRecord | None, host: str) -> bool:
    """Whether another case acts on the host now."""
    if holder is None or holder.id == case_id or holder.heal is None:
        return False
    return holder.acts and holder.heal.host == host


def settles_until(case_id: str, holder: CaseRecord | None, action: str, params: JsonObject, settle_s: float) -> float:
    """Returns until when this action, which another case just took there with success, may still be working; else 0."""
    if not isinstance(holder, ClosedCase) or holder.id == case_id or holder.outcome != "verified":
        return 0.0
    if holder.heal is None or (holder.heal.action, holder.heal.params) != (action, params):
        return 0.0
    return (holder.heal.acted_at or 0.0) + settle_s


def healed_above(case: CaseRecord, world: World) -> float:
    """Returns from when a reading counts after heals above it, which bring it up within the hold; 0 where the newest is
    from after that. Whether they helped plays no part."""
    acted = [at for name in world.graph.declared_above(case.target) if (at := world.acted_at(name)) is not None]
    if not acted:
        return 0.0
    counts_from = max(acted) + world.settings.hold_s
    known = (case.about.measured_at, world.reading(case.about).measured_at)
    measured_at = max((at for at in known if at is not None), default=case.opened_at)
    return counts_from if measured_at < counts_from else 0.0


def look_again(
    case: BeforeAct, reading: Reading, *, now: float, settled_at: float, patience: float, above: float = 0.0
) -> Wait | Measure | Lost | None:
    """A reading from before `settled_at`, or `above`, says nothing. None: it goes."""
    soon = now + POLL_S
    if settled_at > now:
        return _wait(case, "the same was just done for another case", max(settled_at, soon), since=case.opened_at)
    if above > now:
        return _wait(case, HEALED_ABOVE, max(above, soon), since=case.opened_at)
    waited = above or (case.waits_from is not None and now - case.waits_from > OLD_S)
    if not (waited or case.looks_from is not None) or not case.about.subject:
        return None
    since = max(settled_at, above, case.looks_from or now - OLD_S)
    fresh = reading.measured_at is not None and reading.measured_at >= since
    if fresh and reading.verdict is not None:
        return None if reading.verdict else Lost("withdrawn", "condition_gone")
    waits = _wait(case, LOOKED_AT, soon, since=case.opened_at)
    if case.looks_from is None or case.looks_from < max(settled_at, above):  # what was asked for then says nothing now
        return Measure(replace(waits.case, looks_from=now), f"{case.id}.{LOOK}", patience, soon)
    if now - case.looks_from < patience:
        return waits
    why = "the condition is unknown" if fresh else "nothing fresh was reported"
    return Lost("withdrawn", f"condition_unknown: {why}")


def in_line(case: BeforeAct, host: str, near: Neighbours, now: float) -> Wait | None:
    """What the service does by itself stands in no line."""
    holder = None if host == SERVER else near.holder(host)
    if not (near.others_act or is_taken(case.id, holder, host)):
        return None
    return _wait(case, "another case acts there: one after the other", now + POLL_S, since=now)


def before_acting(
    case: BeforeAct, choice: StepChoice, host: str, near: Neighbours, world: World
) -> Wait | Measure | Lost | None:
    """None: it goes."""
    waits = in_line(case, host, near, world.now)
    if waits is not None:
        return waits
    holder = None if host == SERVER else near.holder(host)
    settle = settle_of(case.rule_id, choice.action, world)
    settled_at = settles_until(case.id, holder, choice.action.name, choice.params, settle)
    reading, above, patience = world.reading(case.about), healed_above(case, world), patience_of(case.rule_id, world)
    return look_again(case, reading, now=world.now, settled_at=settled_at, patience=patience, above=above)


def _wait(case: BeforeAct, reason: str, due: float, *, since: float) -> Wait:
    return Wait(replace(case.saying(reason), waits_from=case.waits_from or since), due)
