"""Automations: the list with the last runs, one with its schedule, and the pages that write them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from opsapp.auth.records import Person
from opsapp.automations.engine import PROGRAMS
from opsapp.automations.records import AutomationRecord, AutomationRow, TemplateRecord
from opsapp.lib import cron
from opsapp.lib.durations import in_words
from opsapp.ui.parts import AUTOMATION, AUTOMATIONS, PEOPLE, RULES, RUNS, TEMPLATES, USERS_OF
from opsapp.ui.reader import Answers, Reader, TemplateValues
from opsapp.ui.words import local, spoken
from opsapp.wire.records import plain

from . import uses
from .runs import RunShown, shown_of

LAST_RUNS, NEXT_TIMES = 8, 5
NEW = "/automations/new"
MEANWHILE = {"queue": "waits", "skip": "is left out", "replace": "takes its place"}
TYPES = {
    "script": "A script, on this server or on hosts",
    "service_control": "Starts, stops or restarts a service",
    "agent_command": "A command on hosts",
    "webhook": "Calls an address",
    "notification": "Sends a message",
    "composite": "Other automations, one after the other",
    "workflow": "Other automations, each by how the one before ended",
}


class AutomationLine(NamedTuple):
    row: AutomationRow
    last: tuple[RunShown, ...]
    words: str


class TypeChoice(NamedTuple):
    name: str
    words: str
    href: str
    chosen: bool
    form: str


def listed(answers: Answers, reader: Reader) -> TemplateValues:
    recent = [shown_of(run, reader.now) for run in answers[RUNS]]
    return {
        "lines": [line_of(row, recent) for row in answers[AUTOMATIONS]],
        "recent": recent[:15],
        "templates": [(template, may_write(template, reader)) for template in answers[TEMPLATES]],
        "wanted": reader.asked("q"),
    }


def line_of(row: AutomationRow, recent: list[RunShown]) -> AutomationLine:
    mine = tuple(run for run in recent if run.row.automation_id == row.id)[:LAST_RUNS]
    over = [run for run in mine if not run.under_way]
    done = sum(run.kind == "ok" for run in over)
    words = f"{done} of {len(over)} done" if over else mine[0].word.lower() if mine else "no recent run"
    return AutomationLine(row, mine[::-1], words)


def may_write(row: AutomationRecord | TemplateRecord, reader: Reader) -> bool:
    """Whether it is not refused for running on the server."""
    return reader.role == "admin" or not row.needs_admin


def new(answers: Answers, reader: Reader) -> TemplateValues:
    wanted = reader.query.get("type", "script")
    wanted = wanted if wanted in TYPES else "script"
    kinds = [
        TypeChoice(spoken(kind), words, f"{NEW}?type={kind}", kind == wanted, f"create-{kind.replace('_', '-')}")
        for kind, words in TYPES.items()
    ]
    return {
        "kinds": kinds,
        "chosen": next(choice for choice in kinds if choice.chosen),
        "host_needed": wanted in PROGRAMS and not all(may_write(row, reader) for row in answers[TEMPLATES]),
    }


def one(answers: Answers, reader: Reader) -> TemplateValues:
    automation, names = answers[AUTOMATION], {row.id: row.name for row in answers[AUTOMATIONS]}
    return {
        "title": automation.name,
        "it": automation,
        "may_write": may_write(automation, reader),
        "type": TYPES[automation.type],
        "times": times_of(automation, reader),
        "facts": facts_of(automation),
        "cannot_decide": cannot_decide(automation, answers.known(PEOPLE)),
        "runs": [shown_of(run, reader.now) for run in answers[RUNS]],
        "params": [
            (spoken(name), _text(value, names))
            for name, value in plain(automation.params).items()
            if value not in (None, "", {})
        ],
        "row": automation,
        "uses": uses.of_automation(automation.id, answers[RULES], answers[USERS_OF]),
    }


def edited(answers: Answers, reader: Reader) -> TemplateValues:
    automation = answers[AUTOMATION]
    as_json = plain(automation)
    return {
        "title": f"Edit {automation.name}",
        "may_write": may_write(automation, reader),
        "row": _as_filled_in(automation),
        "save": f"automation.save-{automation.type.replace('_', '-')}",
        "whole": as_json | {"params": json.dumps(as_json["params"], indent=2, ensure_ascii=False)},
    }


def cloned(answers: Answers, reader: Reader) -> TemplateValues:
    automation = answers[AUTOMATION]
    return {
        "title": f"Clone {automation.name}",
        "host_needed": not may_write(automation, reader),
        "words": f"{TYPES[automation.type]}. The copy has no schedule until you give it one, or both would run.",
        "name": automation.name,
        "place": f"/automations/{automation.id}",
        "row": _as_filled_in(automation) | {"name": f"{automation.name} (copy)", "schedule": None},
        "create": f"clone-{automation.type.replace('_', '-')}",
    }


def _as_filled_in(automation: AutomationRecord) -> dict[str, object]:
    params = {name: value for name, value in plain(automation.params).items() if value is not None}
    for name in ("headers", "body", "env", "descriptors"):
        if name in params:
            params[name] = json.dumps(params[name], indent=2, ensure_ascii=False)
    return plain(automation) | {"requires_approval": json.dumps(automation.requires_approval), "params": params}


def times_of(automation: AutomationRecord, reader: Reader) -> list[str]:
    """The times in the reader's zone. A schedule without a zone goes by the service's."""
    schedule, zone = automation.schedule, automation.timezone or reader.service_zone
    if not schedule or automation.next_run is None:
        return []
    times = [float(automation.next_run)]
    while len(times) < NEXT_TIMES:
        times.append(cron.next_time(schedule, zone, times[-1]))
    return [local(at, reader.zone).strftime("%a %d %b %Y, %H:%M") for at in times]


def cannot_decide(automation: AutomationRecord, people: Sequence[Person] | None) -> list[str]:
    """Approvers who are no users, or may not decide; none where the reader may not see the users."""
    if people is None or not automation.requires_approval:
        return []
    able = {person.username for person in people if person.role != "viewer"}
    return [name for name in automation.approvers if name not in able]


def facts_of(automation: AutomationRecord) -> list[tuple[str, str]]:
    asks = "nobody: it runs at once"
    if automation.requires_approval:
        who = ", ".join(automation.approvers) or "any operator but who asked"
        asks = f"{automation.quorum} of {who}"
    return [
        ("Asks", asks),
        ("When one runs already", MEANWHILE[automation.concurrency]),
        ("Time limit", in_words(automation.timeout)),
        ("Retries", f"{automation.retries} times" if automation.retries else "no"),
    ]


def _text(value: object, names: dict[str, str]) -> str:
    """Automations by their names: those of a composite in order, and the steps of a workflow with what follows."""
    if isinstance(value, list):
        return "\n".join(_text(part, names) for part in value)
    if isinstance(value, dict) and "automation_id" in value:
        ways = {"then": value["on_success"], "after a failure": value["on_failure"]}
        follows = "".join(f", {when} {step}" for when, step in ways.items() if step)
        return f"{value['id']}: {names.get(value['automation_id'], 'an automation that is gone')}{follows}"
    return names.get(value, value) if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
