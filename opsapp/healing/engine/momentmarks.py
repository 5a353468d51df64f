"""The marks of a moment: what went down, was healed, asked, decided, planned and run, and what was foreseen.

Each kind is found by an index of its time, in the caller's transaction. Must not: read all that there ever was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from opsapp.automations.engine import runs_in, runs_on
from opsapp.automations.resources import Run
from opsapp.healing.logic.moments import AskedSpan
from opsapp.healing.moments import MomentMark
from opsapp.healing.resources import healing_of
from opsapp.healing.stages.ledger import LedgerRecord
from opsapp.lib.jsontypes import JsonObject
from opsapp.maintenance.engine import covers, occurrences
from opsapp.maintenance.resources import plans_of
from opsapp.monitoring.resources import Incident, Monitor, incidents_of
from opsapp.runtime.projection import child_of
from opsapp.tree.root import Root

BEFORE_S = 3600  # what began so long before may have lasted into the time
MOST = 60  # of each kind
MOST_TIMES = 40  # of one window
LOOKS = {"verified": "heal", "failed": "bad", "lost": "bad", "rolled_back": "warn", "inconclusive": "warn"}
LEFT_ALONE = ("suppressed", "skipped", "simulated", "withdrawn")
NOTES = {"acknowledged": "took it", "assigned": "handed it over"}


class FoundMarks(NamedTuple):
    marks: list[MomentMark]
    left_out: int


def entries_of(root: Root, names: Iterable[str], span: AskedSpan) -> list[LedgerRecord]:
    """What healing wrote of these targets in that time, the oldest first."""
    ledger = healing_of(root)["ledger"]
    known = {
        entry.id: entry
        for name in names
        for entry in ledger.between(name, span.since - BEFORE_S, span.until, MOST)
        if (entry.finished_at or span.until) >= span.since
    }
    return [known[number] for number in sorted(known)]


def marks_of(
    root: Root,
    agent_id: str | None,
    names: Collection[str],
    monitors: Collection[Monitor],
    about: Incident | None,
    entries: Iterable[LedgerRecord],
    span: AskedSpan,
) -> FoundMarks:
    """Of a host and monitors, or `about` an incident of them: of runs it has only its own. The oldest first."""
    incidents = [
        incident for monitor in monitors for incident in incidents_of(root).touching(span.since, span.until, monitor.id)
    ]
    incidents += [about] if about is not None and not monitors else []
    ids = {*names, *(monitor.id for monitor in monitors), *([agent_id] if agent_id else [])}
    kinds = [
        [mark for incident in incidents for mark in _of_incident(incident)],
        [mark for entry in entries for mark in _of_entry(root, entry)],
        list(_windows(root, ids, span)),
        [mark for run in _runs(root, agent_id, about, span) for mark in _of_run(run)],
        list(_foreseen(root, names)),
    ]
    within = [
        sorted((mark for mark in marks if _is_within(mark, span)), key=lambda mark: mark.since) for marks in kinds
    ]
    shown = [mark for marks in within for mark in marks[-MOST:]]
    return FoundMarks(sorted(shown, key=lambda mark: mark.since), sum(max(0, len(marks) - MOST) for marks in within))


def _is_within(mark: MomentMark, span: AskedSpan) -> bool:
    return mark.since <= span.until and (mark.since if mark.until is None else mark.until) >= span.since


def _of_incident(incident: Incident) -> Iterator[MomentMark]:
    place = f"/incidents/{incident.id}"
    cause = f": {incident.cause}" if incident.cause else ""
    yield MomentMark(
        "outage", incident.started, incident.resolved, "bad", f"{incident.monitor_name} was down{cause}", place
    )
    for note in incident.updates:
        words = f"{note.user} {NOTES.get(note.stage, 'wrote: ' + note.message)}"
        yield MomentMark("people", note.time, None, "icon:user", words, place)


def _of_entry(root: Root, entry: LedgerRecord) -> Iterator[MomentMark]:
    place = f"/healing/cases/{entry.case_id}"
    if entry.approval_id is not None:
        yield from _asked(child_of(root["api"]["approvals"], "approval", entry.approval_id), entry)
    if entry.executed or entry.state in ("executing", "settling", "verifying"):
        words = f"{entry.rule_id}: {_act(entry)}, {_spoken(entry.outcome or entry.state)}"
        yield MomentMark(
            "machine", entry.created_at, entry.finished_at, LOOKS.get(entry.outcome or "", "heal"), words, place
        )
    elif entry.outcome not in (None, "observed", "absorbed"):
        why = f", {entry.reason}" if entry.reason else ""
        words = f"{entry.rule_id} on {_target(entry.target)}: {_spoken(entry.outcome)}{why}"
        look = "hid" if entry.outcome in LEFT_ALONE else "warn"
        yield MomentMark("machine", entry.created_at, None, look, words, place)


def _asked(approval: object, entry: LedgerRecord) -> Iterator[MomentMark]:
    """A question, and what people said to it."""
    if approval is None:
        return
    fields: JsonObject = vars(approval)
    place, act = f"/approvals/{entry.approval_id}", _act(entry)
    yield MomentMark("people", int(fields["requested_at"]), None, "icon:bell", f"asked: {act}?", place)
    if fields["decided_at"] is not None:
        words = f"{fields['decided_by'] or 'nobody'}: {fields['status']} {act}"
        yield MomentMark("people", int(fields["decided_at"]), None, "icon:check", words, place)


def _act(entry: LedgerRecord) -> str:
    return f"{_spoken(entry.action_type)} on {_target(entry.target)}"


def _target(name: str) -> str:
    host, _, part = name.partition("/")
    return f"{host}, {part}" if part else host


def _spoken(word: str | None) -> str:
    return (word or "").replace("_", " ")


def _windows(root: Root, ids: Collection[str], span: AskedSpan) -> Iterator[MomentMark]:
    for plan in plans_of(root):
        if covers(plan, ids):
            for time in occurrences(plan, span.since, span.until, MOST_TIMES):
                yield MomentMark(
                    "planned",
                    int(time.start),
                    int(time.end),
                    "maint",
                    f"Maintenance: {plan.name or plan.effect}",
                    "/maintenance",
                )


def _runs(root: Root, agent_id: str | None, about: Incident | None, span: AskedSpan) -> list[Run]:
    if about is not None:
        return runs_in(root, about.id, agent_id, about.started, about.resolved or span.until)
    return [] if agent_id is None else runs_on(root, agent_id, span.since - BEFORE_S, span.until, MOST)


def _of_run(run: Run) -> Iterator[MomentMark]:
    if run.started is not None:
        ended = None if run.finished is None else int(run.finished)
        words = f"{run.name}, {_spoken(run.status)}, asked for by {run.requested_by}"
        look = "icon:play" if run.status in ("done", "running") else "warn"
        yield MomentMark("run", int(run.started), ended, look, words, f"/automations/runs/{run.id}")


def _foreseen(root: Root, names: Collection[str]) -> Iterator[MomentMark]:
    for (source, rule_id, target), at in healing_of(root).foresight.told.items():
        if target.partition("/")[0] in names:
            yield MomentMark(
                "machine",
                int(at),
                None,
                "icon:trend",
                f"{_spoken(source)} told: {rule_id} on {_target(target)}",
                "/healing/forecasts",
            )
