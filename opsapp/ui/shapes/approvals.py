"""Requests for approval: what waits for its reader, what was decided, and one with all that it covers."""

from __future__ import annotations

import json
from collections.abc import Mapping

from opsapp.approvals.records import ApprovalRecord, PlanShown
from opsapp.healing.answers import CaseShown
from opsapp.ui import sentences
from opsapp.ui.parts import APPROVALS, CASE, DECIDED, OVERVIEW, REQUEST
from opsapp.ui.reader import Answers, Reader, TemplateValues
from opsapp.ui.sentences import Word, case, count, place_of, span, target_words

from . import proposals
from .proposals import Fact
from .requests import Question, cards, outcome, question
from .stands import names_of

PENDING = "pending"
CODE_LINES = 200


def listing(answers: Answers, reader: Reader) -> TemplateValues:
    names = names_of(answers.known(OVERVIEW))
    asked = [question(record, names, reader) for record in answers[APPROVALS]]
    mine = sum(asked_question.mine for asked_question in asked)
    others = len(asked) - mine
    told = f"{count(mine, 'decision is', 'decisions are')} yours." if mine else "No decision waits for you."
    return {
        "heading": told,
        "sub": f"{count(others, 'request waits', 'requests wait')} for somebody else." if others else "",
        "asked": cards(asked),
        "decided": [(sentences.approval(record, names), outcome(record)) for record in answers[DECIDED]],
    }


def one(answers: Answers, reader: Reader) -> TemplateValues:
    record = answers[REQUEST]
    asked = question(record, names_of(answers.known(OVERVIEW)), reader)
    return {
        "title": asked.title.text,
        "it": asked,
        "pending": record.status == PENDING,
        "ended": outcome(record),
        "becomes": _becomes(asked),
        "facts": facts(asked),
        "alone": _alone(answers.known(CASE), reader.now),
        "script": script_of(asked.plan),
        "whatif": proposals.what_if(record),
    }


def _becomes(asked: Question) -> Word | None:
    record = asked.row
    if record.status != "approved":
        return None
    if record.kind == "proposal":
        return _begun(asked)
    if record.run_id:
        return Word("Open the run", f"/automations/runs/{record.run_id}")
    return Word("Open the heal", f"/healing/cases/{record.case_id}") if record.case_id else None


def _begun(asked: Question) -> Word:
    """Of a proposal: its rule, or what the rule of a single action has done."""
    if asked.plan.what == "action":
        return Word("See what it did", f"/healing/ledger?rule_id=once-{asked.row.request_id}")
    rule_id = (asked.plan.rule or {}).get("id")
    return Word("Open the rule", f"/healing/rules/{rule_id}") if rule_id else Word("Open the rules", "/healing/rules")


def _alone(case: CaseShown | None, now: float) -> str:
    """What was agreed to may be left alone first."""
    if case is None or case.state != "awaiting_approval":
        return ""
    left = (case.left_until or 0) - now
    if left <= 0:
        return ""
    return f"It is left alone for {span(left)} more, to learn whether it helps. If it does not recover, it is healed."


def facts(asked: Question) -> list[Fact]:
    record, plan = asked.row, asked.plan
    if record.kind == "proposal":
        told = [*proposals.facts(plan), *_given(plan.given)]
    else:
        told = _of_heal(plan) if record.kind == "heal" else _of_run(record, plan)
    asker = "The machine" if record.requested_by == "healing" else record.requested_by
    told += proposals.asker(record) or [Fact("Asked by", Word(asker, strong=True))]
    if record.proposal:
        told.append(Fact("Allowed with", Word("the proposal", f"/approvals/{record.proposal}")))
    return [*told, Fact("Digest", Word(record.digest, code=True))] if record.digest else told


def _of_heal(plan: PlanShown) -> list[Fact]:
    rule = plan.rule_id
    facts = [Fact("Rule", Word(rule, place_of("healing.rule", rule)), f"step {(plan.step or 0) + 1}")]
    facts.append(Fact("Because", Word(plan.condition, code=True)))
    facts.append(Fact("Target", Word(target_words(plan.target), strong=True)))
    facts += _outage(plan)
    if plan.hostname:
        facts.append(Fact("Runs on", Word(plan.hostname, _host_at(plan.host))))
    return facts + _hosts(plan) + _given(plan.given)


def _host_at(agent_id: str | None) -> str:
    return place_of("agent", agent_id) if agent_id not in (None, "server") else ""


def _outage(plan: PlanShown) -> list[Fact]:
    """Facts of a request for a whole outage: each target, where it is acted on, in which waves."""
    facts = [Fact("Waves", Word(plan.waves))] if plan.targets else []
    for target in plan.targets:
        given = {} if plan.params else target.params or {}
        more = ", ".join(f"{name} {value}" for name, value in given.items())
        facts.append(Fact("On", Word(target_words(target.target), _host_at(target.host)), more, case(target.case_id)))
    if plan.more:
        facts.append(Fact("And", Word(f"{plan.more} more")))
    return facts


def _of_run(record: ApprovalRecord, plan: PlanShown) -> list[Fact]:
    place = place_of("automation", record.automation_id or "")
    facts = [Fact("Automation", Word(plan.name or record.subject, place), plan.type)]
    params = {name: value for name, value in plan.given.items() if name not in ("script", "command")}
    return facts + _hosts(plan) + _given(params) + _given(plan.inputs or {})


def _hosts(plan: PlanShown) -> list[Fact]:
    names = {target.agent_id: target.host for target in plan.hosts}
    return [Fact("On host", Word(name, _host_at(agent_id))) for agent_id, name in names.items()]


def _given(params: Mapping[str, object]) -> list[Fact]:
    told = [(name, value) for name, value in params.items() if value not in (None, "", [], {})]
    typed = [(name, value if isinstance(value, str) else json.dumps(value)) for name, value in told]
    return [Fact(name.replace("_", " ").capitalize(), Word(text, code=True)) for name, text in typed]


def script_of(plan: PlanShown) -> str:
    text = plan.given.get("script") or plan.given.get("command") or ""
    lines = str(text).splitlines()
    return "\n".join(lines[:CODE_LINES]) + ("\n…" if len(lines) > CODE_LINES else "")
