"""History of Uptime Kuma 2: its daily roll-ups (`stat_daily`), as the days before this service began to look.

A row there counts checks; here a day is told in seconds up and down, a check standing for the monitor's interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

from opsapp.lib.jsontypes import JsonObject

from .kumafile import KumaFile

DAY_S, MOST_DAYS = 86_400, 366


def days_by_name(file: KumaFile, names: dict[int, str]) -> Iterator[tuple[str, list[str]]]:
    """For each monitor that has any: its last days, each as `2026-01-31 86100 300`, seconds up and down."""
    rows: dict[int, list[JsonObject]] = {}
    for row in file.rows("stat_daily"):
        rows.setdefault(row["monitor_id"], []).append(row)
    monitors = {monitor["id"]: monitor for monitor in file.monitors if "id" in monitor}
    for monitor_id, name in names.items():
        interval = int(monitors[monitor_id].get("interval") or 60)
        of_monitor = sorted(rows.get(monitor_id, []), key=lambda row: row["timestamp"])[-MOST_DAYS:]
        days = [day for row in of_monitor if (day := _day(row, interval))]
        if days:
            yield name, days


def told(days: list[str]) -> str:
    return f"{len(days)} days, {days[0][:10]} to {days[-1][:10]}; response times of days are not taken"


def _day(row: JsonObject, interval: int) -> str | None:
    up, down = int(row["up"]), int(row["down"])
    if up + down <= 0:
        return None
    seconds = min((up + down) * interval, DAY_S)
    seconds_up = seconds * up // (up + down)
    date = datetime.fromtimestamp(int(row["timestamp"]), timezone.utc).date().isoformat()
    return f"{date} {seconds_up} {seconds - seconds_up}"
