"""What every chart over time stands in: time axis, scale, bands, and the table of its figures. Words are placed in the
outer SVG and never stretch; lines lie in an inner one, 1000 wide and 100 high, that does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta, timezone, tzinfo
from math import ceil, floor, log10
from typing import NamedTuple

from markupsafe import Markup

from opsapp.ui.markup import joined, markup

TOP, FOOT = 14, 20  # above the plot: words of bands; below: the time axis
MINUTE, HOUR, DAY = 60, 3600, 86_400
LETTER = 1.8  # the width of a letter in percent of a chart on a phone
SMALL, LETTER_OF_SMALL = 100, 3.0  # charts no higher than this stand beside each other, and are narrow
STEPS = (MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, DAY, 7 * DAY, 31 * DAY)
MOST_TICKS = 7


class Unit(NamedTuple):
    """How values are written; `binary` units have steps of 1, 2, 4, 8 …"""

    words: Callable[[float], str]
    binary: bool = False


class TimeAxis(NamedTuple):
    """The time that a chart shows; `live` ones end now."""

    start: float
    end: float
    zone: tzinfo = timezone.utc
    live: bool = True

    def x(self, at: float) -> float:
        """In percent of the width."""
        length = max(1.0, self.end - self.start)
        return round(min(100.0, max(0.0, (at - self.start) * 100 / length)), 2)

    @property
    def length(self) -> float:
        return self.end - self.start


class Limit(NamedTuple):
    value: float
    words: str


class ActMark(NamedTuple):
    """`kind`: heal (an act), or bad, warn, ok (what was seen)."""

    at: float
    words: str
    kind: str = "heal"


class Scale(NamedTuple):
    """Values from zero up to heights. `height` is that of the plot without its axes, in pixels."""

    top: float
    height: int

    def inner(self, value: float) -> float:
        """In the inner SVG, of which 0 is the top and 100 the base."""
        return round(100 - 100 * min(1.0, max(0.0, value / self.top)), 1)

    def y(self, value: float) -> float:
        return round(TOP + self.height * self.inner(value) / 100, 1)


def grouped(value: float) -> str:
    """Three digits that count, thousands apart: 1,240; 12.4; 0.34."""
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2
    text = f"{value:,.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def unit_of(name: str) -> Unit:
    return Unit(lambda value: f"{grouped(value)} {name}".rstrip())


def _milliseconds(value: float) -> str:
    return f"{value:,.0f} ms" if abs(value) < 10_000 else f"{grouped(value / 1000)} s"


def _bytes(value: float) -> str:
    size, names = value, ["B", "KiB", "MiB", "GiB", "TiB"]
    while abs(size) >= 1024 and len(names) > 1:
        size /= 1024
        del names[0]
    return f"{grouped(size)} {names[0]}"


MILLISECONDS, PERCENT, BYTES, PLAIN = Unit(_milliseconds), unit_of("%"), Unit(_bytes, binary=True), unit_of("")
RATE = Unit(lambda value: f"{_bytes(value)}/s", binary=True)


def scale_of(values: Iterable[float], height: int, top: float | None) -> Scale:
    """Up to `top`, or to a little above the highest value."""
    reach = max(values, default=0) * 1.1 if top is None else top
    return Scale(reach if reach > 0 else 1, height)


def ticks(scale: Scale, *, binary: bool = False, most: int = 3) -> list[float]:
    """Round values, few."""
    least = scale.top / most
    if binary:
        step = 1.0
        while step < least:
            step *= 2
    else:
        power = 10.0 ** floor(log10(least))
        step = next(power * multiple for multiple in (1, 2, 2.5, 5, 10) if power * multiple >= least * 0.999)
    return [number * step for number in range(1, floor(scale.top / step + 1e-9) + 1)]


def clock_words(at: float, axis: TimeAxis, step: float = 0) -> str:
    """No more of the time than a chart of this length needs."""
    local = datetime.fromtimestamp(at, axis.zone)
    if step >= DAY:
        return f"{local.day} {local:%b %Y}"
    if axis.length > 6 * DAY:
        return f"{local:%a} {local.day} {local:%b}, {local:%H:%M}"
    if axis.length > DAY / 2:
        return f"{local:%a %H:%M}"
    return f"{local:%H:%M:%S}" if axis.length <= 20 * MINUTE else f"{local:%H:%M}"


def time_ticks(axis: TimeAxis) -> list[tuple[float, str]]:
    """(x in percent, words) of round local times: hours of the reader's day, days, months."""
    step = next((candidate for candidate in STEPS if axis.length / candidate <= MOST_TICKS), STEPS[-1])
    marks = []
    for at in _round_times(axis, step):
        local = datetime.fromtimestamp(at, axis.zone)
        if step >= 31 * DAY:
            words = f"{local:%b %Y}" if local.month == 1 else f"{local:%b}"
        elif step >= 7 * DAY or (step == DAY and axis.length > 8 * DAY):
            words = f"{local.day} {local:%b}"
        elif step == DAY:
            words = f"{local:%a} {local.day}"
        else:
            words = f"{local:%H:%M}"
        marks.append((axis.x(at), words))
    thin = ceil(len(marks) / MOST_TICKS) or 1
    return [mark for mark in marks[::thin] if 12 <= mark[0] <= 90]


