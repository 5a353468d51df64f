"""A forecast as the API answers it. Must not: read a store, word a page."""

from __future__ import annotations

from typing import Annotated

from opsapp.wire.dataclass import frozen
from opsapp.wire.records import Between

from .logic.forecast import FanPoint


@frozen
class MeasuredHour:
    at: int
    value: float


@frozen
class ForecastRecord:
    """By `likely_by` three of four outcomes meet the threshold; null: half of them never do. `coverage`: how often the
    interval held in back-tests; `false_alarms` in 1,000 days; null: not tried. `sudden`: a rise as never before."""

    agent_id: str
    metric: str
    mount: str | None
    now: float
    threshold: float
    hits_at: int | None
    low: int | None
    high: int | None
    likely_by: int | None = None
    coverage: Annotated[float | None, Between(0, 1)] = None
    false_alarms: Annotated[float | None, Between(0)] = None
    sudden: bool = False
    fan: tuple[FanPoint, ...] = ()
    past: tuple[MeasuredHour, ...] = ()
