"""Whether what a case is about to do is still wanted: asked before each step, before each act, and as long as what was
asked for has not left.

A host may be away between the plan and the act for as long as a command waits. Must not: judge what has been done.
"""

from __future__ import annotations

from typing import NamedTuple

from opsapp.healing.logic import windows
from opsapp.healing.logic.levels import behaviour
from opsapp.healing.logic.rules import names_of
from opsapp.healing.resources.cases import Case
from opsapp.healing.stages.planning import ENDS
from opsapp.healing.stages.trust import effective
from opsapp.wire.actions import ACTIONS

from . import entries, notifications
from .context import PipelineContext

RECALLED = ("snapshot", "execute")  # phases that bring nothing to an end


class Lost(NamedTuple):
    """How the case ends instead."""

    outcome: str
    reason: str


def held(context: PipelineContext, case: Case) -> str | None:
    """The kill switch, or a window that stops healing. What still holds afterwards is another case."""
    window = windows.permitted(context.world.windows, _names(case))
    if not (context.world.paused or window.effect):
        return None
    case.set(held=True)
    return "paused" if context.world.paused else "; ".join(window.reasons)


def lost(context: PipelineContext, case: Case) -> Lost | None:
    """What takes the ground from under a case, whatever its next step is."""
    rule = context.world.rules.get(case.fields["rule_id"])
    if rule is None or not rule["enabled"]:
        return Lost("suppressed", "rule_disabled")
    why = held(context, case)
    if why is not None:
        return Lost("suppressed", why)
    if not context.world.known(case.fields):
        return Lost("withdrawn", "target_gone")
    if context.world.reading(case.fields).verdict is False:
        return Lost("withdrawn", "condition_gone")
    return None


def act_lost(context: PipelineContext, case: Case) -> Lost | None:
    """The same of an act that was planned and not begun: its rule may have lost the trust that it was planned with. The
    brake has counted it already."""
    found = lost(context, case)
    if found is not None:
        return found
    window = windows.permitted(context.world.windows, _names(case))
    caps = [(window.cap, "; ".join(window.reasons))]
    trust = context.world.trust[case.fields["rule_id"]]
    level = effective(trust, source=case.fields["source"], caps=caps).level
    does = behaviour(level, ACTIONS[case.fields["action"]].risk)
    if does == "execute" or (does == "request_approval" and case.fields["approval_id"] is not None):
        return None
    return Lost(ENDS.get(does, "withdrawn"), f"level {level} by now")


def recall(context: PipelineContext, case: Case) -> bool:
    """Take back what was asked for and has not left, if nothing wants it any more; whether the case has ended."""
    if case.fields["phase"] not in RECALLED or case.fields.get("manual"):
        return False
    found = act_lost(context, case)
    if found is None or not context.fleet.recall(context.root, case.fields["host"], case.fields["command_id"]):
        return False
    end(context, case, found)
    return True


def end(context: PipelineContext, case: Case, found: Lost) -> None:
    """Nothing has been done: there is nothing to verify, to count, or to undo."""
    context.book.acting.discard(case.fields["id"])
    context.healing.snapshots.pop(case.fields["entry_id"], None)
    case.why(f"not begun: {found.reason}")
    if found.outcome == "notified":
        notifications.notified(context, case.fields, found.reason)
    entries.finish_step(context, case, found.outcome, found.reason, executed=False)


def _names(case: Case) -> tuple[str, ...]:
    return (*names_of(case.fields["target"]), *case.fields.get("names", ()))
