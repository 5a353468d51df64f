"""The list of hosts, from one answer of the API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup

from opsapp.agents.records import AgentRow, FleetRow, HostProblem, Line
from opsapp.ui import charts
from opsapp.ui.parts import HOSTS
from opsapp.ui.reader import Answers, Reader, TemplateValues, with_query

STATES = {  # status -> (kind, word)
    "online": ("ok", "Reporting"),
    "offline": ("bad", "Silent"),
    "dead": ("bad", "Silent for long"),
    "pending": ("off", "Waiting for its first report"),
}
UNHEARD = ("off", "Not heard since the service started")
FILTERS = (("", "All"), ("online", "Reporting"), ("offline", "Silent"), ("dead", "Silent for long"), ("pending", "New"))


class HostGauge(NamedTuple):
    """A share in percent; `kind` colours it only when it is high."""

    words: str
    kind: str
    percent: float
    line: Markup


class HostLine(NamedTuple):
    """`word` is its state, or the worst of its problems while it reports; `more` are the others."""

    row: FleetRow
    under: str
    kind: str
    word: str
    more: tuple[HostProblem, ...]
    cpu: HostGauge
    mem: HostGauge
    disk: HostGauge
    notes: tuple[str, ...]


def shape(answers: Answers, reader: Reader) -> TemplateValues:
    rows = answers[HOSTS]
    asked = {name: reader.asked(name) for name in ("q", "tag", "status", "sort")}
    return {
        "hosts": [line_of(row) for row in rows],
        "states": [
            (word, _address({**asked, "status": status}), asked["status"] == status) for status, word in FILTERS
        ],
        "asked": asked,
        "filtered": any(asked[name] for name in ("q", "tag", "status")),
        "by_tag": asked["tag"],
        "without_tag": _address({**asked, "tag": ""}),
        "sub": _summary(rows),
    }


def line_of(row: FleetRow) -> HostLine:
    kind, word = state_of(row)
    wrong = {problem.kind for problem in row.problems}
    name = row.name
    under = row.hostname if row.hostname != name else ""
    return HostLine(
        row,
        " · ".join(fact for fact in (under, row.ip) if fact),
        kind,
        word,
        row.problems[1:] if row.status == "online" else row.problems,
        gauge(row.cpu_percent, row.cpu, f"CPU of {name}, 6 hours", high="cpu" in wrong),
        gauge(row.mem_percent, row.mem, f"Memory of {name}, 6 hours", high="memory" in wrong),
        gauge(row.disk_percent, (), "", high="disk" in wrong),
        notes_of(row),
    )


def state_of(row: FleetRow) -> tuple[str, str]:
    if row.status != "online" or row.unreadable or not row.problems:
        return presence_of(row)
    worst = row.problems[0]
    return "bad" if worst.grave else "warn", worst.words


def presence_of(row: AgentRow) -> tuple[str, str]:
    """Of one that had no time yet to come back after an outage of ours nobody knows."""
    if row.stopped_at is not None:
        return "off" if row.unheard else "bad", "Stopped"
    return UNHEARD if row.unheard else STATES[row.status]


def gauge(value: float | None, values: Line, label: str, *, high: bool) -> HostGauge:
    """What is known: of a host that says nothing, nothing."""
    line = charts.sparkline(values, label, top=100) if any(reading is not None for reading in values) else Markup("")
    if value is None:
        return HostGauge("–", "", 0.0, line)
    return HostGauge(f"{value:.0f} %", "warn" if high else "", min(100.0, max(0.0, value)), line)


def notes_of(row: AgentRow) -> tuple[str, ...]:
    facts = []
    if row.unreadable:
        facts.append(f"Its record cannot be read: {row.unreadable}.")
    if row.clone_detected_at is not None:
        facts.append("Another machine used its key: give both their own.")
    if row.hostname_conflict:
        facts.append("Another host reports the same name.")
    return tuple(facts)


def _summary(rows: Sequence[FleetRow]) -> str:
    stopped = sum(row.stopped_at is not None for row in rows)
    silent = sum(row.status in ("offline", "dead") and not row.unheard and row.stopped_at is None for row in rows)
    ill = sum(row.status == "online" and bool(row.problems) for row in rows)
    outdated = sum(row.outdated for row in rows)
    facts = [
        f"{silent} silent" if silent else "",
        f"{stopped} stopped" if stopped else "",
        f"{ill} with problems" if ill else "",
        f"{outdated} with an outdated agent" if outdated else "",
    ]
    return ", ".join(count for count in facts if count)


def _address(query: dict[str, str]) -> str:
    return with_query("/agents", urlencode({name: value for name, value in query.items() if value}))
