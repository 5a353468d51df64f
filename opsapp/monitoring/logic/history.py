"""History points from buckets of checks. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from opsapp.lib.jsontypes import JsonObject

RANGE_H = (1, 17_520)  # two years, as long as hourly roll-ups are kept
RESOLUTION_S = (1, 86_400)


def point(start_ms: int, status: str, checks: int, values: Sequence[Any]) -> JsonObject:
    """`values`: mean, min, max and p95 in ms, each None where no check of the bucket was answered."""
    mean, low, high, p95 = values
    return {
        "time": start_ms // 1000,
        "status": status,
        "response_time_ms": None if mean is None else round(mean),
        "min_ms": low,
        "max_ms": high,
        "p95_ms": p95,
        "checks": checks,
    }


def points(buckets: Iterable[Any], names: Sequence[str]) -> list[JsonObject]:
    """A bucket without checks is no point; `names` are the statuses by code (0: before the first verdict)."""
    return [
        point(bucket.start, names[bucket.worst], bucket.checks, (bucket.mean, bucket.low, bucket.high, bucket.p95))
        for bucket in buckets
        if bucket.checks
    ]
