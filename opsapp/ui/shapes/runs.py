"""One run of an automation: how it stands, its parts as a ladder, where its output is followed."""

from __future__ import annotations

from typing import NamedTuple

from opsapp.automations.records import RunPart, RunRow
from opsapp.tracing.interfaces import trace_of_run
from opsapp.ui.parts import AUTOMATION, RUN
from opsapp.ui.reader import Answers, Reader, TemplateValues
from opsapp.ui.words import rough_span, spoken

from .command import is_unseen

OPEN = ("pending_approval", "queued", "running")
STATES = {  # status -> (kind, word, what it means)
    "pending_approval": ("warn", "Waits for approval", "Somebody has to approve it. Who asked for it may not."),
    "queued": ("warn", "Waits", "It waits until it may begin."),
    "running": ("heal", "Runs", ""),
    "done": ("ok", "Done", ""),
    "failed": ("bad", "Failed", ""),
    "timeout": ("bad", "Out of time", "It took longer than it may."),
    "cancelled": ("off", "Cancelled", ""),
    "rejected": ("off", "Rejected", "Somebody decided that it shall not run."),
    "lost": ("bad", "Lost", "Nobody knows how it ended."),
}


class RunShown(NamedTuple):
    row: RunRow
    kind: str
    word: str
    words: str
    at: int
    took: str
    by: str
    under_way: bool


class RunPartShown(NamedTuple):
    part: RunPart
    kind: str
    word: str


def shown_of(run: RunRow, now: float) -> RunShown:
    kind, word, words = STATES[run.status]
    began = run.started
    took = "" if began is None else rough_span((run.finished or now) - began)
    whence, _, _ = run.origin.partition(":")
    origin = "" if whence in ("", "manual") else f", {spoken(whence).lower()}"
    return RunShown(
        run,
        kind,
        word,
        run.reason or words,
        began or run.created_at,
        took,
        f"{run.requested_by}{origin}",
        run.status in OPEN,
    )


def shape(answers: Answers, reader: Reader) -> TemplateValues:
    run = answers[RUN]
    shown, unseen = shown_of(run, reader.now), is_unseen(run.output, reader)
    return {
        "title": f"Run of {run.name}",
        "it": shown,
        "output": "" if unseen else run.output,
        "unseen": unseen,
        "waits_for": run.request_id if run.status == "pending_approval" else None,
        "inputs": sorted(run.inputs.items()),
        "parts": [part_of(part) for part in run.parts],
        "follow": f"/api/automations/runs/{run.run_id}/stream" if shown.under_way else None,
        "trace": trace_of_run(run) if reader.traced else None,
        "row": run,
        "automation": answers.known(AUTOMATION),
    }


def part_of(part: RunPart) -> RunPartShown:
    kind, word, _ = STATES.get(part.status, ("off", spoken(part.status), ""))
    return RunPartShown(part, kind, word)
