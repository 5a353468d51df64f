"""History of Uptime Kuma 2: its daily roll-ups (`stat_daily`), as the days before this service began to look.

A row there counts checks; here a day is told in seconds up and down, a check standing for the monitor's interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

from .kumafile import KumaFile
from .kumarecords import KumaDay

DAY_S = 86_400
LATEST = 253_402_300_799  # the end of 9999, after which dates have no name


def days_by_name(file: KumaFile, names: dict[int, str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The last days of each monitor that has any, each as `2026-01-31 86100 300`: seconds up and down."""
    rows: dict[int, list[KumaDay]] = {}
    for row in file.days:
        rows.setdefault(row.monitor_id, []).append(row)
    intervals = {monitor.id: int(monitor.interval or 60) for monitor in file.monitors}
    for monitor_id, name in names.items():
        days = tuple(day for row in rows.get(monitor_id, ()) if (day := _day(row, intervals[monitor_id])))
        if days:
            yield name, days


def told(days: tuple[str, ...]) -> str:
    return f"{len(days)} days, {days[0][:10]} to {days[-1][:10]}; response times of days are not taken"


def _day(row: KumaDay, interval: int) -> str | None:
    checks = row.up + row.down
    if checks <= 0 or min(row.up, row.down) < 0 or not 0 <= row.timestamp <= LATEST:
        return None
    seconds = min(checks * interval, DAY_S)
    seconds_up = seconds * row.up // checks
    date = datetime.fromtimestamp(row.timestamp, timezone.utc).date().isoformat()
    return f"{date} {seconds_up} {seconds - seconds_up}"
