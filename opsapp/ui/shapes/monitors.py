"""The list of monitors: each with its state in a word, its last checks, its last day, and what it comes to."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote

from markupsafe import Markup

from opsapp.lib.jsontypes import JsonObject
from opsapp.monitoring.engine import shown_uptime
from opsapp.ui import words
from opsapp.ui.reader import Answers, Reader

from . import monitorlist

FILTERS = ("q", "status", "tag", "type")


class TagLink(NamedTuple):
    name: str
    place: str


class MonitorRow(NamedTuple):
    id: str
    line: monitorlist.MonitorLine
    state: str
    trouble: str  # what is wrong with it; empty where nothing is
    since: Markup
    tags: tuple[TagLink, ...]


def state_of(status: str) -> str:
    """The state whose glyph is shown: one that was never checked is not a warning."""
    return "unknown" if status == "pending" else status


def word_of(status: str) -> str:
    return monitorlist.WORDS.get(status, words.spoken(status))


def percent_words(value: float | None) -> str:
    return "–" if value is None else f"{shown_uptime(value)} %"


def tags_of(monitor: JsonObject) -> tuple[TagLink, ...]:
    return tuple(TagLink(tag, f"/monitors?tag={quote(tag, safe='')}") for tag in monitor["tags"])


def row_of(monitor: JsonObject, reader: Reader) -> MonitorRow:
    return MonitorRow(
        monitor["id"],
        monitorlist.lines([monitor])[0],
        state_of(monitor["status"]),
        monitor.get("unreadable") or monitor["cause"],
        words.ago(monitor["since"], reader) if monitor["since"] else Markup(""),
        tags_of(monitor),
    )


def list_query(reader: Reader, earlier: JsonObject) -> dict[str, str]:
    """Worst first, unless a person sorts it."""
    return {} if reader.query.get("sort") else {"sort": "worst"}


def shape(answers: Answers, reader: Reader) -> dict[str, object]:
    return {
        "rows": [row_of(monitor, reader) for monitor in answers["monitors"] or []],
        "filtered": any(reader.query.get(name) for name in FILTERS),
        "may_add": reader.may("POST /api/monitoring/endpoints"),
    }
