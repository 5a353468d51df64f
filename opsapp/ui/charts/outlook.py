"""A forecast as a fan: measured, expected, and how far it may come out otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from opsapp.ui.markup import joined, markup

from .frame import (
    PERCENT,
    TOP,
    Limit,
    Scale,
    TableRow,
    TimeAxis,
    Unit,
    clock_words,
    inner,
    limits_of,
    outer,
    scale_of,
    table,
    text,
    time_axis,
    value_axis,
)


class Outlook(NamedTuple):
    """Half of all outcomes lie in `half`, 95 of 100 in `most`, each (low, high)."""

    times: Sequence[float]
    expected: Sequence[float]
    half: Sequence[tuple[float, float]]
    most: Sequence[tuple[float, float]]
    words: str = ""  # when the threshold is reached: "19 h, likely 14 to 27 h"
    trust: str = ""  # "right in 94 % of back-tests"


def fan(
    title: str,
    axis: TimeAxis,
    times: Sequence[float],
    values: Sequence[float],
    outlook: Outlook,
    limit: Limit | None = None,
    unit: Unit = PERCENT,
    top: float | None = None,
    height: int = 186,
) -> Markup:
    """`axis` reaches from what was measured into the future: it is not `live`."""
    reach = [*values, *outlook.expected, *(limit.value for limit in [limit] if limit)]
    if top is None:
        reach += [high for _, high in outlook.most]
    scale = scale_of(reach, height, top)
    limits = [limit] if limit else []
    line_of_limit, words_of_limit = limits_of(limits, scale)
    plot = (
        value_axis(scale, unit, [line.value for line in limits])
        + inner(_fan_shapes(axis, times, values, outlook, scale) + line_of_limit, height)
        + time_axis(axis, height)
        + words_of_limit
        + _now(axis, times, values, scale)
    )
    newest = unit.words(values[-1]) if values else "–"
    told = [f"{newest} now", *(words for words in (outlook.words, outlook.trust) if words)]
    label = f"{title}: {'; '.join(told)}"
    rows = [
        *(_row(axis, at, unit.words(value), "", scale.y(value)) for at, value in zip(times, values, strict=True)),
        *(
            _row(axis, at, f"{unit.words(value)} expected", _between(pair, unit), scale.y(value))
            for at, value, pair in zip(outlook.times, outlook.expected, outlook.most, strict=True)
        ),
    ]
    figures = table(title, ("When", title, "95 of 100 outcomes"), rows)
    shape = '<figure class="chart">{}{}{}</figure>'
    return markup(shape, _read(newest, outlook), outer(label, height, plot), figures)


def _between(pair: tuple[float, float], unit: Unit) -> str:
    return f"{unit.words(pair[0])} to {unit.words(pair[1])}"


def _row(axis: TimeAxis, at: float, words: str, likely: str, y: float) -> TableRow:
    return TableRow(axis.x(at), (y,), (clock_words(at, axis), words, likely))


def _read(newest: str, outlook: Outlook) -> Markup:
    key = '<span class="key"><svg aria-hidden="true"><rect class="{}" width="14" height="10"/></svg>{}</span>'
    told = [markup("<span>{}</span>", words) for words in (outlook.words, outlook.trust) if words]
    parts = [markup("<span><b>{}</b> now</span>", newest)]
    if outlook.times:
        parts += [markup(key, "fan2", "half of all outcomes"), markup(key, "fan1", "95 of 100")]
    return markup('<figcaption class="read">{}</figcaption>', joined([*parts, *told]))


def _fan_shapes(
    axis: TimeAxis, times: Sequence[float], values: Sequence[float], outlook: Outlook, scale: Scale
) -> Markup:
    measured = [(at, value) for at, value in zip(times, values, strict=True)]
    shapes = []
    if measured:
        floor = f"L{_x(axis, measured[-1][0])} 100L{_x(axis, measured[0][0])} 100z"
        shapes.append(markup('<path class="ar" d="{}"/>', _path(axis, measured, scale) + floor))
    if outlook.times:
        start = measured[-1:]
        for look, pairs in (("fan1", outlook.most), ("fan2", outlook.half)):
            upper = start + [(at, high) for at, (_, high) in zip(outlook.times, pairs, strict=True)]
            lower = start + [(at, low) for at, (low, _) in zip(outlook.times, pairs, strict=True)]
            d = _path(axis, [*upper, *reversed(lower)], scale) + "z"
            shapes.append(markup('<path class="{}" d="{}"/>', look, d))
        ahead = start + list(zip(outlook.times, outlook.expected, strict=True))
        shapes.append(markup('<path class="ln fan" d="{}"/>', _path(axis, ahead, scale)))
    if measured:
        shapes.append(markup('<path class="ln" d="{}"/>', _path(axis, measured, scale)))
    return joined(shapes)


def _x(axis: TimeAxis, at: float) -> str:
    return f"{axis.x(at) * 10:g}"


def _path(axis: TimeAxis, points: Sequence[tuple[float, float]], scale: Scale) -> str:
    return "M" + "L".join(f"{_x(axis, at)} {scale.inner(value):g}" for at, value in points)


def _now(axis: TimeAxis, times: Sequence[float], values: Sequence[float], scale: Scale) -> Markup:
    """A line where the past ends, and a dot on the newest value."""
    if not times:
        return Markup("")
    x, foot = axis.x(times[-1]), TOP + scale.height
    line = markup('<line class="base" x1="{0:g}%" x2="{0:g}%" y1="{1}" y2="{2}"/>', x, TOP, foot)
    dot = markup('<circle class="dot" cx="{:g}%" cy="{:g}" r="3.5"/>', x, scale.y(values[-1]))
    return line + dot + text(x, 10, "now", "middle")
