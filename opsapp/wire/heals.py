"""What one step of a heal comes to: how long it settles, what a host's answer means, what follows from its verdict.

The server's stages and an agent that is alone decide with this module. Pure.
Must not: ask, wait, write, or know a case.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional, Tuple

from .actiontypes import Action
from .fields import JsonObject
from .verdicts import FAILED, INCONCLUSIVE, VERIFIED

LOST, ROLLED_BACK = "lost", "rolled_back"
# States of a command in which nobody ever started it.
UNSTARTED = ("expired", "cancelled")
# What an agent says when it, or the service manager, refuses before anything is done.
REFUSALS = (
    "no_capable_handler", "protected", "no_snapshot", "stale_token", "bad_params", "no_space", "refused by the agent",
    "masked",
)  # fmt: skip


class HostAnswer(NamedTuple):
    status: str
    reason: Optional[str] = None
    exit_code: Optional[int] = None
    snapshot: Optional[JsonObject] = None
    armed: bool = False  # it will be undone unless it is confirmed
    undone: Optional[bool] = None  # what failed half-way was put back; None: there was nothing to put back
    kept: Optional[bool] = None
    restored: bool = False
    looked_for: Tuple[str, ...] = ()
    unfit: Tuple[str, ...] = ()
    looked: bool = False  # the agent looked for the cause when it failed
    cause: Optional[JsonObject] = None
    output: str = ""

    @classmethod
    def read(cls, answer: Mapping[str, Any]) -> HostAnswer:
        data = answer.get("data") or {}
        return cls(
            answer["status"],
            answer.get("reason"),
            answer.get("exit_code"),
            snapshot=data.get("snapshot"),
            armed=bool(data.get("armed_s")),
            undone=data.get("undone"),
            kept=data.get("kept"),
            restored=bool(data.get("restored")),
            looked_for=tuple(data.get("looked_for") or ()),
            unfit=tuple(data.get("unfit") or ()),
            looked="cause" in data,
            cause=data.get("cause"),
            output=str(answer.get("output") or ""),
        )

    @property
    def said(self) -> str:
        return self.reason or self.status

    @property
    def was_tried(self) -> bool:
        """What was never begun is no evidence about the action."""
        refused = (self.reason or "").partition(":")[0] in REFUSALS and self.status == "failed"
        return self.status not in UNSTARTED and not refused


class StepEnd(NamedTuple):
    """`verdict`: what was known of an act that was undone, where that is not that it failed."""

    outcome: str
    reason: str
    rollback_status: Optional[str] = None
    verdict: Optional[str] = None


def settle_of(action: Action, wanted_s: Optional[float]) -> float:
    """The settle time, not less than the action needs: a host that is about to reboot still looks as it did."""
    return action.settle if wanted_s is None else max(action.least_settle, wanted_s)


def broken(answer: HostAnswer) -> Optional[StepEnd]:
    """How the step ends where its action did not run well; None where it did: what that helped, looks say."""
    if answer.status == "done" and not answer.exit_code:
        return None
    outcome, reason = LOST if answer.status == LOST else FAILED, _failure(answer)
    if answer.undone is None:
        return StepEnd(outcome, reason)
    if answer.undone:
        return StepEnd(ROLLED_BACK, f"{reason}; undone", ROLLED_BACK)
    return StepEnd(outcome, f"{reason}; not undone yet", FAILED)


def _failure(answer: HostAnswer) -> str:
    why = answer.reason or ""
    if why == "no_capable_handler" and answer.looked_for:
        unfit = f"; not for this: {', '.join(answer.unfit)}" if answer.unfit else ""
        why = f"{why}: looked for {', '.join(answer.looked_for)}{unfit}"
    if answer.status == LOST:
        return why or "nobody can tell whether the action ran"
    if answer.status in UNSTARTED:
        return f"host_offline: the action's command is {answer.status}"
    return why or f"the action ended {answer.status}, exit code {answer.exit_code}"


def afterwards(outcome: str, action: Action, is_kept: bool) -> str:
    """`close`, `rollback` or `escalate`; `is_kept`: the state from before is. What is not known is never rolled back,
    but for what may have cut the host off: nobody confirms that, so its agent undoes it, and all that is left is to
    hear of it."""
    if outcome == VERIFIED:
        return "close"
    back = outcome == FAILED or (outcome == INCONCLUSIVE and action.armed_s is not None)
    return "rollback" if back and action.reversible and is_kept else "escalate"


def rolled_back(verdict: str, doubt: str, answer: HostAnswer) -> StepEnd:
    """A rollback that failed is said, and the step stays what it was."""
    if answer.status != "done" or not answer.restored:
        return StepEnd(verdict, f"{doubt}; rollback failed: {answer.said}", FAILED)
    return StepEnd(ROLLED_BACK, f"{doubt}; restored", ROLLED_BACK, None if verdict == FAILED else verdict)


def escalates(outcome: str, has_next: bool) -> bool:
    """What nobody can tell about is left alone."""
    return has_next and outcome not in (VERIFIED, LOST)


def used_up(done: int, limit: int) -> bool:
    return done >= limit
