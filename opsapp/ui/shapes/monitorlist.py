"""Monitors as a short list, from the API's (`sort=worst`, `recent=30`)."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

from markupsafe import Markup

from opsapp.monitoring.records import LatelyMeasured, MonitorRecord
from opsapp.ui.charts import MILLISECONDS, Bar, bars, sparkline
from opsapp.ui.words import DOWN_IN_WINDOW, percent

CHECKS = 30
WORDS = {"degraded": "Degraded", "pending": "Not checked yet", "maintenance": "Maintenance"}


class MonitorLine(NamedTuple):
    monitor: MonitorRecord
    about: str
    state: str
    word: str
    checks: Markup
    day: Markup
    p95: str
    uptime: str


def state_of(monitor: MonitorRecord) -> str:
    return DOWN_IN_WINDOW if monitor.down_in_window else monitor.status


def lines(monitors: list[MonitorRecord] | None) -> list[MonitorLine]:
    return [_line(monitor, monitor.recent or LatelyMeasured()) for monitor in monitors or ()]


def _line(monitor: MonitorRecord, recent: LatelyMeasured) -> MonitorLine:
    name, p95, state = monitor.name or "unreadable", recent.p95_24h_ms, state_of(monitor)
    return MonitorLine(
        monitor,
        _about(monitor),
        state,
        WORDS.get(state, state.capitalize()),
        bars([Bar(state) for state in recent.statuses], f"{name}, the last {CHECKS} checks", CHECKS),
        sparkline(recent.p95_ms, f"{name}, 95 % within, 24 hours"),
        "–" if p95 is None else MILLISECONDS.words(p95),
        "–" if recent.uptime_30d is None else percent(recent.uptime_30d),
    )


def _about(monitor: MonitorRecord) -> str:
    """Its kind, and where it looks: no more of an address than tells it from others."""
    parts = urlsplit(monitor.url)
    where = f"{parts.hostname or ''}{parts.path if parts.path != '/' else ''}" if monitor.type != "agent" else "host"
    return f"{monitor.type} · {where}" if where else monitor.type