def _round_times(axis: TimeAxis, step: int) -> list[float]:
    """Local times that are whole multiples of `step`, through changes of the clock."""
    local = datetime.fromtimestamp(axis.start, axis.zone).replace(tzinfo=None)
    local = local.replace(hour=0, minute=0, second=0, microsecond=0)
    times = []
    while (at := local.replace(tzinfo=axis.zone).timestamp()) <= axis.end:
        if at >= axis.start:
            times.append(at)
        if step >= 31 * DAY:
            local = (local.replace(day=1) + timedelta(days=32)).replace(day=1)
        else:
            local += timedelta(seconds=step)
    return times


def edges(axis: TimeAxis) -> tuple[str, str]:
    long = axis.length > 6 * DAY
    start, end = (datetime.fromtimestamp(at, axis.zone) for at in (axis.start, axis.end))
    year = f" {start.year}" if start.year != end.year else ""
    first = f"{start.day} {start:%b}{year}" if long else f"{start:%a %H:%M}"
    last = "now" if axis.live else f"{end.day} {end:%b}" if long else f"{end:%a %H:%M}"
    return first, last


def time_axis(axis: TimeAxis, height: int) -> Markup:
    y = TOP + height + 16
    first, last = edges(axis)
    letter = LETTER_OF_SMALL if height <= SMALL else LETTER
    free = len(first) * letter + letter  # what the words at the ends leave, on a phone
    end = 100 - len(last) * letter
    words = Markup("")
    for x, label in time_ticks(axis):
        half = len(label) * letter / 2
        if free + half <= x <= end - half:
            words += text(x, y, label, "middle")
            free = x + half + half / 2
    return text(0, y, first) + words + text(100, y, last, "end")


def text(x: float, y: float, words: str, anchor: str = "start", look: str = "") -> Markup:
    kind = markup(' class="{}"', look) if look else ""
    where = markup(' text-anchor="{}"', anchor) if anchor != "start" else ""
    return markup('<text{} x="{:g}%" y="{:g}"{}>{}</text>', kind, x, y, where, words)


def value_axis(scale: Scale, unit: Unit, taken: Sequence[float] = (), most: int = 3) -> Markup:
    base = TOP + scale.height
    parts = [markup('<line class="base" x1="0" x2="100%" y1="{0}" y2="{0}"/>', base)]
    for value in ticks(scale, binary=unit.binary, most=most):
        y = scale.y(value)
        parts.append(markup('<line class="grid" x1="0" x2="100%" y1="{0:g}" y2="{0:g}"/>', y))
        if all(abs(scale.y(other) - y) > 13 for other in taken):
            parts.append(text(0, y - 4, unit.words(value)))
    return joined(parts)


