"""A forecast in words and as a picture, from the same points. Must not: tell an interval that the API does not."""

from __future__ import annotations

from zoneinfo import ZoneInfo

from markupsafe import Markup

from opsapp.healing.foretold import ForecastRecord
from opsapp.ui.charts import PERCENT, PLAIN, Limit, Outlook, TimeAxis, Unit, fan
from opsapp.ui.reader import Reader
from opsapp.ui.sentences import span

METRICS = {"cpu_percent": "CPU", "mem_percent": "Memory", "disk_percent": "Disk", "swap_percent": "Swap"}
INODES = "inodes."
DAY_S = 86_400


def what_of(forecast: ForecastRecord) -> str:
    metric = forecast.metric
    if metric.startswith(INODES):
        return f"Inodes of {disk_of(forecast)}"
    return str(forecast.mount or METRICS.get(metric) or metric)


def disk_of(forecast: ForecastRecord) -> str | None:
    """ "" for that of the whole host; None for what is no disk."""
    metric = forecast.metric
    if metric.startswith(INODES):
        return str(metric.removeprefix(INODES).removesuffix(".percent"))
    return forecast.mount or ("" if metric == "disk_percent" else None)


def unit_of(forecast: ForecastRecord) -> Unit:
    return PERCENT if forecast.metric.endswith("percent") or forecast.mount else PLAIN


def reaches(forecast: ForecastRecord) -> str:
    """May, where half of all outcomes do not get there."""
    return "reaches" if forecast.likely_by is not None else "may reach"


def between(forecast: ForecastRecord, now: float) -> str:
    """The interval that the picture shows where its edges meet the threshold."""
    low, high = forecast.low, forecast.high
    if low is None:
        return ""
    return f"between {span(low - now)} and {span(high - now)}" if high else f"not before {span(low - now)}, or never"


def chart_of(forecast: ForecastRecord, title: str, reader: Reader, height: int = 110) -> Markup:
    unit = unit_of(forecast)
    top = 100.0 if unit is PERCENT else None
    measured = [*((hour.at, hour.value) for hour in forecast.past), (int(reader.now), forecast.now)]
    outlook = fan_told(forecast, reader.now, top)
    end = max([reader.now + DAY_S, *outlook.times])
    axis = TimeAxis(reader.now - DAY_S, end, ZoneInfo(reader.zone), live=False)
    limit = Limit(forecast.threshold, f"alarm at {unit.words(forecast.threshold)}")
    times, values = [at for at, _ in measured], [value for _, value in measured]
    return fan(title, axis, times, values, outlook, limit, unit, top, height)


def fan_told(forecast: ForecastRecord, now: float, top: float | None, words: str = "") -> Outlook:
    """What lies ahead of now, cut where the scale ends."""

    def cut(value: float) -> float:
        return value if top is None else min(top, max(0.0, value))

    ahead = [point for point in forecast.fan if point.at > now]
    return Outlook(
        [point.at for point in ahead],
        [cut(point.expected) for point in ahead],
        [(cut(point.half_low), cut(point.half_high)) for point in ahead],
        [(cut(point.low), cut(point.high)) for point in ahead],
        words,
        trust_of(forecast),
    )


def trust_of(forecast: ForecastRecord) -> str:
    if forecast.coverage is None:
        return "not tried in back-tests yet"
    return f"the truth lay within in {forecast.coverage * 100:.0f} % of back-tests"
