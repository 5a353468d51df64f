"""Automations and runs as they are shown. Inside the caller's transaction."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from opsapp.automations.logic.params import NotificationParams, Targeted
from opsapp.automations.logic.runs import FINAL
from opsapp.automations.records import (
    AutomationRecord,
    AutomationRow,
    AutomationStands,
    RunPart,
    RunRecord,
    RunRow,
    RunSummary,
)
from opsapp.automations.resources import Automation, Run, automations_of, board_of, runs_of
from opsapp.lib.durations import whole
from opsapp.runtime.node import now_of
from opsapp.tree.damage import NAMELESS, Damage
from opsapp.tree.root import Root
from opsapp.wire.records import extended

from . import approval_requests, notices, schedules
from .reach import LOOKED_AT, SeenRuns, narrowed


def rows(root: Root, text: str | None, uses: str | None = None, seen: SeenRuns | None = None) -> list[AutomationRow]:
    """Automations by name; with `text` in their name or description; with `uses` those that name it. `seen`: these
    alone."""
    present, damaged = automations_of(root).parted()
    automations = sorted(present, key=lambda automation: (automation.name.lower(), automation.id))
    if text:
        automations = [automation for automation in automations if _has(automation, text.lower())]
    if uses:
        automations = [automation for automation in automations if _names(automation, uses)]
    if seen is not None:
        automations = [automation for automation in automations if seen.has_automation(automation)]
    unread = [] if text or uses or seen else [_unread(damage) for damage in damaged if damage.id]
    return unread + [row(root, automation) for automation in automations]


def _has(automation: Automation, text: str) -> bool:
    return text in automation.name.lower() or text in automation.settings.description.lower()


def _names(automation: Automation, used: str) -> bool:
    params = automation.params
    agent_id = params.agent_id if isinstance(params, Targeted) else None
    channels = params.channels if isinstance(params, NotificationParams) else ()
    return used in (agent_id, *channels, *params.children, *automation.settings.approvers)


def _unread(damage: Damage) -> AutomationRow:
    """Stands for an automation that cannot be read."""
    name = damage.name or NAMELESS
    row = AutomationRow(damage.id, name=name, type="notification", icon="", schedule=None, timezone=None, enabled=False)
    return replace(row, unreadable=damage.reason)


def row(root: Root, automation: Automation) -> AutomationRow:
    own = automation.settings
    return extended(
        AutomationRow, _standing(root, automation), name=own.name, type=own.type, icon=own.icon,
        schedule=own.schedule, timezone=own.timezone, enabled=own.enabled,
    )  # fmt: skip


def _standing(root: Root, automation: Automation) -> AutomationStands:
    state, plan = automation.state, automations_of(root).plan_for(automation.id)
    following = schedules.next_of(root, automation.id, plan, now_of(root))
    next_run = None if following is None else int(following.at)
    return AutomationStands(automation.id, whole(state.last_run), state.last_status, next_run)


def record(root: Root, automation: Automation) -> AutomationRecord:
    return AutomationRecord(
        **vars(automation.settings),
        **vars(_standing(root, automation)),
        created_at=int(automation.created_at),
        created_by=automation.created_by,
        updated_at=int(automation.definition.made_at),
        running=automation.state.current,
        queued=len(automation.state.waiting),
    )


def run_row(run: Run) -> RunRow:
    own = {"created_at": int(run.created_at), "exit_code": run.exit_code, "attempt": run.attempt}
    return extended(RunRow, notices.summary(run), **own)


def run_record(root: Root, run: Run) -> RunRecord:
    return extended(
        RunRecord,
        run_row(run),
        output=run.output.text(),
        truncated=not run.output.is_whole,
        inputs=run.inputs,
        request_id=run.request_id,
        parent=run.parent,
        parts=tuple(_part(root, *part) for part in run.parts),
    )


def _part(root: Root, step: str, run_id: str, status: str) -> RunPart:
    """The part as it is now: it may end after its parent, whose time was up."""
    part = runs_of(root).find(run_id or None)
    return RunPart(step, run_id or None, status if part is None else part.status)


def page(
    root: Root, automation: Automation | None, status: str | None, limit: int, offset: int, seen: SeenRuns | None = None
) -> tuple[list[RunRow], int]:
    """Runs of an automation or of all, newest first, and how many there are. Only the page's runs and those under way
    are read: an index tells how others ended. `seen`: these alone, of the newest 2,000."""
    if seen is not None:
        looked_at, _ = _newest(root, automation, status, LOOKED_AT)
        own = [run for run in runs_of(root).some(looked_at[:LOOKED_AT]) if seen.has(run)]
        return [narrowed(run_row(run)) for run in own[offset : offset + limit]], len(own)
    ids, count = _newest(root, automation, status, offset + limit)
    return runs_of(root).page_rows(ids[offset : offset + limit], run_row, _unread_run), count


def _newest(root: Root, automation: Automation | None, status: str | None, most: int) -> tuple[list[str], int]:
    """Ids of the newest, at least so many if there are, and how many there are."""
    runs, automation_id = runs_of(root), None if automation is None else automation.id
    ends = [status] if status in FINAL else [] if status else sorted(FINAL)
    under_way = set() if status in FINAL else _under_way(root, automation, status)
    newest = chain(under_way, *(runs.newest_ended(automation_id, end, most) for end in ends))
    return sorted(newest, reverse=True), len(under_way) + runs.count_ended(automation_id, *ends)


def _unread_run(damage: Damage) -> RunRow:
    """Stands for a run that cannot be read: nobody can tell how it ended."""
    told = RunSummary(damage.id, "", NAMELESS, "script", "lost", None, None, None, "", "")
    return extended(RunRow, told, created_at=0, exit_code=None, attempt=1, unreadable=damage.reason)


def _under_way(root: Root, automation: Automation | None, status: str | None) -> set[str]:
    """Ids of runs that have not ended, of an automation or of all: of this status, or any."""
    runs, board = runs_of(root), board_of(root)
    asked = {run.id for run in approval_requests.undecided(root)} if status in ("pending_approval", None) else set()
    if status != "pending_approval":
        asked |= board.under_way() | {*board.queue, *automations_of(root).standings.starting}
    of_automation = asked if automation is None else {run_id for run_id in asked if run_id in automation.history}
    run_ids = {run_id for run_id in of_automation if run_id in runs and not runs.has_ended(run_id)}
    if status is None:
        return run_ids
    return {run_id for run_id, run in runs.some_items(run_ids) if run.status == status}


class OutputPiece(NamedTuple):
    """A run as it stands, and output from a character on: (position, text, when)."""

    run: RunSummary
    over: bool
    size: int
    pieces: list[tuple[int, str, int]]


def piece(root: Root, run_id: str, position: int, most: int, whole: bool) -> OutputPiece | None:
    """What a follower wants next. Not `whole`: nothing of what a command on a host wrote."""
    run = runs_of(root).get(run_id)
    if run is None:
        return None
    if run.commands and not whole:
        return OutputPiece(notices.summary(run), run.is_over, 0, [])
    return OutputPiece(notices.summary(run), run.is_over, run.output.size, list(run.output.since(position, most)))
