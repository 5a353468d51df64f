"""How long each monitor was up, down and unseen in a month, and what its target still allows."""

from __future__ import annotations

from typing import NamedTuple

from opsapp.lib.months import month_back, month_name
from opsapp.monitoring.engine import ReportedLine, ReportTotal
from opsapp.ui import words
from opsapp.ui.choices import LinkChoice
from opsapp.ui.parts import REPORT, TOTAL_LINE
from opsapp.ui.reader import Answers, Reader, TemplateValues, query_with, with_query
from opsapp.ui.sentences.words import span

PATH = "/monitors/report"
API, TOTAL = "/api/monitoring/report", "/api/monitoring/report-total"
SPANS = ((30, "30 d"), (90, "90 d"), (365, "1 y"))
FILTERS = ("month", "days", "by", "tag", "target", "sort")
NOTHING = "–"
BYS = {"monitor": "monitor", "tag": "tag", "group": "status page group"}


class MonthLine(NamedTuple):
    """A monitor, a tag, a group or all. What nobody can say is a dash."""

    row: ReportedLine
    uptime: str
    down: str
    allowed: str
    left: str
    over: bool  # more was used than the target allows
    known: str
    unknown: str
    maintenance: str


def with_zone(reader: Reader, earlier: Answers) -> dict[str, str]:
    """The month by the reader's clock; worst first, unless a person sorts it."""
    return {"zone": reader.zone} | ({} if reader.asked("sort") else {"sort": "worst"})


def shape(answers: Answers, reader: Reader) -> TemplateValues:
    total, days = answers[TOTAL_LINE], reader.asked("days")
    month = reader.asked("month") or ("" if days else month_back(reader.now, reader.zone, 1))
    asked = {name: reader.asked(name) for name in FILTERS}
    return {
        "lines": [_line(row) for row in answers[REPORT]],
        "total": _line(total),
        "period": month_name(month) if month else f"last {days} d",
        "lead": _lead(total, reader),
        "target": f"{total.target:g}",
        "by": asked_by if (asked_by := reader.asked("by")) in BYS else "monitor",
        "bys": BYS,
        "tag": reader.asked("tag"),
        "month": month,
        "months": words.months(reader),
        "spans": [
            LinkChoice(name, with_query(PATH, query_with(reader.query, days=count, month="")), str(count) == days)
            for count, name in SPANS
        ],
        "csv": with_query(f"{API}.csv", query_with(asked, zone=reader.zone)),
        "json": with_query(API, query_with(asked, zone=reader.zone, limit=1000)),
    }


def _lead(total: ReportTotal, reader: Reader) -> str:
    begin, end = (words.local(at, reader.zone) for at in (total.start, total.end))
    city = reader.zone.rpartition("/")[2].replace("_", " ")
    running = " It is not over." if total.end > reader.now else ""
    return f"{begin:%-d %B %Y, %H:%M} to {end:%-d %B %Y, %H:%M}, {city} time.{running}"


def _line(row: ReportedLine) -> MonthLine:
    uptime, left = row.uptime_percent, row.left_minutes
    return MonthLine(
        row,
        NOTHING if uptime is None else words.percent(uptime),
        _minutes(row.downtime_minutes),
        _minutes(row.allowed_minutes),
        NOTHING if left is None else f"{'−' if left < 0 else ''}{span(abs(left) * 60)}",
        left is not None and left < 0,
        words.percent(row.known_percent),
        _minutes(row.unknown_minutes),
        _minutes(row.maintenance_minutes),
    )


def _minutes(minutes: float) -> str:
    return span(minutes * 60) if minutes else NOTHING
