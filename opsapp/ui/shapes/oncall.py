"""Who is on call, until when, who is next, and whom incidents called."""

from __future__ import annotations

from typing import NamedTuple

from opsapp.oncall.records import EscalationRecord, OnCallRecord
from opsapp.ui.parts import ESCALATIONS, ON_CALL, POLICY, SCHEDULE, SCHEDULES, SHIFTS
from opsapp.ui.reader import Answers, Reader, TemplateValues

LOOKS = {"running": "warn", "answered": "ok", "over": "ok", "unanswered": "bad", "ended": "unknown"}


class OnCallLine(NamedTuple):
    """`wrong`: what keeps a call from reaching somebody."""

    on: OnCallRecord
    wrong: tuple[str, ...]


class EscalationLine(NamedTuple):
    record: EscalationRecord
    look: str
    called: str


def overview(answers: Answers, reader: Reader) -> TemplateValues:
    calls = answers.known(ESCALATIONS)
    return {
        "lines": [OnCallLine(row, _wrong(row, reader)) for row in answers[ON_CALL]],
        "escalations": None if calls is None else [_escalation(row) for row in calls],
    }


def _wrong(row: OnCallRecord, reader: Reader) -> tuple[str, ...]:
    """Who is in a team is not told by which channels others are reached."""
    wrong = tuple(f"{gone} is no user any more, or is disabled." for gone in row.now.skipped)
    is_told = not reader.limited or row.now.user == reader.username
    unreached = is_told and row.now.user is not None and not row.channels
    return (*wrong, f"No channel answers as {row.now.user}, so calls do not arrive.") if unreached else wrong


def _escalation(record: EscalationRecord) -> EscalationLine:
    called = ", ".join(dict.fromkeys(made.user for made in record.calls))
    return EscalationLine(record, LOOKS[record.status], called or "nobody")


def schedule(answers: Answers, reader: Reader) -> TemplateValues:
    plan = answers[SCHEDULE]
    return {"title": plan.name, "plan": plan, "shifts": answers[SHIFTS]}


def policy(answers: Answers, reader: Reader) -> TemplateValues:
    plan, names = answers[POLICY], {row.id: row.name for row in answers[SCHEDULES]}
    return {"title": plan.name, "plan": plan, "schedules": names}
