"""A request for approval as a question with its risk, its record and its end. Who may decide the API says
(`refusal`)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from opsapp.approvals.records import ApprovalRecord, PlanShown, TimesHelped
from opsapp.lib.alike import gathered
from opsapp.ui.reader import Reader
from opsapp.ui.sentences import NameBook, Sentence, Word, asked_for, case, count, said, sentence_of, span
from opsapp.wire.records import made

APPROVE = "POST /api/approvals/{request_id}/approve"
RISKS = {
    "low": "Low: rules with full trust do this without asking.",
    "medium": "Medium: may interrupt what uses it.",
    "high": "High: a person always decides this.",
}
NOBODY = {"run": "If nobody decides, it does not run.", "proposal": "If nobody decides, nothing is done."}
RESTORES = "restore the "
SHORT_LIST = 4
ENDS = {
    "approved": "Approved",
    "rejected": "Rejected",
    "expired": "Nobody decided in time",
    "withdrawn": "Not needed any more",
}


class Question(NamedTuple):
    """`share`: of its time that is left, in per cent; `refusal`: why its reader may not decide. `about` tells it from
    equal ones, which are `others` on one card."""

    row: ApprovalRecord
    plan: PlanShown
    title: Sentence
    place: str
    because: Sentence
    does: str
    risk: str
    record: str
    undo: str
    otherwise: str
    left: str
    share: int
    who: str
    refusal: str
    mine: bool
    why: Word | str
    about: str
    others: tuple[Question, ...] = ()

    @property
    def members(self) -> tuple[Question, ...]:
        return self, *(other._replace(others=()) for other in self.others)


def cards(asked: Iterable[Question]) -> list[Question]:
    """Equal requests are one card; whoever decides first on top, of these who has the least time."""
    ordered = sorted(asked, key=lambda question: (not question.mine, question.row.expires_at))
    return [first._replace(others=tuple(others)) for first, *others in gathered(ordered, _same, lambda _: 0, fewest=2)]


def _same(question: Question) -> tuple[object, ...] | None:
    """What would be done, why, at which risk, and what its reader may do."""
    row, plan = question.row, question.plan
    if plan.targets or row.quorum > 1 or row.votes:
        return None
    done = (plan.rule_id, plan.condition, question.does) if row.kind == "heal" else json.dumps(row.plan)
    return row.kind, row.automation_id, done, question.risk, question.undo, question.refusal, question.mine


def question(record: ApprovalRecord, names: NameBook, reader: Reader) -> Question:
    heals, proposed = record.kind == "heal", record.kind == "proposal"
    plan, whole = made(PlanShown, record.plan), max(1, record.expires_at - record.requested_at)
    left = max(0.0, record.expires_at - reader.now)
    refusal = "" if reader.may(APPROVE) else "Operators and admins decide."
    refusal = refusal or record.refusal or ""
    return Question(
        record,
        plan,
        _title(record, plan, names),
        f"/approvals/{record.request_id}",
        _because(record),
        command(plan) if plan.action else "",
        RISKS.get(record.risk or "", "Not rated: it does what its author wrote."),
        _record(record.record),
        _undo(plan) if heals or proposed else "A run cannot be undone.",
        "If nobody decides, nothing is done and people are notified." if heals else NOBODY[record.kind],
        _left(left),
        round(100 * min(1.0, left / whole)),
        _who(record),
        refusal,
        not refusal and record.status == "pending",
        case(record.case_id),
        "".join(word.text for word in names.target(record.subject)) if heals else f"for {record.requested_by}",
    )


def _title(record: ApprovalRecord, plan: PlanShown, names: NameBook) -> Sentence:
    at, what = record.requested_at, asked_for(record)
    if record.kind == "heal":
        host = plan.hostname
        where = names.target(record.subject)
        on = (Word(" for "), *where) if host and host != record.subject.partition("/")[0] else (Word(" on "), *where)
        return said(at, "icon:check", "May the machine run ", Word(what, strong=True), on, "?")
    who = record.requested_by
    if record.kind == "proposal" and plan.what == "rule":
        return said(at, "icon:check", "May the rule ", Word(what, strong=True), f" of the {who} be added?")
    if record.kind == "proposal":
        on = names.target(record.subject)
        return said(at, "icon:check", "May ", Word(what, strong=True), " run on ", *on, f" for the {who}, once?")
    who = f"the {who}" if record.assistant else who
    asker = "its webhook" if who == "webhook" else "the schedule" if who == "schedule" else who
    return said(at, "icon:check", "May ", Word(what, strong=True), f" run for {asker}?")


def _because(record: ApprovalRecord) -> Sentence:
    at = record.requested_at
    if record.assistant:  # its own words
        return said(at, "", f"The {record.requested_by} says: “{record.reason}”")
    return said(at, "", sentence_of(record.reason))


def command(plan: PlanShown) -> str:
    given = [value for value in plan.given.values() if value is not None]
    values = [value if isinstance(value, str) else json.dumps(value) for value in given]
    return " ".join([plan.action, *values]).strip()


def _record(record: TimesHelped | None) -> str:
    if record is None:
        return ""
    if not record.total:
        return "never done before"
    return f"helped {record.helped} of {count(record.total, 'time')}"


def _undo(plan: PlanShown) -> str:
    how = plan.rollback or ""
    if plan.what == "rule":
        return "The rule can be deleted again."
    if how.startswith(RESTORES):
        return f"Puts the {how.removeprefix(RESTORES).removesuffix(' snapshot')} back as it was."
    return "Cannot be undone."


def _left(seconds: float) -> str:
    if seconds <= 0:
        return "over"
    return f"{int(seconds // 60)}:{int(seconds % 60):02} left" if seconds < 3600 else f"{span(seconds)} left"


def _who(record: ApprovalRecord) -> str:
    names = record.approvers
    some = ", ".join(names[:SHORT_LIST]) + (" and others" if len(names) > SHORT_LIST else "")
    by_admin = record.assistant is not None and record.assistant.needs == "admin"
    told = some if names else "an admin" if by_admin else "any operator"
    missing = record.quorum - sum(vote.vote == "approve" for vote in record.votes)
    more = f", {count(missing, 'more vote')} needed" if record.quorum > 1 and record.status == "pending" else ""
    return told + more


def outcome(record: ApprovalRecord) -> str:
    by = f" by {record.decided_by}" if record.decided_by else ""
    return ENDS.get(record.status, "Waits") + by
