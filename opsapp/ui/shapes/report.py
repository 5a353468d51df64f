"""The report about all monitors: how long each was up, down and unseen over some days, and its health, in words.

Pure. Must not: ask anybody.
"""

from __future__ import annotations

from typing import NamedTuple

from opsapp.lib.jsontypes import JsonObject
from opsapp.ui import words
from opsapp.ui.reader import Answers, Reader, query_with, with_query

PATH = "/monitors/report"
USUAL_DAYS = 30
SPANS = ((1, "1 d"), (7, "7 d"), (30, "30 d"), (90, "90 d"), (365, "1 y"))
GRADE_KINDS = {"A": "ok", "B": "ok", "C": "warn", "D": "warn", "F": "bad", None: "off"}
NOTHING = "–"


class SpanLink(NamedTuple):
    name: str
    href: str
    chosen: bool


class SlaLine(NamedTuple):
    """One monitor. A figure that nobody knows is a dash."""

    monitor_id: str
    name: str
    grade: str
    kind: str
    uptime: str
    down: str
    unknown: str
    maintenance: str
    incidents: int
    repaired_in: str


def shape(answers: Answers, reader: Reader) -> dict[str, object]:
    health = answers["health"]
    grades = {scored["monitor_id"]: scored["grade"] for scored in health["monitors"]}
    asked = reader.query.get("days") or str(USUAL_DAYS)
    return {
        "lines": [_line(row, grades.get(row["monitor_id"])) for row in answers["rows"] or []],
        "grade": health["grade"],
        "grade_kind": GRADE_KINDS[health["grade"]],
        "lead": _lead(health),
        "days": asked,
        "spans": [
            SpanLink(name, with_query(PATH, query_with(reader.query, days=days)), str(days) == asked)
            for days, name in SPANS
        ],
    }


def _lead(health: JsonObject) -> str:
    count, unknown = len(health["monitors"]), health["unknown"]
    if health["score"] is None:
        return "Nothing is known of any monitor yet."
    monitors = "the only monitor" if count == 1 else f"all {count} monitors"
    rest = f" Nothing is known of {unknown} of them." if unknown else ""
    return f"{health['score']:g} of 100 over {monitors}: uptime of 7 days, response time, certificates.{rest}"


def _line(row: JsonObject, grade: str | None) -> SlaLine:
    uptime = row["uptime_percent"]
    return SlaLine(
        row["monitor_id"],
        row["name"],
        grade or NOTHING,
        GRADE_KINDS[grade],
        NOTHING if uptime is None else words.percent(uptime),
        _minutes(row["downtime_minutes"]),
        _minutes(row["unknown_minutes"]),
        _minutes(row["maintenance_minutes"]),
        row["incidents"],
        _minutes(row["mttr_minutes"]),
    )


def _minutes(minutes: float | None) -> str:
    return words.rough_span(minutes * 60) if minutes else NOTHING
