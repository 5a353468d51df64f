"""What breaks next: the forecast that comes true first, in a sentence and as a fan.

Pure. Must not: forecast; the API does, and says how often it was right.
"""

from __future__ import annotations

from datetime import timezone, tzinfo
from typing import NamedTuple
from urllib.parse import quote
from zoneinfo import ZoneInfo

from markupsafe import Markup

from opsapp.healing.overview_answers import NextBreak
from opsapp.lib.jsontypes import JsonObject
from opsapp.ui.charts import PERCENT, PLAIN, Limit, TimeAxis, fan
from opsapp.ui.reader import UTC, Reader
from opsapp.ui.sentences import Word, span

from .fans import fan_told

BEHIND_S, AHEAD_MOST_S = 86_400, 14 * 86_400
WORDS = {"cpu_percent": "CPU", "mem_percent": "Memory", "disk_percent": "Disk", "swap_percent": "Swap"}


class NextLine(NamedTuple):
    what: str
    host: Word
    words: str
    hits_at: int
    between: str
    chart: Markup


def breaks_next(
    forecast: NextBreak | None, of_host: list[JsonObject] | None, history: list[JsonObject] | None, reader: Reader
) -> NextLine | None:
    """`of_host` are the forecasts of its host, with their fans."""
    if forecast is None:
        return None
    what = (forecast.metric, forecast.mount)
    same = (row for row in of_host or () if (row["metric"], row["mount"]) == what)
    fan_of: JsonObject = next(same, {"fan": [], "coverage": forecast.coverage})
    unit = PERCENT if _is_share(forecast) else PLAIN
    place = Word(forecast.hostname, f"/agents/{quote(forecast.agent_id, safe='')}")
    between = ""
    if forecast.low is not None and forecast.high is not None:
        between = f"between {span(forecast.low - reader.now)} and {span(forecast.high - reader.now)}"
    return NextLine(
        _what(forecast),
        place,
        f"reaches {unit.words(forecast.threshold)} in",
        forecast.hits_at,
        between,
        _chart(forecast, fan_of, history or [], reader),
    )


def _what(forecast: NextBreak) -> str:
    return str(forecast.mount or WORDS.get(forecast.metric) or forecast.metric)


def _is_share(forecast: NextBreak) -> bool:
    return bool(forecast.metric.endswith("percent") or forecast.mount)


def _chart(forecast: NextBreak, fan_of: JsonObject, history: list[JsonObject], reader: Reader) -> Markup:
    """What was measured, and ahead of now what the forecast says at its own points: nothing where it says nothing."""
    points = [(point["time"], value) for point in history if (value := _value(point, forecast)) is not None]
    if not points:
        points = [(int(reader.now), forecast.now)]
    now, top = reader.now, 100.0 if _is_share(forecast) else None
    end = min(now + AHEAD_MOST_S, max(now + BEHIND_S, forecast.hits_at + (forecast.hits_at - now) * 0.25))
    outlook = fan_told({**fan_of, "fan": [point for point in fan_of["fan"] if point["at"] <= end]}, now, top)
    unit = PERCENT if _is_share(forecast) else PLAIN
    limit = Limit(forecast.threshold, f"alarm at {unit.words(forecast.threshold)}")
    axis = TimeAxis(now - BEHIND_S, end, _zone(reader), live=False)
    title = f"{_what(forecast)} on {forecast.hostname}"
    ats, values = [at for at, _ in points], [value for _, value in points]
    return fan(title, axis, ats, values, outlook, limit, unit, top, height=110)


def _zone(reader: Reader) -> tzinfo:
    return timezone.utc if reader.zone == UTC else ZoneInfo(reader.zone)


def _value(point: JsonObject, forecast: NextBreak) -> float | None:
    value = point["disks"].get(forecast.mount) if forecast.mount else point.get(forecast.metric)
    return value if isinstance(value, int | float) else None
