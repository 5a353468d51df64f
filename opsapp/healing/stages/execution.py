"""Stage 3, execution: snapshot, action, settle, rollback: what each answer of the host leads to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from opsapp.wire.actions import Action

# States of a command in which nobody ever started it.
UNSTARTED = ("expired", "cancelled")


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


def after_action(answer: Mapping[str, Any]) -> Next:
    """Whether the action ran; what it did is for verification to say."""
    status, said = answer["status"], answer.get("reason") or ""
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
