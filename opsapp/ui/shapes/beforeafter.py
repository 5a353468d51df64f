"""The readings around a case or an incident as charts, with what happened as marks: those that the condition names, as
far as their history is kept; else what is kept of the host."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import ceil
from typing import NamedTuple, TypeVar
from zoneinfo import ZoneInfo

from markupsafe import Markup

from opsapp.healing.answers import CaseShown, LedgerEntryShown
from opsapp.monitoring.engine import ResponsePoint
from opsapp.ui import charts
from opsapp.ui.charts import ActMark, Curve, Limit, Looks, Plot, TimeAxis
from opsapp.ui.parts import CASE, HostPoint
from opsapp.ui.reader import Answers, Reader
from opsapp.ui.sentences import act
from opsapp.ui.words import MINUTE
from opsapp.wire.conditions import Comparison, ConditionError, Literal, Name, Several, parse
from opsapp.wire.readings import split

from .monitors import word_of

P = TypeVar("P", HostPoint, ResponsePoint)
AROUND_S = 3600
STEPS = (60, 120, 300, 900, 3600, 21_600, 86_400)
MOST_POINTS = 150
APART = 3.0  # in percent of the width: marks that are nearer have one number together
KEPT = {  # what is kept of a host -> (title, unit, top)
    "cpu_percent": ("CPU", charts.PERCENT, 100.0),
    "mem_percent": ("Memory", charts.PERCENT, 100.0),
    "swap_percent": ("Swap", charts.PERCENT, 100.0),
    "disk_percent": ("The fullest disk", charts.PERCENT, 100.0),
    "load1": ("Load, 1 min", charts.PLAIN, None),
    "load5": ("Load, 5 min", charts.PLAIN, None),
    "load15": ("Load, 15 min", charts.PLAIN, None),
    "rx_bytes_s": ("Network, in", charts.RATE, None),
    "tx_bytes_s": ("Network, out", charts.RATE, None),
}
CONTEXT = ("cpu_percent", "mem_percent", "load1")  # shown where no history is kept of what the condition reads
SIDES = {">": "above", ">=": "from", "<": "below", "<=": "up to", "==": "equal to", "!=": "other than"}
ENDS = {  # of a step: (glyph, words)
    "verified": ("ok", "measured again: it helped"),
    "failed": ("bad", "it did not help"),
    "rolled_back": ("warn", "it did not help and was undone"),
    "inconclusive": ("warn", "nobody can tell whether it helped"),
    "lost": ("bad", "no answer came back"),
}


Happened = tuple[float, str, str]  # (when, glyph, words)


class Around(NamedTuple):
    start: float
    end: float
    step: int
    live: bool


class ShownMoment(NamedTuple):
    number: int
    at: float
    look: str
    words: str


class BeforeAfter(NamedTuple):
    """`note`: what is shown where it is not what the condition reads; `zoomed`: a part was chosen."""

    charts: tuple[Markup, ...]
    moments: tuple[ShownMoment, ...]
    note: str
    zoomed: bool


def around(opened_at: float, closed_at: float | None, reader: Reader) -> Around:
    """The time from an hour before to an hour after, or what the address asks for."""
    start, last = opened_at - AROUND_S, min(reader.now, (closed_at or reader.now) + AROUND_S)
    chosen = [_whole(reader.asked(name)) for name in ("from", "to")]
    zoomed = None not in chosen
    if zoomed:
        low, high = (value or 0 for value in chosen)
        if high - low >= MINUTE and start <= low and high <= reader.now:
            start, last = low, high
    step = next((length for length in STEPS if (last - start) / length <= MOST_POINTS), STEPS[-1])
    return Around(start, last, step, live=last >= reader.now)


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and len(text) < 12 else None


def query_of(time_range: Around) -> dict[str, str]:
    hours = min(17_520, max(1, ceil((time_range.end - time_range.start) / AROUND_S)))
    return {"range_h": str(hours), "resolution": str(time_range.step), "until": str(ceil(time_range.end))}


def asked_by_case(reader: Reader, earlier: Answers) -> dict[str, str]:
    case = earlier[CASE]
    return query_of(around(case.opened_at, case.closed_at, reader))


def of_case(
    case: CaseShown, host: Sequence[HostPoint], monitor: Sequence[ResponsePoint], reader: Reader
) -> BeforeAfter:
    time_range = around(case.opened_at, case.closed_at, reader)
    wanted, note = wanted_by(case.condition), ""
    checks, reports = _within(monitor, time_range), _within(host, time_range)
    points = checks or reports
    plots = monitor_plots(wanted, checks) if case.monitor_id else host_plots(wanted, reports)
    if not plots and points:
        plots = [plot for name in CONTEXT if (plot := _plot(name, reports, ())) is not None]
        names = ", ".join(wanted.names) or "what it reads"
        note = f"No history is kept of {names}: only figures have one. This is the host meanwhile." if plots else ""
    moments = moments_of(case)
    held = [(case.opened_at, held_until(case, reader.now))]
    drawn = draw(plots, points, time_range, moments, held, reader)
    return BeforeAfter(tuple(drawn), tuple(moments), note, bool(reader.asked("from") and reader.asked("to")))


def draw(
    plots: Sequence[Plot],
    points: Sequence[HostPoint | ResponsePoint],
    time_range: Around,
    moments: Sequence[ShownMoment],
    held: Sequence[tuple[float, float]],
    reader: Reader,
    height: int = 128,
) -> list[Markup]:
    axis = TimeAxis(time_range.start, time_range.end, ZoneInfo(reader.zone), time_range.live)
    times = [min(time_range.end, point.time + time_range.step / 2) for point in points]
    states = [_state(point, at, held) for point, at in zip(points, times, strict=True)]
    looks = Looks(height=height, step=max(time_range.step, usual_gap(times)), states=states, zoom=True)
    return charts.before_after(plots, axis, times, marks_of(moments, axis), held, looks)


def usual_gap(times: Sequence[float]) -> float:
    """What is seldom looked at has no gap between two looks."""
    gaps = sorted(later - earlier for earlier, later in pairwise(times))
    return gaps[len(gaps) * 4 // 5] if gaps else 0.0


def _state(point: HostPoint | ResponsePoint, at: float, held: Sequence[tuple[float, float]]) -> str:
    if isinstance(point, ResponsePoint):
        return word_of(point.status).lower()
    start, end = held[0]
    return "before" if at < start else "the condition holds" if at <= end else "after"


def marks_of(moments: Sequence[ShownMoment], axis: TimeAxis) -> list[ActMark]:
    """The numbers of those that stand close together are written as one."""
    groups: list[list[ShownMoment]] = []
    for moment in moments:
        if groups and axis.x(moment.at) - axis.x(groups[-1][0].at) < APART:
            groups[-1].append(moment)
        else:
            groups.append([moment])
    marks = []
    for group in groups:
        words = str(group[0].number) + (f"–{group[-1].number}" if len(group) > 1 else "")
        marks += [ActMark(moment.at, words if moment is group[0] else "", _kind(moment.look)) for moment in group]
    return marks


def _kind(look: str) -> str:
    return look if look in ("bad", "warn", "ok") else "heal"


class ReadByCondition(NamedTuple):
    names: tuple[str, ...] = ()
    comparisons: tuple[Comparison, ...] = ()

    def limits(self, *names: str) -> tuple[Limit, ...]:
        return tuple(
            Limit(part.right.value, f"condition: {SIDES[part.symbol]} {part.right.value:g}")
            for part in self.comparisons
            if isinstance(part.left, Name) and part.left.key in names
            if isinstance(part.right, Literal) and not isinstance(part.right.value, str)
        )


def wanted_by(condition: str) -> ReadByCondition:
    try:
        read = parse(condition)
    except ConditionError:
        return ReadByCondition()
    return ReadByCondition(read.names, tuple(_comparisons(read.tree)))


def _comparisons(tree: object) -> Iterator[Comparison]:
    """What has to hold: what must not hold has no line of its own."""
    if isinstance(tree, Comparison):
        yield tree
    elif isinstance(tree, Several):
        for part in tree.parts:
            yield from _comparisons(part)


def host_plots(wanted: ReadByCondition, points: Sequence[HostPoint]) -> list[Plot]:
    plots = [_plot(name, points, wanted.limits(name)) for name in wanted.names]
    return [plot for plot in plots if plot is not None]


def _plot(name: str, points: Sequence[HostPoint], limits: tuple[Limit, ...]) -> Plot | None:
    """One reading over time, where a history of it is kept and something was measured."""
    family, mount, _ = split(name)
    top: float | None
    if family == "disk" and mount:
        title, unit, top = f"Disk {mount}", charts.PERCENT, 100.0
        values = [point.disks.get(mount) for point in points]
    elif name in KEPT:
        title, unit, top = KEPT[name]
        values = [getattr(point, name) for point in points]
    else:
        return None
    if all(value is None for value in values):
        return None
    return Plot(title, (Curve(title, values),), unit, top, limits)


def monitor_plots(wanted: ReadByCondition, points: Sequence[ResponsePoint]) -> list[Plot]:
    """The response time: what every monitor has."""
    if not points:
        return []
    values = [point.p95_ms for point in points]
    limits = wanted.limits("response_time_ms", "monitor.response_time_ms")
    return [Plot("Response time", (Curve("95 % within", values),), charts.MILLISECONDS, None, limits)]


def _within(points: Iterable[P], time_range: Around) -> list[P]:
    return [point for point in points if time_range.start - time_range.step < point.time <= time_range.end]


def held_until(case: CaseShown, now: float) -> float:
    """As far as it is known: of a case that ended otherwise, until its end."""
    return float(case.recovered_at or case.closed_at or now)


def moments_of(case: CaseShown) -> list[ShownMoment]:
    """What happened, oldest first."""
    acted, entries = case.act, case.entries
    steps = [entry for entry in entries if entry.action_type]
    newest = next((entry for entry in reversed(steps) if not entry.rolls_back), None)
    happened: list[Happened] = [(case.opened_at, "bad", "the alert came")]
    for entry in steps:
        last = acted if entry is newest else None
        happened += _of_entry(entry, last.acted_at or last.began_at if last else entry.created_at)
    if case.recovered_at is not None and not any(look == "ok" for _, look, _ in happened):
        happened.append((case.recovered_at, "ok", "the condition was false again"))
    return numbered(happened)


def _of_entry(entry: LedgerEntryShown, at: float) -> list[Happened]:
    if entry.rolls_back:
        return [(entry.finished_at or entry.created_at, "warn", "it was undone")]
    if not entry.action_success:
        return []
    ended = ENDS.get(entry.outcome or "")
    done = [(at, "heal", act(entry).text)]
    return done + ([(entry.finished_at, *ended)] if ended and entry.finished_at is not None else [])


def numbered(happened: Iterable[Happened]) -> list[ShownMoment]:
    ordered = sorted(happened, key=lambda moment: moment[0])
    return [ShownMoment(number, *moment) for number, moment in enumerate(ordered, 1)]
