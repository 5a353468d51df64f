"""What a plugin says and measures, for the page of its monitor and for its form."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from opsapp.lib.addresses import HIDDEN
from opsapp.monitoring.engine import MetricPoint
from opsapp.monitoring.records import MetricNow
from opsapp.ui import charts
from opsapp.ui.reader import Reader

MOST_CHARTS = 24
FEW_SECONDS = 10.0
UNITS = {"B": charts.BYTES, "%": charts.PERCENT, "c": charts.PLAIN, "": charts.PLAIN}


class MetricShown(NamedTuple):
    name: str
    now: str
    drawing: Markup


def _seconds(value: float) -> str:
    short = abs(value) < FEW_SECONDS
    return f"{charts.grouped(value * 1000)} ms" if short else f"{charts.grouped(value)} s"


def unit_named(name: str) -> charts.Unit:
    return charts.Unit(_seconds) if name == "s" else UNITS.get(name) or charts.unit_of(name)


def written(metric: MetricNow) -> str:
    return unit_named(metric.unit).words(metric.value)


def command_line(command: Sequence[str]) -> str:
    return " ".join(word if word == HIDDEN else shlex.quote(word) for word in command)


def metrics_of(
    metrics: Mapping[str, MetricNow], points: Sequence[MetricPoint], axis: charts.TimeAxis, step: int, reader: Reader
) -> list[MetricShown]:
    names = sorted({*metrics, *(name for point in points for name in point.metrics)})
    times = [min(reader.now, point.time + step / 2) for point in points]
    shown = []
    for name in names[:MOST_CHARTS]:
        unit = unit_named(metrics[name].unit if name in metrics else "")
        curve = charts.Curve(name, [point.metrics.get(name) for point in points])
        drawing = charts.line_chart(name, axis, times, [curve], charts.Looks(unit=unit, step=step, height=90))
        shown.append(MetricShown(name, written(metrics[name]) if name in metrics else "–", drawing))
    return shown
