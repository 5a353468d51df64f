"""What agents have answered to a run's commands, read from the store: it becomes output, and in the end the outcome."""

from __future__ import annotations

from opsapp.agents import engine as agents
from opsapp.automations.logic.references import Missing
from opsapp.automations.logic.runs import CUT, readable, succeeded
from opsapp.automations.resources import Run, board_of, run_of
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.masks import masked
from opsapp.tree.root import Root

from .agent_commands import revealed
from .flow import end
from .notices import write


def awaited(root: Root) -> bool:
    return bool(board_of(root).remote)


def look(root: Root, now: float) -> bool:
    """Take up what agents have answered; whether anything was."""
    changed = False
    for run_id in list(board_of(root).remote):
        run = run_of(root, run_id)
        if run is None or run.is_over:
            board_of(root).remote.remove(run_id)
        else:
            changed = _take_answers(root, run, now) or changed
    return changed


def _take_answers(root: Root, run: Run, now: float) -> bool:
    rows, changed = list(run.commands), False
    for at, (agent_id, label, command_id, status) in enumerate(rows):
        answer = None if status else agents.answer_of(root, agent_id, command_id)
        if answer is not None:
            rows[at] = (agent_id, label, command_id, answer["status"])
            _write_answer(root, run, label, answer, len(rows) > 1, now)
            changed = True
            if len(rows) == 1:
                run.exit_code = answer["exit_code"]
    if not changed:
        return False
    run.commands = tuple(rows)
    if all(status for _, _, _, status in rows):
        _all_answered(root, run, now)
    return True


def _write_answer(root: Root, run: Run, label: str, answer: JsonObject, several: bool, now: float) -> None:
    try:
        text = masked(readable(answer["output"] or ""), list(revealed(root, run.definition.secret_names).values()))
    except Missing as closed:
        text = f"[not shown, for its secrets cannot be found in it: {closed}]"
    cut = CUT if answer["truncated"] else ""
    if several:
        text = f"[{label}: {answer['status']}]\n" + text + (cut or ("" if text.endswith("\n") or not text else "\n"))
    else:
        text = _not_seen_yet(run, text) + cut
    write(root, run, text, now)
    if cut:
        run.output.came_cut = True


def _not_seen_yet(run: Run, text: str) -> str:
    """What of the whole output has not come while it ran."""
    seen = run.output.text()[run.wrote_before :]
    if text.startswith(seen):
        return text[len(seen) :]
    return "" if seen.startswith(text) else f"\n[the output as the agent has it at the end:]\n{text}"


def _all_answered(root: Root, run: Run, now: float) -> None:
    statuses = [("failed" if status == "expired" else status) for _, _, _, status in run.commands]
    status = succeeded(statuses)
    bad = [f"{label}: {how}" for _, label, _, how in run.commands if how != "done"]
    if run.cancelled_by is not None and status != "done":
        status = "cancelled"
    reason = run.reason if status == "cancelled" else "; ".join(bad) or None
    if reason and len(run.commands) == 1 and status != "cancelled":
        agent_id, _, command_id, _ = run.commands[0]
        record = agents.command_of(root, agent_id, command_id)
        reason = (record and record.reason) or reason
    end(root, run, status, now, reason=reason and reason[:500], exit_code=run.exit_code)
