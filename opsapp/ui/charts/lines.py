"""Lines over time: response times, loads, readings before and after an act."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from opsapp.ui.markup import joined, markup

from .frame import (
    PLAIN,
    TOP,
    ActMark,
    Limit,
    Scale,
    TableRow,
    TimeAxis,
    Unit,
    bands_of,
    clock_words,
    crosshair,
    inner,
    limits_of,
    marks_of,
    outer,
    scale_of,
    table,
    text,
    time_axis,
    value_axis,
)

Values = Sequence[float | None]


class Curve(NamedTuple):
    """One line. `quiet` ones are thin."""

    name: str
    values: Values
    quiet: bool = False


class Plot(NamedTuple):
    title: str
    curves: tuple[Curve, ...]
    unit: Unit = PLAIN
    top: float | None = None
    limits: tuple[Limit, ...] = ()


class Looks(NamedTuple):
    unit: Unit = PLAIN
    top: float | None = None
    step: float = 0  # how far two times that belong together may be apart
    held: Sequence[tuple[float, float]] = ()  # from when to when a condition held, shown as bands
    limits: Sequence[Limit] = ()
    marks: Sequence[ActMark] = ()
    states: Sequence[str] = ()  # a word for each time
    height: int = 214
    zoom: bool = False  # dragging over it asks for the same page with ?from=…&to=…


def line_chart(
    title: str, axis: TimeAxis, times: Sequence[float], curves: Sequence[Curve], looks: Looks = Looks()
) -> Markup:
    """The figures of the newest moment above it, and its table below."""
    unit, height = looks.unit, looks.height
    known = [value for curve in curves for value in curve.values if value is not None]
    scale = scale_of([*known, *(limit.value for limit in looks.limits)], height, looks.top)
    runs = list(_runs(times, looks.step))
    lines_of_limits, words_of_limits = limits_of(looks.limits, scale)
    shapes = joined(_shapes(axis, times, curves, runs, scale))
    plot = (
        value_axis(scale, unit, [limit.value for limit in looks.limits], most=3 if height > 120 else 2)
        + bands_of(looks.held, axis, height)
        + inner(shapes + lines_of_limits, height)
        + time_axis(axis, height)
        + words_of_limits
        + marks_of(looks.marks, axis, height)
    )
    rows = rows_of(axis, times, curves, scale, looks)
    if not known:
        plot += text(50, TOP + height / 2, "Nothing was measured in this time.", "middle")
    plot += crosshair(rows, height)
    label = f"{title}: {described(curves, looks)}"
    titles = ["Time", *(curve.name for curve in curves), *(["State"] if looks.states else [])]
    return _figure(
        read_line(curves, rows, looks) + outer(label, height, plot),
        table(title, titles, rows) if rows else Markup(""),
        axis,
        zoom=looks.zoom,
    )


def before_after(
    plots: Sequence[Plot],
    axis: TimeAxis,
    times: Sequence[float],
    marks: Sequence[ActMark],
    held: Sequence[tuple[float, float]],
    looks: Looks,
) -> list[Markup]:
    nameless = [mark._replace(words="") for mark in marks]  # all stand over each other: each is named once
    made = []
    for number, plot in enumerate(plots):
        own = looks._replace(unit=plot.unit, top=plot.top, held=held, limits=plot.limits)
        own = own._replace(marks=marks if number == 0 else nameless)
        made.append(line_chart(plot.title, axis, times, plot.curves, own))
    return made


def _figure(shown: Markup, figures: Markup, axis: TimeAxis, *, zoom: bool) -> Markup:
    over = markup(' data-zoom="{:.0f} {:.0f}"', axis.start, axis.end) if zoom else ""
    return markup('<figure class="chart" data-read{}>{}{}</figure>', over, shown, figures)


def read_line(curves: Sequence[Curve], rows: Sequence[TableRow], looks: Looks) -> Markup:
    """The values of the newest moment, or of the one under the crosshair."""
    cells = rows[-1].cells if rows else ()
    parts = [markup('<b data-c="0">{}</b>', cells[0])] if cells else []
    for number, curve in enumerate(curves, 1):
        key = markup('<svg aria-hidden="true"><path class="ln{}" d="M0 5h14"/></svg>', " q" if curve.quiet else "")
        value = markup(' <b data-c="{}">{}</b>', number, cells[number]) if cells else ""
        parts.append(markup('<span class="key">{}{}{}</span>', key, curve.name, value))
    if looks.states and cells:
        parts.append(markup('<span data-c="{}">{}</span>', len(curves) + 1, cells[-1]))
    return markup('<figcaption class="read">{}</figcaption>', joined(parts))


def rows_of(
    axis: TimeAxis, times: Sequence[float], curves: Sequence[Curve], scale: Scale, looks: Looks
) -> list[TableRow]:
    rows = []
    for number, at in enumerate(times):
        values = [curve.values[number] for curve in curves]
        cells = [
            clock_words(at, axis, looks.step),
            *("–" if value is None else looks.unit.words(value) for value in values),
        ]
        if looks.states:
            cells.append(looks.states[number])
        ys = tuple(None if value is None else scale.y(value) for value in values)
        rows.append(TableRow(axis.x(at), ys, tuple(cells)))
    return rows


def described(curves: Sequence[Curve], looks: Looks) -> str:
    told = []
    for curve in curves:
        known = [value for value in curve.values if value is not None]
        if known:
            least, most, newest = (looks.unit.words(value) for value in (min(known), max(known), known[-1]))
            told.append(f"{curve.name} {newest}, between {least} and {most}")
    return "; ".join(told) if told else "nothing was measured in this time"


def _runs(times: Sequence[float], step: float) -> Iterator[range]:
    """The stretches of times that belong together."""
    begin = 0
    for number in range(1, len(times) + 1):
        if number == len(times) or (step and times[number] - times[number - 1] > 1.5 * step):
            yield range(begin, number)
            begin = number


def paths(axis: TimeAxis, times: Sequence[float], curves: Sequence[Curve], gap_s: float, scale: Scale) -> Markup:
    """Lines for the inner SVG, each broken where nothing was measured for longer than `gap_s`. Below the first one it
    is filled."""
    parts: list[Markup] = []
    for curve in reversed(curves):
        known = [(at, value) for at, value in zip(times, curve.values, strict=True) if value is not None]
        runs = list(_runs([at for at, _ in known], gap_s / 1.5))
        points = [_place(axis, at, value, scale) for at, value in known]
        parts += [] if curve.quiet else _floored(points, runs)
        parts.append(_line(curve, points, runs))
    return joined(parts)


def _shapes(
    axis: TimeAxis, times: Sequence[float], curves: Sequence[Curve], runs: Sequence[range], scale: Scale
) -> Iterator[Markup]:
    places = [
        [_place(axis, at, value, scale) for at, value in zip(times, curve.values, strict=True)] for curve in curves
    ]
    if len(curves) == 1:
        yield from _floored(places[0], runs)
    for curve, points in reversed(list(zip(curves, places, strict=True))):
        yield _line(curve, points, runs)


Place = tuple[float, float] | None


def _line(curve: Curve, points: Sequence[Place], runs: Sequence[range]) -> Markup:
    """A lone point becomes a short stroke, to stay in sight."""
    strokes = (
        part if len(part) > 1 else [part[0], (min(1000.0, part[0][0] + 2), part[0][1])]
        for part in _stretches(points, runs)
    )
    d = "".join("M" + "L".join(map(_pair, stroke)) for stroke in strokes)
    return markup('<path class="ln{}" d="{}"/>', " q" if curve.quiet else "", d)


def _floored(points: Sequence[Place], runs: Sequence[range]) -> list[Markup]:
    """The area from a line down to the base."""
    areas = [[*part, *((x, 100.0) for x, _ in reversed(part))] for part in _stretches(points, runs)]
    return [markup('<path class="ar" d="M{}z"/>', "L".join(map(_pair, area))) for area in areas]


def _place(axis: TimeAxis, at: float, value: float | None, scale: Scale) -> Place:
    return None if value is None else (round(axis.x(at) * 10, 1), scale.inner(value))


def _pair(place: tuple[float, float]) -> str:
    return f"{place[0]:g} {place[1]:g}"


def _stretches(points: Sequence[Place], runs: Sequence[range]) -> Iterator[list[tuple[float, float]]]:
    """The parts of each run without None."""
    for run in runs:
        part: list[tuple[float, float]] = []
        for place in [*points[run.start : run.stop], None]:
            if place is not None:
                part.append(place)
            elif part:
                yield part
                part = []
