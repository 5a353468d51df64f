"""Whether what a case is about to do is still wanted: asked before each step, before each act, and as long as what was
asked for has not left.

A host may be away between the plan and the act for as long as a command waits. Must not: judge what has been done.
"""

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
    """How the case ends instead. `held`: by a pause or a window; what still holds afterwards is another case."""

    outcome: str
    reason: str
    held: bool = False


def held(case: CaseRecord, world: World) -> str | None:
    """The kill switch, or a window that stops healing."""
    window = windows.permitted(world.windows, case.about.called)
    if world.paused:
        return paused(world)
    return "; ".join(window.reasons) if window.effect else None


def paused(world: World) -> str:
    return f"paused: {world.pause_ends}" if world.pause_ends else "paused"


def lost(case: CaseRecord, world: World) -> Lost | None:
    """Why a case has nothing to go on any more, whatever its next step is."""
    rule = world.rules.get(case.rule_id)
    if rule is None or not rule.enabled:
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
    """The same of an act that was planned and not begun: its rule may have lost the trust that it was planned with. The
    brake has counted it already."""
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
    """Before anything was begun."""
    return EndCase(replace(case, held=case.held or loss.held), loss.outcome, loss.reason)


def not_begun(case: CommandedCase, loss: Lost) -> EndCase:
    """Nothing has been done: there is nothing to verify, to count, or to undo."""
    ending = replace(case, held=case.held or loss.held).saying(f"not begun: {loss.reason}")
    notifies = loss.outcome == "notified"
    return EndCase(ending, loss.outcome, loss.reason, entry={"executed": False}, notifies=notifies)
