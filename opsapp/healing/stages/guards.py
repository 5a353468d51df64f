"""Checks whether a case should still do what it is about to do: before each step and act, and until a command has
left, for which a host may be away. Must not: judge what has been done."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from opsapp.healing.logic import windows
from opsapp.healing.logic.levels import behaviour
from opsapp.wire.actions import ACTIONS

from .case import AwaitingCase, CaseRecord, CommandedCase, PlanningCase
from .moves import EndCase
from .planning import ENDS, overdue
from .stakes import at_stake
from .trust import effective
from .world import World


class Lost(NamedTuple):
    """`held`: by a pause or a window; what still holds afterwards is another case."""

    outcome: str
    reason: str
    held: bool = False


def held(case: CaseRecord, world: World) -> str | None:
    """Why the kill switch or a window holds the case, or None."""
    window = windows.permitted(world.windows, case.about.called)
    if world.paused:
        return paused(world)
    return "; ".join(window.reasons) if window.effect else None


def paused(world: World) -> str:
    return f"paused: {world.pause_ends}" if world.pause_ends else "paused"


def lost(case: CaseRecord, world: World) -> Lost | None:
    """Whatever its next step is."""
    if world.enabled(case.rule_id) is None:
        return Lost("suppressed", "rule_disabled")
    why = held(case, world)
    if why is not None:
        return Lost("suppressed", why, held=True)
    if not world.known(case.about):
        return Lost("withdrawn", "target_gone")
    if world.reading(case.about).verdict is False:
        return Lost("withdrawn", "condition_gone")
    return None


def act_lost(case: CommandedCase, world: World) -> Lost | None:
    """Why an act that was planned and not begun may no longer be done: its rule may have lost trust. The brake has
    counted it already."""
    loss = lost(case, world)
    if loss is not None:
        return loss
    window = windows.permitted(world.windows, case.about.called)
    caps = [(window.cap, "; ".join(window.reasons)), *overdue(case, world)]
    risk, stakes = ACTIONS[case.heal.action].risk, at_stake(case, world.hosts.get(case.heal.host), world)
    now = effective(world.trust[case.rule_id], source=case.about.source, caps=caps, stakes=stakes, risk=risk)
    does = behaviour(now.level, risk)
    if does == "execute" or (does == "request_approval" and case.approval_id is not None):
        return None
    return Lost(ENDS.get(does, "withdrawn"), f"level {now.level} by now" if now.lowered is None else str(now.lowered))


def stopped(case: PlanningCase | AwaitingCase, loss: Lost) -> EndCase:
    return EndCase(replace(case, held=case.held or loss.held), loss.outcome, loss.reason)


def not_begun(case: CommandedCase, loss: Lost) -> EndCase:
    """There is nothing to verify, count or undo."""
    ending = replace(case, held=case.held or loss.held).saying(f"not begun: {loss.reason}")
    notifies = loss.outcome == "notified"
    return EndCase(ending, loss.outcome, loss.reason, entry={"executed": False}, notifies=notifies)
