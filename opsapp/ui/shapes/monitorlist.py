"""Monitors as a short list: state, last checks, last day.

Pure: from the API's list (`sort=worst`, `recent=30`) to what a row shows.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote, urlsplit

from markupsafe import Markup

from opsapp.lib.jsontypes import JsonObject
from opsapp.ui.charts import MILLISECONDS, Bar, bars, sparkline
from opsapp.ui.words import percent

CHECKS = 30
WORDS = {"degraded": "Degraded", "pending": "Not checked yet", "maintenance": "Maintenance"}


class MonitorLine(NamedTuple):
    name: str
    place: str
    about: str
    state: str
    word: str
    checks: Markup
    day: Markup
    p95: str
    uptime: str


def lines(monitors: list[JsonObject]) -> list[MonitorLine]:
    return [_line(monitor) for monitor in monitors]


def _line(monitor: JsonObject) -> MonitorLine:
    recent = monitor.get("recent") or {}
    p95, uptime = recent.get("p95_24h_ms"), recent.get("uptime_30d")
    name, status = monitor["name"] or "unreadable", monitor["status"]
    strip = bars([Bar(state) for state in recent.get("statuses", ())], f"{name}, the last {CHECKS} checks", CHECKS)
    day = sparkline(recent.get("p95_ms", ()), f"{name}, 95 % within, 24 hours")
    return MonitorLine(
        name,
        f"/monitors/{quote(monitor['id'], safe='')}",
        _about(monitor),
        status,
        WORDS.get(status, status[:1].upper() + status[1:]),
        strip,
        day,
        "–" if p95 is None else MILLISECONDS.words(p95),
        "–" if uptime is None else percent(uptime),
    )


def _about(monitor: JsonObject) -> str:
    """Its kind, and where it looks: no more of an address than tells it from others."""
    parts = urlsplit(monitor["url"] or "")
    where = f"{parts.hostname or ''}{parts.path if parts.path != '/' else ''}" if monitor["type"] != "agent" else "host"
    return f"{monitor['type']} · {where}" if where else str(monitor["type"])
