"""History points from buckets of checks. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from opsapp.monitoring.logic.state import STATUSES
from opsapp.monitoring.logic.uptime import percent
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Choice
from opsapp.wire.probes import MOST_METRICS
from opsapp.wire.records import Between, Most

RANGE_H = (1, 17_520)  # two years, as long as hourly roll-ups are kept
RESOLUTION_S = (1, 86_400)


@frozen
class ResponsePoint:
    """Times are None where no check of the bucket was answered; `uptime` where nobody knows it."""

    time: int
    status: Annotated[str, Choice(*STATUSES)]
    response_time_ms: int | None
    min_ms: float | None
    max_ms: float | None
    median_ms: float | None
    p95_ms: float | None
    uptime: Annotated[float | None, Between(0, 100)]
    checks: Annotated[int, Between(1)]


@frozen
class MetricPoint:
    time: int
    metrics: Annotated[dict[str, float], Most(MOST_METRICS)]


def points(buckets: Iterable[Any], names: Sequence[str]) -> list[ResponsePoint]:
    """A bucket without checks is no point; `names` are the statuses by code (0: before the first verdict)."""
    return [_point(bucket, names[bucket.worst]) for bucket in buckets if bucket.checks]


def _point(bucket: Any, status: str) -> ResponsePoint:
    mean = None if bucket.mean is None else round(bucket.mean)
    spread = (bucket.low, bucket.high, bucket.median, bucket.p95)
    return ResponsePoint(bucket.start // 1000, status, mean, *spread, percent(bucket.up, bucket.down), bucket.checks)