def bands_of(held: Sequence[tuple[float, float]], axis: TimeAxis, height: int) -> Markup:
    """When a condition held."""
    parts = []
    for start, end in held:
        if end < axis.start or start > axis.end:
            continue
        left = axis.x(start)
        width = max(0.2, round(axis.x(end) - left, 1))
        shape = '<rect class="b-bad" x="{:g}%" y="{}" width="{:g}%" height="{}"/>'
        parts.append(markup(shape, min(left, 100 - width), TOP, width, height))
    return joined(parts)


def limits_of(limits: Sequence[Limit], scale: Scale) -> tuple[Markup, Markup]:
    lines = [markup('<path class="limit" d="M0 {:g}H1000"/>', scale.inner(limit.value)) for limit in limits]
    words = [text(0, scale.y(limit.value) - 4, limit.words, look="bad") for limit in limits]
    return joined(lines), joined(words)


def marks_of(marks: Sequence[ActMark], axis: TimeAxis, height: int) -> Markup:
    parts = []
    for mark in marks:
        if not axis.start <= mark.at <= axis.end:
            continue
        x = axis.x(mark.at)
        shape = '<line class="b-edge-{3}" x1="{0:g}%" x2="{0:g}%" y1="{1}" y2="{2}"/>'
        parts.append(markup(shape, x, TOP, TOP + height, mark.kind))
        left = x + len(mark.words) * LETTER <= 100
        parts.append(text(x, 10, mark.words, "start" if left else "end", mark.kind) if mark.words else Markup(""))
    return joined(parts)


def inner(shapes: Markup, height: int) -> Markup:
    start = '<svg x="0" y="{}" width="100%" height="{}" viewBox="0 0 1000 100" preserveAspectRatio="none"'
    return markup(start + ' overflow="visible">{}</svg>', TOP, height, shapes)


def outer(label: str, height: int, shapes: Markup) -> Markup:
    start = '<div class="plot-in"><svg class="plot" height="{}" role="img" aria-label="{}">{}</svg></div>'
    return markup(start, TOP + height + FOOT, label, shapes)


class TableRow(NamedTuple):
    x: float
    ys: tuple[float | None, ...]
    cells: tuple[str, ...]


def table(label: str, titles: Sequence[str], rows: Sequence[TableRow]) -> Markup:
    head = joined(markup("<th>{}", title) for title in titles)
    body = joined(
        markup(
            '<tr data-x="{:g}" data-y="{}">{}',
            row.x,
            " ".join("-" if y is None else f"{y:g}" for y in row.ys),
            joined(markup("<td>{}", cell) for cell in row.cells),
        )
        for row in rows
    )
    start = '<details class="data"><summary>The figures as a table</summary><div tabindex="0" role="region"'
    rest = ' aria-label="{0}"><table><caption class="vh">{0}</caption><thead><tr>{1}<tbody>{2}</table></div></details>'
    return markup(start + rest, f"{label}, figures", head, body)


def crosshair(rows: Sequence[TableRow], height: int) -> Markup:
    """At the newest moment: dots on the lines. The line through them shows when somebody reads."""
    if not rows:
        return Markup("")
    newest = rows[-1]
    line = '<line class="cross" x1="{0:g}%" x2="{0:g}%" y1="{1}" y2="{2}" visibility="hidden"/>'
    dot = '<circle class="dot" cx="{:g}%" cy="{:g}" r="3.5"{}/>'
    hidden = Markup(' visibility="hidden"')
    dots = joined(markup(dot, newest.x, y or 0, "" if y is not None else hidden) for y in newest.ys)
    return markup(line, newest.x, TOP, TOP + height) + dots
