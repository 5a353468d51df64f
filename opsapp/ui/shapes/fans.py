"""A forecast of the API as the chart wants it. Pure. Must not: forecast, or tell an interval that the API does not."""

from __future__ import annotations

from opsapp.lib.jsontypes import JsonObject
from opsapp.ui.charts import Outlook


def fan_told(forecast: JsonObject, now: float, top: float | None, words: str = "") -> Outlook:
    """What lies ahead of now, cut where the scale ends."""

    def cut(value: float) -> float:
        return value if top is None else min(top, max(0.0, value))

    ahead = [point for point in forecast["fan"] if point["at"] > now]
    return Outlook(
        [point["at"] for point in ahead],
        [cut(point["expected"]) for point in ahead],
        [(cut(point["half_low"]), cut(point["half_high"])) for point in ahead],
        [(cut(point["low"]), cut(point["high"])) for point in ahead],
        words,
        trust_of(forecast),
    )


def trust_of(forecast: JsonObject) -> str:
    if forecast["coverage"] is None:
        return "not tried in back-tests yet"
    return f"the truth lay within in {forecast['coverage'] * 100:.0f} % of back-tests"
