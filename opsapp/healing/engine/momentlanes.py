"""The lanes of a moment: what was measured of a host and of monitors, in as many buckets as are drawn.

Read from roll-ups, in the caller's transaction: what a lane costs depends on its points, not on the years behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from opsapp.agents.resources import Agent
from opsapp.healing.logic.moments import AskedSpan
from opsapp.healing.moments import MomentCurve, MomentLane, StateRow, StateStretch
from opsapp.monitoring.resources import Monitor
from opsapp.series import NAMES, HistoryReader, Rollup
from opsapp.wire.readings import STALE_AFTER_INTERVALS, split

UNKNOWN, REPORTS = "unknown", "up"
MOST_DISKS = 3
OF_HOST = (
    ("CPU", "percent", (("CPU", "cpu_percent"),)),
    ("Memory", "percent", (("memory", "mem_percent"), ("swap", "swap_percent"))),
    ("Load", "plain", (("1 min", "load1"), ("15 min", "load15"))),
    ("Network", "rate", (("in", "rx_bytes_s"), ("out", "tx_bytes_s"))),
)
Points = Mapping[int, float | None]  # start of the bucket in s -> its value


class DrawnLanes(NamedTuple):
    times: tuple[int, ...]
    lanes: tuple[MomentLane, ...]
    states: tuple[StateRow, ...]


class _Lane(NamedTuple):
    name: str
    unit: str
    curves: Sequence[tuple[str, Points]]
    gap_s: float
    limit: float | None = None


def drawn(
    reading: HistoryReader, agent: Agent | None, interval: float, monitors: Sequence[Monitor], span: AskedSpan
) -> DrawnLanes:
    """Of the monitors the first has a lane of its own; how each of them stood is a row."""
    lanes: list[_Lane] = []
    rows: list[StateRow] = []
    for monitor in monitors:
        rollups = [rollup for rollup in _buckets(reading, monitor.series, span) if rollup.checks]
        gap = max(1.5 * span.step, STALE_AFTER_INTERVALS * float(monitor.settings["interval"]))
        if monitor is monitors[0]:
            lanes.append(_response(monitor, rollups, gap))
        seen = [(rollup.start // 1000, NAMES[rollup.worst]) for rollup in rollups]
        name = monitor.settings["name"]
        rows.append(StateRow(name, f"/monitors/{monitor.id}", stretches(seen, gap, span)))
    if agent is not None:
        gap = max(1.5 * span.step, STALE_AFTER_INTERVALS * interval)
        lanes += _of_host(reading, agent, span, gap)
        heard = sorted({at for lane in lanes[bool(monitors) :] for _, points in lane.curves for at in points})
        place = f"/agents/{agent.id}"
        rows.append(
            StateRow(agent.label or agent.hostname, place, stretches([(at, REPORTS) for at in heard], gap, span))
        )
    times = range(span.since - span.since % span.step, span.until, span.step)
    return DrawnLanes(tuple(times), tuple(_told(lane, times) for lane in lanes), tuple(rows))


def _buckets(reading: HistoryReader, number: int, span: AskedSpan, *, percentiles: bool = True) -> list[Rollup]:
    end = span.until * 1000 + 1
    return reading.buckets(number, span.since * 1000, end, span.step * 1000, percentiles=percentiles)


def _response(monitor: Monitor, rollups: Iterable[Rollup], gap: float) -> _Lane:
    halves = {rollup.start // 1000: rollup.median for rollup in rollups}
    most = {rollup.start // 1000: rollup.p95 for rollup in rollups}
    curves = (("half within", halves), ("95 % within", most))
    return _Lane("Response time", "milliseconds", curves, gap, monitor.settings["degraded_ms"])


def _of_host(reading: HistoryReader, agent: Agent, span: AskedSpan, gap: float) -> list[_Lane]:
    def points(name: str) -> Points:
        number = agent.series.get(name)
        rollups = [] if number is None else _buckets(reading, number, span, percentiles=False)
        return {rollup.start // 1000: rollup.mean for rollup in rollups if rollup.mean is not None}

    lanes = [
        _Lane(name, unit, [(title, points(kept)) for title, kept in kept_as], gap)
        for name, unit, kept_as in OF_HOST
        if kept_as[0][1] in agent.series
    ]
    mounts = {split(name)[1]: name for name in agent.series if split(name)[0] == "disk" and split(name)[1]}
    disks = [_Lane(f"Disk {mount}", "percent", [(mount, points(name))], gap) for mount, name in sorted(mounts.items())]
    disks.sort(key=lambda lane: -max((value or 0.0 for value in lane.curves[0][1].values()), default=0.0))
    return lanes + disks[:MOST_DISKS]


def _told(lane: _Lane, times: Sequence[int]) -> MomentLane:
    """A second line that says nothing is left out."""
    told = [(name, tuple(points.get(at) for at in times)) for name, points in lane.curves]
    kept = [curve for number, curve in enumerate(told) if number == 0 or any(curve[1])]
    curves = tuple(MomentCurve(name, tuple(_short(value) for value in values)) for name, values in kept)
    return MomentLane(lane.name, lane.unit, curves, lane.gap_s, lane.limit)  # type: ignore[arg-type]


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def stretches(seen: Sequence[tuple[int, str]], gap: float, span: AskedSpan) -> tuple[StateStretch, ...]:
    """What was seen lasts until the next is; where that comes too late, nobody knows what was between."""
    parts: list[StateStretch] = []

    def add(since: int, until: int, state: str) -> None:
        if parts and parts[-1].state == state:
            parts[-1] = StateStretch(parts[-1].since, until, state)
        elif until > since:
            parts.append(StateStretch(since, until, state))

    known_to = span.since
    for number, (at, state) in enumerate(seen):
        at = max(at, span.since)
        if at - known_to > gap or (number == 0 and at - span.since > gap):
            add(known_to, at, UNKNOWN)
        following = seen[number + 1][0] if number + 1 < len(seen) else span.until
        known_to = following if following - at <= gap else min(span.until, at + span.step)
        add(parts[-1].until if parts else span.since, known_to, state)
        if following > known_to:
            add(known_to, following, UNKNOWN)
            known_to = following
    if not seen:
        add(span.since, span.until, UNKNOWN)
    return tuple(parts)
