"""Names of time zones."""

from __future__ import annotations

import zoneinfo
from datetime import datetime


def zone_problem(name: str | None) -> str | None:
    """What is wrong with a time zone; None: it is one, or no name, which is the zone of the service."""
    try:
        zoneinfo.ZoneInfo(name or "UTC")
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return "must be the name of a time zone like Europe/Berlin"
    return None


def wall(at: float, zone: str) -> str:
    """A moment as the clock on the wall shows it there."""
    return datetime.fromtimestamp(at, zoneinfo.ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M")
