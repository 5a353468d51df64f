"""Converts a date and time from a reader's clock to the service's clock. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

WALL = "%Y-%m-%dT%H:%M"


class Clocks(NamedTuple):
    """By which clock a moment was filled in, and by which one the API reads it."""

    filled_in: str
    service: str


def by_service_clock(text: str, clocks: Clocks) -> str:
    """The time as the API reads it."""
    if clocks.filled_in == clocks.service:
        return text
    try:
        wall = datetime.strptime(text[:16], WALL)
        here = wall.replace(tzinfo=ZoneInfo(clocks.filled_in))
        back = datetime.fromtimestamp(here.timestamp(), ZoneInfo(clocks.filled_in))
        told = datetime.fromtimestamp(here.timestamp(), ZoneInfo(clocks.service))
    except (ValueError, OverflowError):
        return text
    if back.replace(tzinfo=None) != wall:
        raise ValueError(f"The clock of {clocks.filled_in} skips this time on that day.")
    return told.replace(tzinfo=None).isoformat(timespec="minutes")


def by_readers_clock(text: str, service_zone: str, zone: str) -> str:
    """The time as an input of the reader holds it."""
    try:
        wall = datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(service_zone))
        told = datetime.fromtimestamp(wall.timestamp(), ZoneInfo(zone))
        return told.replace(tzinfo=None).isoformat(timespec="minutes")
    except (ValueError, OverflowError):
        return text
