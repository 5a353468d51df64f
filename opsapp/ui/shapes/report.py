"""The report about all monitors: how long each was up, down and unseen over some days, and its health, in words.

Pure. Must not: ask anybody.
"""

from __future__ import annotations

from typing import NamedTuple

from opsapp.monitoring.records import AggregateScore
from opsapp.ui.reader import Answers, Reader, query_with, with_query

PATH = "/monitors/report"
USUAL_DAYS = 30
SPANS = ((1, "1 d"), (7, "7 d"), (30, "30 d"), (90, "90 d"), (365, "1 y"))
GRADE_KINDS = {"A": "ok", "B": "ok", "C": "warn", "D": "warn", "F": "bad", None: "off"}


class SpanLink(NamedTuple):
    name: str
    href: str
    chosen: bool


def shape(answers: Answers, reader: Reader) -> dict[str, object]:
    health: AggregateScore = answers["health"]
    asked = reader.query.get("days") or str(USUAL_DAYS)
    return {
        "rows": answers["rows"] or [],
        "grades": {scored.monitor_id: scored.grade for scored in health.monitors},
        "grade": health.grade,
        "grade_kinds": GRADE_KINDS,
        "lead": _lead(health),
        "days": asked,
        "spans": [
            SpanLink(name, with_query(PATH, query_with(reader.query, days=days)), str(days) == asked)
            for days, name in SPANS
        ],
    }


def _lead(health: AggregateScore) -> str:
    count, unknown = len(health.monitors), health.unknown
    if health.score is None:
        return "Nothing is known of any monitor yet."
    monitors = "the only monitor" if count == 1 else f"all {count} monitors"
    rest = f" Nothing is known of {unknown} of them." if unknown else ""
    return f"{health.score:g} of 100 over {monitors}: uptime of 7 days, response time, certificates.{rest}"
