"""What a link in a message asks, for who is not signed in: no more than a viewer may see."""

from __future__ import annotations

from typing import NamedTuple

from opsapp.approvals.records import ApprovalRecord
from opsapp.monitoring.records import IncidentRecord
from opsapp.ui.reader import Reader
from opsapp.ui.sentences import NameBook, span

from .approvals import facts, script_of
from .requests import question


class AskedLine(NamedTuple):
    name: str
    text: str
    code: bool = False


class LinkQuestion(NamedTuple):
    title: str
    because: str
    lines: tuple[AskedLine, ...]
    script: str = ""


def of_approval(record: ApprovalRecord, reader: Reader) -> LinkQuestion:
    asked = question(record, NameBook(), reader)
    lines = [AskedLine("Action", asked.does, code=True)] if asked.does else []
    lines += [AskedLine(fact.name, f"{fact.word.text} {fact.more}".strip(), fact.word.code) for fact in facts(asked)]
    lines += [
        AskedLine("Risk", asked.risk),
        AskedLine("Before", asked.record),
        AskedLine("Undo", asked.undo),
        AskedLine("Time", asked.left),
    ]
    return LinkQuestion(asked.title.text, asked.because.text, tuple(lines), script_of(asked.plan))


def of_incident(incident: IncidentRecord, reader: Reader) -> LinkQuestion:
    name, lasts = incident.monitor_name, span(max(0, reader.now - incident.started))
    title = f"{name} is down" if incident.monitor_id else name  # of no monitor: another system told of it
    lines = (AskedLine("Cause", incident.cause or "not known"), AskedLine("For", lasts))
    return LinkQuestion(title, "Take it over, so that others know that you look after it.", lines)
