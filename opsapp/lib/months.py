"""Calendar months of a time zone, written as 2026-10. Pure."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo


def month_problem(text: str | None) -> str | None:
    try:
        good = text is None or (len(text) == 7 and datetime.strptime(text, "%Y-%m").year >= 1970)
    except ValueError:
        good = False
    return None if good else "must be a month like 2026-10"


def month_span(month: str, zone: str) -> tuple[float, float]:
    """The month begins at its first moment in that zone and ends with the first moment of the next."""
    first = datetime.strptime(month, "%Y-%m").replace(tzinfo=ZoneInfo(zone))
    after = first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1)
    return first.timestamp(), after.timestamp()


def month_back(now: float, zone: str, back: int) -> str:
    """The month so many months before the present one."""
    present = datetime.fromtimestamp(now, ZoneInfo(zone))
    years, month = divmod(present.year * 12 + present.month - 1 - back, 12)
    return f"{years:04}-{month + 1:02}"


def month_name(month: str) -> str:
    """October 2026"""
    return f"{datetime.strptime(month, '%Y-%m'):%B %Y}"
