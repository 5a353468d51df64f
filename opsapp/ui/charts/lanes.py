"""The lanes of a moment: marks, states and readings over one time axis, with one crosshair. Each lane is an SVG of its
own. Must not: know what a lane is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from opsapp.ui.markup import joined, markup

from .frame import Scale, TableRow, TimeAxis, Unit, clock_words, scale_of, table, text, time_ticks
from .lines import Curve, paths

HEAD, ROW, GLYPH = 14, 22, 16  # px: above a plot, for its highest value; of a row of marks or states, of a sign
LETTER = 0.85  # of a word beside a mark, in percent of the width of a desktop; a phone shows none
APART = 1.9  # in percent: a sign that is nearer to the one before stands in the list only
FLAG = 46
HEIGHTS = {"ok": 4, "maint": 4, "warn": 8, "bad": 12, "hid": 10}


class LaneShown(NamedTuple):
    """Of two lines the second is thin. `figures` are those under the crosshair."""

    name: str
    unit: Unit
    curves: tuple[Curve, ...]
    gap_s: float
    top: float | None = None
    limit: float | None = None
    height: int = 48


class MarkShown(NamedTuple):
    since: float
    until: float | None
    look: str
    words: str
    short: str
    href: str


class StateShown(NamedTuple):
    """A stretch of a row: from then on it stood so."""

    since: float
    until: float
    kind: str
    word: str


class DrawnLane(NamedTuple):
    drawing: Markup
    scale: Scale


def lane(axis: TimeAxis, times: Sequence[float], shown: LaneShown, place: int) -> DrawnLane:
    """`place`: the number of the first of its columns in the table."""
    known = [value for curve in shown.curves for value in curve.values if value is not None]
    limits = [] if shown.limit is None else [shown.limit]
    scale = scale_of([*known, *limits], shown.height, shown.top)
    foot = HEAD + shown.height
    lines = paths(axis, times, shown.curves, shown.gap_s, scale)
    if limits:
        y = round(foot - shown.height * limits[0] / scale.top, 1)
        lines += markup('<path class="limit" d="M0 {:g}H1000"/>', scale.inner(limits[0]))
        words = text(0, y - 3, f"slow above {shown.unit.words(limits[0])}", look="bad")
    else:
        words = Markup("")
    parts = [
        markup('<line class="grid" x1="0" x2="100%" y1="{0}" y2="{0}"/>', HEAD),
        markup('<line class="base" x1="0" x2="100%" y1="{0}" y2="{0}"/>', foot),
        markup(
            '<svg y="{}" width="100%" height="{}" viewBox="0 0 1000 100" preserveAspectRatio="none"', HEAD, shown.height
        ),
        markup(' overflow="visible">{}</svg>', lines),
        text(0, HEAD - 4, shown.unit.words(scale.top) if known else "nothing was measured in this time"),
        words,
        *(
            markup('<circle class="dot" r="3" data-c="{}" visibility="hidden"/>', place + number)
            for number in range(len(shown.curves))
        ),
    ]
    label = f"{shown.name}: {told(shown)}"
    return DrawnLane(_plot(foot + 4, label, joined(parts)), scale)


def told(shown: LaneShown) -> str:
    sentences = []
    for curve in shown.curves:
        known = [value for value in curve.values if value is not None]
        if known:
            sentences.append(f"{curve.name} between {shown.unit.words(min(known))} and {shown.unit.words(max(known))}")
    return "; ".join(sentences) or "nothing was measured in this time"


def y_of(value: float | None, shown: LaneShown, scale: Scale) -> float | None:
    """Where its dot stands."""
    return None if value is None else round(HEAD + shown.height * scale.inner(value) / 100, 1)


def marks(axis: TimeAxis, rows: Sequence[tuple[str, Sequence[MarkShown]]]) -> Markup:
    """One row for each kind, so that they do not cover each other."""
    parts = []
    for number, (name, row) in enumerate(rows):
        base = number * ROW + 18
        parts.append(markup('<text class="n" x="0" y="{}">{}</text>', base, name))
        free = -APART
        for place, mark in enumerate(row):
            left, right = axis.x(mark.since), axis.x(axis.end if mark.until is None else mark.until)
            lasts = mark.until is not None and right - left > APART
            if left - free < APART and not lasts:
                continue
            after = axis.x(row[place + 1].since) if place + 1 < len(row) else 100.0
            begins = max(left, right) if lasts else left
            fits = begins + 2 + len(mark.short) * LETTER < after
            parts.append(_mark(mark, (left, right if lasts else left), base, fits=fits))
            free = left
    return _plot(len(rows) * ROW + 4, "What happened, the same as in the list of events", joined(parts), "group")


def _mark(mark: MarkShown, ends: tuple[float, float], base: int, *, fits: bool) -> Markup:
    left, right = ends
    kind, _, icon = mark.look.partition(":")
    tone = "" if icon else kind
    shapes = []
    if right > left:
        look = "b-maint" if kind == "maint" else f"s-{kind}" if tone in ("bad", "warn") else "mk-bar"
        high = 14 if kind == "maint" else 6
        bar = '<rect class="{}" x="{:g}%" width="{:g}%" y="{:g}" height="{}"/>'
        shapes.append(markup(bar, look, left, round(right - left, 2), base - 4 - high / 2, high))
    if right == left or kind not in ("maint", "icon"):
        shapes.append(_sign(left, base - 12, kind, icon))
    if fits:
        shapes.append(markup('<text class="w {}" x="{:g}%" y="{}" dx="12">{}</text>', tone, right, base, mark.short))
    return markup('<a href="{0}" aria-label="{1}"><title>{1}</title>{2}</a>', mark.href, mark.words, joined(shapes))


def _sign(x: float, y: float, kind: str, icon: str) -> Markup:
    if icon:
        ring = '<circle class="mk" cx="{0:g}%" cy="{1:g}" r="8.5"/><use class="mk-i" href="#i-{2}" x="{0:g}%" y="{3:g}"'
        return markup(ring + ' width="11" height="11" transform="translate(-5.5 0)"/>', x, y + 8, icon, y + 2.5)
    sign = (
        '<use class="g {0}" href="#g-{0}" x="{1:g}%" y="{2:g}" width="{3}" height="{3}" transform="translate(-8 0)"/>'
    )
    return markup(sign, kind, x, y, GLYPH)


def states(axis: TimeAxis, rows: Sequence[tuple[str, Sequence[StateShown]]]) -> Markup:
    parts = []
    for number, (name, row) in enumerate(rows):
        base = number * ROW + 20
        parts.append(markup('<text class="n" x="0" y="{}">{}</text>', base - 10, name))
        for state in row:
            left, right = axis.x(state.since), axis.x(state.until)
            high = HEIGHTS.get(state.kind, 4)
            bar = '<rect class="s-{}" x="{:g}%" width="{:g}%" y="{}" height="{}"/>'
            parts.append(markup(bar, state.kind, left, max(0.2, round(right - left, 2)), base - high, high))
    label = "; ".join(f"{name}: {', '.join(dict.fromkeys(state.word for state in row))}" for name, row in rows)
    return _plot(len(rows) * ROW + 4, label, joined(parts))


def head(axis: TimeAxis) -> Markup:
    ticks = "".join(text(x, 13, words, "middle") for x, words in time_ticks(axis))
    return markup('<svg class="plot" height="20" aria-hidden="true">{}</svg>', Markup(ticks))


def behind(axis: TimeAxis, down: Sequence[tuple[float, float]]) -> Markup:
    """The lines of the time axis through all lanes, and what was down."""
    lines = [markup('<line class="grid" x1="{0:g}%" x2="{0:g}%" y1="20" y2="100%"/>', x) for x, _ in time_ticks(axis)]
    for since, until in down:
        left, right = axis.x(since), axis.x(until)
        shape = '<rect class="b-down" x="{:g}%" width="{:g}%" y="20" height="100%"/>'
        lines.append(markup(shape, left, max(0.2, round(right - left, 2))))
    return joined(lines)


def flag(x: float, words: str) -> Markup:
    """It slides along its line, so that it never leaves the axis."""
    wide = max(FLAG, 7 * len(words) + 10)
    pattern = (
        '<svg class="plot" height="24" aria-hidden="true"><svg class="flag-at" x="{0:g}%" overflow="visible">'
        '<g transform="translate({1:g} 0)"><rect class="flag-b" x="-{2}" y="2" width="{3}" height="19" rx="4"/>'
        '<text class="flag" x="0" y="15.5" text-anchor="middle">{4}</text></g></svg></svg>'
    )
    return markup(pattern, x, round((50 - x) * wide / 100, 1), wide // 2, wide, words)


def figures(
    axis: TimeAxis,
    times: Sequence[float],
    step: float,
    lanes: Sequence[tuple[LaneShown, Scale]],
    rows: Sequence[tuple[str, Sequence[StateShown]]],
) -> tuple[Markup, list[TableRow]]:
    """Figures for the crosshair: the middle of each bucket, what was measured, and how things stood."""
    made = []
    for number, at in enumerate(times):
        values = [(curve.values[number], shown, scale) for shown, scale in lanes for curve in shown.curves]
        cells = ["–" if value is None else shown.unit.words(value) for value, shown, _ in values]
        cells += [next((state.word for state in reversed(row) if state.since <= at), "unknown") for _, row in rows]
        ys = tuple(y_of(value, shown, scale) for value, shown, scale in values)
        made.append(TableRow(axis.x(at), ys, (clock_words(at, axis, step), *cells)))
    titles = [
        shown.name if curve is shown.curves[0] else f"{shown.name}, {curve.name}"
        for shown, _ in lanes
        for curve in shown.curves
    ]
    return table("All lanes", ["Time", *titles, *(name for name, _ in rows)], made), made


def _plot(height: int, label: str, shapes: Markup, role: str = "img") -> Markup:
    return markup('<svg class="plot" height="{}" role="{}" aria-label="{}">{}</svg>', height, role, label, shapes)
