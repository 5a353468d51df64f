"""The numbers that decide when a rule is promoted, demoted or a step is skipped. `healing:` of the YAML sets them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DAY = 86400.0


@dataclass(frozen=True)
class Promotion:
    """`notify` leads to `approve` after `triggers` within `window_s`; `approve` to `execute` by the rest."""

    triggers: int = 10
    window_s: float = 7 * DAY
    executions: int = 10
    success_rate: float = 0.85
    bound: float = 0.75  # the sequential lower bound must be above it


@dataclass(frozen=True)
class Breaker:
    """So many failed cases in a row, within so long, put a rule from `execute` back to `notify`."""

    failures: int = 3
    window_s: float = 3600.0


@dataclass(frozen=True)
class Cusum:
    """A change from the success rate `good` to `bad` is noticed when the sum reaches `threshold`."""

    good: float = 0.92
    bad: float = 0.60
    threshold: float = 4.5


@dataclass(frozen=True)
class Skip:
    """A step is skipped below `rate`, from `outcomes` outcomes on; it is tried again every `retry_s`."""

    rate: float = 0.30
    outcomes: int = 5
    hosts: int = 3  # so many hosts must have contributed before the fleet's outcomes count for another host
    half_life_s: float = 30 * DAY
    retry_s: float = 7 * DAY


@dataclass(frozen=True)
class Recurrence:
    """So many heals of one target by one rule within `window_s` suggest that the cause is elsewhere."""

    heals: int = 10
    window_s: float = 7 * DAY


@dataclass(frozen=True)
class Thresholds:
    promotion: Promotion = field(default_factory=Promotion)
    breaker: Breaker = field(default_factory=Breaker)
    cusum: Cusum = field(default_factory=Cusum)
    skip: Skip = field(default_factory=Skip)
    recurrence: Recurrence = field(default_factory=Recurrence)


def thresholds_of(section: Mapping[str, Any]) -> Thresholds:
    """From `healing:` of the YAML, already checked and complete."""
    return Thresholds(
        Promotion(**section["promotion"]),
        Breaker(**section["breaker"]),
        Cusum(**section["cusum"]),
        Skip(**section["skip"]),
        Recurrence(**section["recurrence"]),
    )
