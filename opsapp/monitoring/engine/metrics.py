"""What plugins measure beside a state: each metric is a series, whose number stands in the monitor's record.

The newest values are in the live view, under the names that conditions use. Must not: judge anything.
"""

from __future__ import annotations

import logging
from typing import Any, NamedTuple

from opsapp.lib.problems import Problem
from opsapp.monitoring.engine.register import Entry
from opsapp.monitoring.logic.history import MetricPoint
from opsapp.monitoring.queries import HistoryQuery
from opsapp.monitoring.records import MetricNow
from opsapp.monitoring.resources import Metric, Monitor, monitors_of
from opsapp.runtime.node import Node, node_of
from opsapp.series import Live, erasure
from opsapp.tree.root import Root
from opsapp.wire.probes import MOST_METRICS, Outcome
from opsapp.wire.readings import PLUGIN, STALE_AFTER_INTERVALS, metric_name

from . import changes

PUSH = "push"  # what a job measured holds until its next run
log = logging.getLogger(__name__)


class Measured(NamedTuple):
    """Measured values by the names that they are kept under."""

    values: dict[str, float]
    units: dict[str, str]


def measured(outcome: Outcome) -> Measured:
    """Agents have named them already; what they send is not taken on trust."""
    values: dict[str, float] = {}
    for told, value in (outcome.metrics or {}).items():
        name = metric_name(told)
        if name and len(values) < MOST_METRICS:
            values[name] = value
    units = {metric_name(told): unit for told, unit in (outcome.units or {}).items()}
    return Measured(values, {name: units.get(name, "") for name in values})


def observe(node: Node, entry: Entry, outcome: Outcome, now: float) -> None:
    """Called on the hub: the outcome goes into the history and the live view. It may wait for the store, where a metric
    is new."""
    values, units = measured(outcome)
    if not values:
        return
    if not units.items() <= {name: metric.unit for name, metric in entry.metrics.items()}.items():
        _name_new(node, entry, units, now)
    for name, value in values.items():
        if name in entry.metrics:
            node.series.journal.add(entry.metrics[name].series, int(now * 1000), value)
    live = node.series.live
    live.update(entry.subject, {PLUGIN + name: value for name, value in values.items()}, now)
    if live.names(entry.subject) > 3 * MOST_METRICS:  # labels that differ from check to check
        live.forget(entry.subject, _oldest(entry, now))


def _name_new(node: Node, entry: Entry, units: dict[str, str], now: float) -> None:
    """A store that is away has no history of this check; the next one names them again."""
    try:
        entry.metrics = node.transact(note, entry.id, entry.revision, units, now)
    except Problem as problem:
        log.warning("metrics have no series yet monitor=%s: %s", entry.id, problem)


def note(root: Root, monitor_id: str, revision: int, units: dict[str, str], now: float) -> dict[str, Metric]:
    """Transaction function: numbers for what is measured for the first time. Of more than there may be, only those
    measured now go on."""
    monitor = monitors_of(root).get(monitor_id)
    if monitor is None or monitor.revision != revision:
        return {}
    known = monitor.metrics
    new = sorted(units.keys() - known.keys())
    if len(known) + len(new) > MOST_METRICS:
        gone = [known.pop(name).series for name in known.keys() - units.keys()]
        erasure.forget(root, gone, int(now * 1000))
    numbers = node_of(root).series.numbers.take(len(new)) if new else ()
    known |= {name: Metric(number, "") for name, number in zip(new, numbers, strict=True)}
    known |= {name: Metric(known[name].series, unit) for name, unit in units.items()}
    monitor.keep_metrics(known)
    changes.tell(root, monitor, "metrics", now)
    return known


def shown(outcome: Outcome, now: float) -> dict[str, MetricNow] | None:
    values, units = measured(outcome)
    return {name: MetricNow(value, units[name], int(now)) for name, value in values.items()} or None


def current(entry: Entry, view: Live, now: float) -> dict[str, MetricNow] | None:
    """The newest values that are still valid, as the API shows them."""
    if not entry.settings.on_host and not entry.metrics:
        return None
    live: dict[str, tuple[Any, float]] = view.get(entry.subject)
    readings, oldest = {}, 0.0 if entry.settings.type == PUSH else _oldest(entry, now)
    for key in sorted(live):
        name, (value, at) = key.removeprefix(PLUGIN), live[key]
        if key.startswith(PLUGIN) and at >= oldest:
            unit = entry.metrics[name].unit if name in entry.metrics else ""
            readings[name] = MetricNow(value, unit, int(at))
    return readings


def _oldest(entry: Entry, now: float) -> float:
    return now - STALE_AFTER_INTERVALS * entry.settings.interval


def history(root: Root, monitor: Monitor, query: HistoryQuery) -> list[MetricPoint]:
    """Means per bucket of every metric; a bucket in which nothing was measured is left out."""
    node = node_of(root)
    reading, span = node.series.reading(root), query.span(int(node.clock.now() * 1000))
    means: dict[int, dict[str, float]] = {}
    for name, metric in sorted(monitor.metrics.items()):
        for bucket in reading.buckets(metric.series, *span):
            if bucket.mean is not None:
                means.setdefault(bucket.start, {})[name] = float(f"{bucket.mean:.12g}")
    return [MetricPoint(start // 1000, means[start]) for start in sorted(means)]
