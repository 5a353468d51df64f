"""The list of monitors: state in a word, last checks, last day."""

from __future__ import annotations

from opsapp.monitoring.engine import shown_uptime
from opsapp.ui import words
from opsapp.ui.parts import MONITORS
from opsapp.ui.reader import Answers, Reader, TemplateValues

from . import monitorlist

FILTERS = ("q", "status", "tag", "type")


def state_of(status: str) -> str:
    """The state whose glyph is shown: one that was never checked is not a warning."""
    return "unknown" if status == "pending" else status


def word_of(status: str) -> str:
    return monitorlist.WORDS.get(status, words.spoken(status))


def percent_words(value: float | None) -> str:
    return "–" if value is None else f"{shown_uptime(value)} %"


def list_query(reader: Reader, earlier: Answers) -> dict[str, str]:
    """Worst first, unless a person sorts it."""
    return {} if reader.asked("sort") else {"sort": "worst"}


def shape(answers: Answers, reader: Reader) -> TemplateValues:
    return {
        "rows": monitorlist.lines(answers[MONITORS]),
        "filtered": reader.asks(*FILTERS),
        "may_add": reader.may("POST /api/monitoring/endpoints"),
    }
