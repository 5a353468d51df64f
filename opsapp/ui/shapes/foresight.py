"""What breaks next: the forecast that comes true first, in a sentence and as a fan.

Pure. Must not: forecast; the API does, and says how often it was right.
"""

from __future__ import annotations

from datetime import timezone, tzinfo
from typing import NamedTuple
from urllib.parse import quote
from zoneinfo import ZoneInfo

from markupsafe import Markup

from opsapp.lib.jsontypes import JsonObject
from opsapp.ui.charts import PERCENT, PLAIN, Limit, Outlook, TimeAxis, fan
from opsapp.ui.reader import UTC, Reader
from opsapp.ui.sentences import Word, span

from .fans import trust_of

BEHIND_S, AHEAD_MOST_S, STEPS = 86_400, 14 * 86_400, 12
HALF_OF = 0.344  # how far the middle half of outcomes reaches, of what 95 in 100 reach
WORDS = {"cpu_percent": "CPU", "mem_percent": "Memory", "disk_percent": "Disk", "swap_percent": "Swap"}


class NextLine(NamedTuple):
    what: str
    host: Word
    words: str
    hits_at: int
    between: str
    chart: Markup


def breaks_next(forecast: JsonObject | None, history: list[JsonObject] | None, reader: Reader) -> NextLine | None:
    if forecast is None:
        return None
    unit = PERCENT if _is_share(forecast) else PLAIN
    place = Word(forecast["hostname"], f"/agents/{quote(forecast['agent_id'], safe='')}")
    between = ""
    if forecast["low"] is not None and forecast["high"] is not None:
        between = f"between {span(forecast['low'] - reader.now)} and {span(forecast['high'] - reader.now)}"
    return NextLine(
        _what(forecast),
        place,
        f"reaches {unit.words(forecast['threshold'])} in",
        forecast["hits_at"],
        between,
        _chart(forecast, history or [], reader),
    )


def _what(forecast: JsonObject) -> str:
    return str(forecast["mount"] or WORDS.get(forecast["metric"]) or forecast["metric"])


def _is_share(forecast: JsonObject) -> bool:
    return bool(forecast["metric"].endswith("percent") or forecast["mount"])


def _chart(forecast: JsonObject, history: list[JsonObject], reader: Reader) -> Markup:
    points = [(point["time"], value) for point in history if (value := _value(point, forecast)) is not None]
    if not points:
        points = [(int(reader.now), forecast["now"])]
    now, top = reader.now, 100 if _is_share(forecast) else None
    end = min(now + AHEAD_MOST_S, max(now + BEHIND_S, forecast["hits_at"] + (forecast["hits_at"] - now) * 0.25))
    times = [now + (end - now) * step / STEPS for step in range(1, STEPS + 1)]
    expected = [_ahead(forecast, at, forecast["hits_at"], now, top) for at in times]
    early, late = forecast["low"] or forecast["hits_at"], forecast["high"] or forecast["hits_at"]
    most = [(_ahead(forecast, at, late, now, top), _ahead(forecast, at, early, now, top)) for at in times]
    half = [
        (middle - (middle - low) * HALF_OF, middle + (high - middle) * HALF_OF)
        for middle, (low, high) in zip(expected, most, strict=True)
    ]
    unit = PERCENT if _is_share(forecast) else PLAIN
    outlook = Outlook(times, expected, half, most, trust=trust_of(forecast))
    limit = Limit(forecast["threshold"], f"alarm at {unit.words(forecast['threshold'])}")
    axis = TimeAxis(now - BEHIND_S, end, _zone(reader), live=False)
    title = f"{_what(forecast)} on {forecast['hostname']}"
    ats, values = [at for at, _ in points], [value for _, value in points]
    return fan(title, axis, ats, values, outlook, limit, unit, top, height=110)


def _zone(reader: Reader) -> tzinfo:
    return timezone.utc if reader.zone == UTC else ZoneInfo(reader.zone)


def _value(point: JsonObject, forecast: JsonObject) -> float | None:
    value = point["disks"].get(forecast["mount"]) if forecast["mount"] else point.get(forecast["metric"])
    return value if isinstance(value, int | float) else None


def _ahead(forecast: JsonObject, at: float, hits_at: float, now: float, top: float | None) -> float:
    """On the straight way from now to the threshold, and on beyond it."""
    grown = (forecast["threshold"] - forecast["now"]) * (at - now) / max(60.0, hits_at - now)
    value = float(forecast["now"] + grown)
    return max(0.0, value if top is None else min(top, value))
