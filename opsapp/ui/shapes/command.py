"""One command on a host: what was asked, how it stands, what it wrote."""

from __future__ import annotations

from typing import NamedTuple

from opsapp.agents.records import CommandRecord
from opsapp.lib.addresses import HIDDEN
from opsapp.ui.parts import AGENT, COMMAND
from opsapp.ui.reader import Answers, Reader, TemplateValues
from opsapp.ui.words import rough_span

OPEN = ("queued", "delivered", "running")
STATES = {  # status -> (kind, what it means)
    "queued": ("warn", "It waits for the host to take it."),
    "delivered": ("warn", "The host has it, and has not begun."),
    "running": ("heal", "It runs."),
    "done": ("ok", "It is done."),
    "failed": ("bad", "It failed."),
    "timeout": ("bad", "It took longer than it may."),
    "expired": ("off", "The host did not come for it in time: it never ran."),
    "lost": ("bad", "Nobody knows how it ended."),
    "cancelled": ("off", "It was stopped."),
}
UNTOLD = {"shell": "a shell command", "service": "control of a service", "logs": "a look at logs", "heal": "a heal"}


class CommandShown(NamedTuple):
    row: CommandRecord
    what: str
    kind: str
    words: str
    took: str
    under_way: bool
    facts: tuple[tuple[str, str], ...]


def shape(answers: Answers, reader: Reader) -> TemplateValues:
    agent = answers[AGENT]
    record = answers[COMMAND]
    shown, name = shown_of(record, reader.now), agent.name
    follow = shown.under_way and reader.may("POST /api/agents/{id}/commands")  # who may ask may look on
    return {
        "title": f"{shown.what} on {name}",
        "it": shown,
        "unseen": is_unseen(record.output, reader),
        "host": name,
        "host_href": f"/agents/{agent.id}",
        "follow": f"/api/agents/{agent.id}/commands/{record.command_id}/stream" if follow else None,
        "row": {"id": agent.id, "command_id": record.command_id},
    }


def shown_of(record: CommandRecord, now: float) -> CommandShown:
    kind, words = STATES.get(record.status, ("off", ""))
    began, ended = record.started_at or record.created_at, record.finished_at
    return CommandShown(
        record,
        what=spoken(record),
        kind=kind,
        words=words if record.reason == HIDDEN else record.reason or words,
        took=rough_span((ended or now) - began),
        under_way=record.status in OPEN,
        facts=tuple(
            (name, str(value)) for name, value in sorted(record.params.items()) if value not in (None, {}, "", HIDDEN)
        ),
    )


def is_unseen(output: str, reader: Reader) -> bool:
    """Viewers get `***` in place of what hosts wrote; for others a program wrote that."""
    return output == HIDDEN and reader.role == "viewer"


def spoken(record: CommandRecord) -> str:
    params, kind = record.params, record.type
    if HIDDEN in params.values():
        return UNTOLD.get(kind, kind.replace("_", " "))
    if kind == "shell":
        first, _, more = str(params.get("command", "")).strip().partition("\n")
        return first + (" …" if more else "")
    if kind == "service":
        return f"{params.get('action')} {params.get('service')}"
    if kind == "logs":
        return f"logs of {params.get('unit') or params.get('path')}"
    if kind == "heal":
        return f"heal: {params.get('action_type') or 'look'}, {params.get('phase')}"
    return kind.replace("_", " ")
