"""The families of figures that /metrics is made of. Their library, 1.7 MB, is loaded when somebody asks for them.
Must not: know which figures there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, SummaryMetricFamily


def counter(
    name: str, told: str, value: float | None = None, labels: Sequence[str] | None = None
) -> CounterMetricFamily:
    from prometheus_client.core import CounterMetricFamily

    return CounterMetricFamily(name, told, value, labels)


def gauge(name: str, told: str, value: float | None = None, labels: Sequence[str] | None = None) -> GaugeMetricFamily:
    from prometheus_client.core import GaugeMetricFamily

    return GaugeMetricFamily(name, told, value, labels)


def summary(name: str, told: str, labels: Sequence[str]) -> SummaryMetricFamily:
    from prometheus_client.core import SummaryMetricFamily

    return SummaryMetricFamily(name, told, labels=labels)
