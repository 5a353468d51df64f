"""Stage 3, execution: snapshot, action, settle, rollback: what each answer of the host leads to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from opsapp.wire.actions import Action

# States of a command in which nobody ever started it.
UNSTARTED = ("expired", "cancelled")
# What an agent says when it refuses before it does anything.
REFUSALS = (
    "no_capable_handler", "protected", "no_snapshot", "stale_token", "bad_params", "no_space", "refused by the agent",
)  # fmt: skip


class Next(NamedTuple):
    """What follows an answer: `act`, `settle`, or `end` with an outcome for this step."""

    kind: str
    outcome: str | None = None
    reason: str = ""


def after_snapshot(answer: Mapping[str, Any], action: Action) -> tuple[Next, dict[str, Any] | None]:
    """A reversible action does not start without its snapshot; another says that it is missing."""
    snapshot = (answer.get("data") or {}).get("snapshot")
    if answer["status"] == "done" and snapshot is not None:
        return Next("act"), snapshot
    if answer["status"] in UNSTARTED:
        return Next("end", "failed", f"host_offline: the snapshot's command is {answer['status']}"), None
    said = answer.get("reason") or answer["status"]
    if action.reversible:
        return Next("end", "failed", f"no_snapshot: {said}"), None
    return Next("act", reason=f"snapshot missing: {said}"), None


def was_tried(answer: Mapping[str, Any]) -> bool:
    """Whether an action that failed was begun at all: what was not is no evidence about the action."""
    refused = (answer.get("reason") or "").partition(":")[0] in REFUSALS and answer["status"] == "failed"
    return answer["status"] not in UNSTARTED and not refused


def _said(answer: Mapping[str, Any]) -> str:
    """The agent's reason; of a missing handler with the tools that it looked for."""
    said, data = answer.get("reason") or "", answer.get("data") or {}
    if said != "no_capable_handler" or not data.get("looked_for"):
        return said
    unfit = f"; not for this: {', '.join(data['unfit'])}" if data.get("unfit") else ""
    return f"{said}: looked for {', '.join(data['looked_for'])}{unfit}"


def after_action(answer: Mapping[str, Any]) -> Next:
    """Whether the action ran; what it did is for verification to say."""
    status, said = answer["status"], _said(answer)
    if status == "done" and not answer.get("exit_code"):
        return Next("settle")
    if status == "lost":
        return Next("end", "lost", said or "nobody can tell whether the action ran")
    if status in UNSTARTED:
        return Next("end", "failed", f"host_offline: the action's command is {status}")
    return Next("end", "failed", said or f"the action ended {status}, exit code {answer.get('exit_code')}")


def rollback_plan(action: Action | None, snapshot: Mapping[str, Any] | None) -> dict[str, Any]:
    """What would bring the host back, in words for the dry run and the approval."""
    if action is None:
        return {"reversible": False, "how": "nothing is done"}
    if not action.reversible:
        return {"reversible": False, "how": f"{action.name} cannot be reversed"}
    return {"reversible": True, "how": f"restore the {action.rollback} snapshot", "snapshot": snapshot is not None}
