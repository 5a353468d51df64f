"""History points from buckets of checks. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from opsapp.lib.jsontypes import JsonObject
from opsapp.monitoring.logic.uptime import percent

RANGE_H = (1, 17_520)  # two years, as long as hourly roll-ups are kept
RESOLUTION_S = (1, 86_400)


def point(start_ms: int, status: str, checks: int, values: Sequence[Any]) -> JsonObject:
    """`values`: mean, min, max, median and p95 in ms, each None where no check of the bucket was answered; and uptime,
    None where nobody knows it."""
    mean, low, high, median, p95, uptime = values
    return {
        "time": start_ms // 1000,
        "status": status,
        "response_time_ms": None if mean is None else round(mean),
        "min_ms": low,
        "max_ms": high,
        "median_ms": median,
        "p95_ms": p95,
        "uptime": uptime,
        "checks": checks,
    }


def points(buckets: Iterable[Any], names: Sequence[str]) -> list[JsonObject]:
    """A bucket without checks is no point; `names` are the statuses by code (0: before the first verdict)."""
    return [
        point(bucket.start, names[bucket.worst], bucket.checks, _values(bucket)) for bucket in buckets if bucket.checks
    ]


def _values(bucket: Any) -> tuple[float | None, ...]:
    return (bucket.mean, bucket.low, bucket.high, bucket.median, bucket.p95, percent(bucket.up, bucket.down))
