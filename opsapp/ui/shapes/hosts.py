"""The list of hosts: a row for each with what it measures, and what about it wants to be said.

Must not: ask anything; the rows come in one answer of the API.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup

from opsapp.agents.records import AgentRow, FleetRow, Line
from opsapp.ui import charts
from opsapp.ui.parts import HOSTS
from opsapp.ui.reader import Answers, Reader

HIGH = 90.0
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
    """A row of the list."""

    row: FleetRow
    under: str
    kind: str
    word: str
    cpu: HostGauge
    mem: HostGauge
    disk: HostGauge
    notes: tuple[str, ...]


def shape(answers: Answers, reader: Reader) -> dict[str, object]:
    rows = answers[HOSTS]
    asked = {name: reader.query.get(name, "") for name in ("q", "tag", "status", "sort")}
    return {
        "title": "Hosts",
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
    name = row.name
    under = row.hostname if row.hostname != name else ""
    return HostLine(
        row,
        " · ".join(fact for fact in (under, row.ip) if fact),
        kind,
        word,
        gauge(row.cpu_percent, row.cpu, f"CPU of {name}, 6 hours"),
        gauge(row.mem_percent, row.mem, f"Memory of {name}, 6 hours"),
        gauge(row.disk_percent, (), ""),
        notes_of(row, row.failing),
    )


def state_of(row: FleetRow) -> tuple[str, str]:
    """What a row says of its host at one look: silent, else what has failed, else what is nearly full."""
    failing, disk = row.failing, row.disk_percent
    if row.status != "online" or row.unreadable:
        return presence_of(row)
    if failing:
        return "bad", f"{failing[0]} failed" if len(failing) == 1 else f"{len(failing)} services failed"
    if disk is not None and disk >= HIGH:
        return "warn", f"Disk {disk:.0f} % full"
    return STATES["online"]


def presence_of(row: AgentRow) -> tuple[str, str]:
    """Whether a host reports. Of one that had no time yet to come back after an outage of ours nobody knows."""
    return UNHEARD if row.unheard else STATES[row.status]


def gauge(value: float | None, values: Line, label: str) -> HostGauge:
    """What is known: of a host that says nothing, nothing."""
    line = charts.sparkline(values, label, top=100) if any(reading is not None for reading in values) else Markup("")
    if value is None:
        return HostGauge("–", "", 0.0, line)
    return HostGauge(f"{value:.0f} %", "warn" if value >= HIGH else "", min(100.0, max(0.0, value)), line)


def notes_of(row: AgentRow, failing: Sequence[str] = ()) -> tuple[str, ...]:
    """What somebody has to know of this host besides its state."""
    facts = []
    if row.unreadable:
        facts.append(f"Its record cannot be read: {row.unreadable}.")
    if row.clone_detected_at is not None:
        facts.append("Another machine used its key: give both their own.")
    if row.hostname_conflict:
        facts.append("Another host reports the same name.")
    if len(failing) > 1:
        facts.append(f"Failed: {listed(failing)}.")
    return tuple(facts)


def listed(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _summary(rows: Sequence[FleetRow]) -> str:
    silent = sum(row.status in ("offline", "dead") and not row.unheard for row in rows)
    failing = sum(row.status == "online" and bool(row.failing) for row in rows)
    outdated = sum(row.outdated for row in rows)
    facts = [
        f"{silent} silent" if silent else "",
        f"{failing} with failed services" if failing else "",
        f"{outdated} with an outdated agent" if outdated else "",
    ]
    return ", ".join(count for count in facts if count)


def _address(query: dict[str, str]) -> str:
    known = {name: value for name, value in query.items() if value}
    return "/agents" + (f"?{urlencode(known)}" if known else "")
