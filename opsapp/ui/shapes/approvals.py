"""Requests for approval: what waits for its reader, what was decided, and one of them with all that it covers.

Pure: from the API's answers to words.
"""

from __future__ import annotations

import json
from typing import NamedTuple
from urllib.parse import quote

from opsapp.healing.answers import CaseShown
from opsapp.lib.jsontypes import JsonObject
from opsapp.ui import sentences
from opsapp.ui.parts import CASE, OVERVIEW
from opsapp.ui.reader import Answers, Reader
from opsapp.ui.sentences import NameBook, Word, case, count, span, spoken_target

from .requests import cards, outcome, question

PENDING = "pending"
CODE_LINES = 200


class Fact(NamedTuple):
    """One line of what exactly would be done."""

    name: str
    word: Word
    more: str = ""
    why: Word | str = ""  # the case that asked for it


def listing(answers: Answers, reader: Reader) -> dict[str, object]:
    names = _names(answers)
    asked = [question(record, names, reader) for record in answers["approvals"] or []]
    mine = sum(asked_question.mine for asked_question in asked)
    others = len(asked) - mine
    told = f"{count(mine, 'decision is', 'decisions are')} yours." if mine else "No decision waits for you."
    return {
        "heading": told,
        "sub": f"{count(others, 'request waits', 'requests wait')} for somebody else." if others else "",
        "asked": cards(asked),
        "decided": [(sentences.approval(record, names), outcome(record)) for record in answers["decided"] or []],
    }


def one(answers: Answers, reader: Reader) -> dict[str, object]:
    record = answers["request"]
    asked = question(record, _names(answers), reader)
    return {
        "title": asked.title.text,
        "it": asked,
        "pending": record["status"] == PENDING,
        "ended": outcome(record),
        "becomes": _becomes(record),
        "facts": facts(record),
        "alone": _alone(answers.known(CASE), reader.now),
        "script": script_of(record),
    }


def _becomes(record: JsonObject) -> Word | None:
    """What an approval has started."""
    if record["status"] != "approved":
        return None
    if record.get("run_id"):
        return Word("Open the run", f"/automations/runs/{record['run_id']}")
    return Word("Open the heal", f"/healing/cases/{record['case_id']}") if record.get("case_id") else None


def _alone(case: CaseShown | None, now: float) -> str:
    """What was agreed to may be left alone first."""
    if case is None or case.state != "awaiting_approval":
        return ""
    left = (case.left_until or 0) - now
    if left <= 0:
        return ""
    return f"It is left alone for {span(left)} more, to learn whether it helps. If it does not recover, it is healed."


def _names(answers: Answers) -> NameBook:
    overview = answers[OVERVIEW]
    return NameBook(overview.monitor_ids, overview.agent_ids)


def facts(record: JsonObject) -> list[Fact]:
    plan = record["plan"]
    told = _of_heal(plan) if record["kind"] == "heal" else _of_run(record, plan)
    asker = "The machine" if record["requested_by"] == "healing" else record["requested_by"]
    told.append(Fact("Asked by", Word(asker, strong=True)))
    return [*told, Fact("Digest", Word(record["digest"], code=True))] if record.get("digest") else told


def _of_heal(plan: JsonObject) -> list[Fact]:
    rule, host = plan["rule_id"], plan.get("hostname")
    facts = [Fact("Rule", Word(rule, f"/healing/rules/{quote(rule, safe='')}"), f"step {(plan.get('step') or 0) + 1}")]
    facts.append(Fact("Because", Word(plan["condition"], code=True)))
    facts.append(Fact("Target", Word(spoken_target(plan["target"]), strong=True)))
    facts += _outage(plan)
    if host:
        place = f"/agents/{quote(plan['host'], safe='')}" if plan.get("host") not in (None, "server") else ""
        facts.append(Fact("Runs on", Word(host, place)))
    return facts + _hosts(plan) + _given(plan.get("params"))


def _outage(plan: JsonObject) -> list[Fact]:
    """Of a request for a whole outage: each target, where it is acted on, and in which waves."""
    targets = plan.get("targets") or ()
    facts = [Fact("Waves", Word(plan["waves"]))] if targets else []
    for target in targets:
        agent_id = target["host"]
        place = f"/agents/{quote(agent_id, safe='')}" if agent_id not in (None, "server") else ""
        given = {} if plan.get("params") else target["params"] or {}
        more = ", ".join(f"{name} {value}" for name, value in given.items())
        why = case(target.get("case_id"))
        facts.append(Fact("On", Word(spoken_target(target["target"]), place), more, why))
    if plan.get("more"):
        facts.append(Fact("And", Word(f"{plan['more']} more")))
    return facts


def _of_run(record: JsonObject, plan: JsonObject) -> list[Fact]:
    place = f"/automations/{quote(record.get('automation_id') or '', safe='')}"
    facts = [Fact("Automation", Word(plan.get("name") or record["subject"], place), plan.get("type", ""))]
    params = {name: value for name, value in (plan.get("params") or {}).items() if name not in ("script", "command")}
    return facts + _hosts(plan) + _given(params) + _given(plan.get("inputs"))


def _hosts(plan: JsonObject) -> list[Fact]:
    """The hosts on which its automations would run: those that an approval is for."""
    names = {target["agent_id"]: target["host"] for target in plan.get("hosts") or ()}
    return [Fact("On host", Word(name, f"/agents/{quote(agent_id, safe='')}")) for agent_id, name in names.items()]


def _given(params: JsonObject | None) -> list[Fact]:
    told = [(name, value) for name, value in (params or {}).items() if value not in (None, "", [], {})]
    typed = [(name, value if isinstance(value, str) else json.dumps(value)) for name, value in told]
    return [Fact(name.replace("_", " ").capitalize(), Word(text, code=True)) for name, text in typed]


def script_of(record: JsonObject) -> str:
    """The text that would run, where there is one."""
    params = record["plan"].get("params") or {}
    text = params.get("script") or params.get("command") or ""
    lines = str(text).splitlines()
    return "\n".join(lines[:CODE_LINES]) + ("\n…" if len(lines) > CODE_LINES else "")
