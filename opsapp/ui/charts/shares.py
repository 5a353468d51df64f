"""How many recovered, how long the others stayed broken, and where the time of an answer went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from opsapp.ui.markup import joined, markup

from .frame import (
    MILLISECONDS,
    PERCENT,
    TOP,
    ActMark,
    Scale,
    TableRow,
    crosshair,
    inner,
    outer,
    table,
    text,
    value_axis,
)

MOST_DISCS = 60  # above this a disc is too small to be counted: a bar says the share


class Drop(NamedTuple):
    """From `after` seconds on, only this share (0 to 1) is still broken."""

    after: float
    share: float


class TrialCount(NamedTuple):
    name: str
    recovered: int
    total: int


class PhaseTime(NamedTuple):
    name: str
    ms: float


def survival(drops: Sequence[Drop], horizon: float, act: ActMark | None = None) -> Markup:
    """`drops` and `act.at` are in seconds since the trigger."""
    height = 86
    scale = Scale(100, height)
    within = [drop for drop in drops if drop.after <= horizon]
    d, share = "M0 0", 1.0
    for drop in within:
        d += f"H{drop.after * 1000 / horizon:.1f}V{scale.inner(drop.share * 100):g}"
        share = drop.share
    d += "H1000"
    shapes = markup('<path class="ar" d="{0}V100H0z"/><path class="ln" d="{0}"/>', d)
    y = TOP + height + 16
    plot = value_axis(scale, PERCENT, most=2) + inner(shapes, height)
    plot += text(0, y, "0 s") + text(50, y, seconds(horizon / 2), "middle") + text(100, y, seconds(horizon), "end")
    if act is not None:
        x = round(min(100.0, act.at * 100 / horizon), 1)
        line = '<line class="b-edge-heal" x1="{0:g}%" x2="{0:g}%" y1="{1}" y2="{2}"/>'
        plot += markup(line, x, TOP, TOP + height)
        plot += text(x, TOP + height - 6, f" {act.words}", "start" if x < 60 else "end", "heal")
    label = f"Still broken if nobody acts: {PERCENT.words(share * 100)} after {seconds(horizon)}"
    rows = [_row(Drop(0, 1.0), horizon, scale)] + [_row(drop, horizon, scale) for drop in within]
    figures = table("Still broken if nobody acts", ("After", "Still broken"), rows)
    newest = rows[-1].cells
    read = markup(
        '<figcaption class="read"><span>after <b data-c="0">{}</b></span><span><b data-c="1">{}</b> still broken</span>'
        "</figcaption>",
        *newest,
    )
    shown = outer(label, height, plot + crosshair(rows, height))
    return markup('<figure class="chart" data-read>{}{}{}</figure>', read, shown, figures)


def _row(drop: Drop, horizon: float, scale: Scale) -> TableRow:
    share = 100 * drop.share
    cells = (seconds(drop.after), PERCENT.words(round(share)))
    return TableRow(round(drop.after * 100 / horizon, 1), (scale.y(share),), cells)


def seconds(length: float) -> str:
    return f"{length:,.0f} s" if length < 300 else f"{length / 60:,.0f} min"


def lift(healed: TrialCount, alone: TrialCount) -> Markup:
    """Two rows of discs: nothing done above, healed below. It is its own table."""
    rows = joined(_discs(trials) for trials in (alone, healed))
    return markup('<div class="lift">{}</div>', rows)


def _discs(trials: TrialCount) -> Markup:
    if trials.total == 0:
        return markup('<span>{}</span><span class="meta">no case yet</span><span>–</span>', trials.name)
    label = f"{trials.recovered} of {trials.total} recovered in time"
    if trials.total > MOST_DISCS:
        share = trials.recovered * 100 / trials.total
        bar = '<rect class="sw-off" width="100%" height="8" y="6" rx="4"/>'
        shape = markup(bar + '<rect class="d-on" width="{:.1f}%" height="8" y="6" rx="4"/>', share)
    else:
        disc = '<circle class="{}" cx="{}" cy="10" r="6"/>'
        looks = ["d-on"] * trials.recovered + ["d-off"] * (trials.total - trials.recovered)
        shape = joined(markup(disc, look, 8 + 16 * number) for number, look in enumerate(looks))
    box = "" if trials.total > MOST_DISCS else f' viewBox="0 0 {16 * max(16, trials.total)} 20"'
    frame = '<span>{}</span><svg height="20" role="img" aria-label="{}"' + box + ' preserveAspectRatio="xMinYMid meet">'
    return markup(frame + "{}</svg><b>{}</b>", trials.name, label, shape, f"{trials.recovered} of {trials.total}")


def interval(label: str, low: float, value: float, high: float) -> Markup:
    """Draw the range that the true effect lies in, from -100 to 100 points, and its middle."""
    left, at, right = (50 + max(-100.0, min(100.0, points)) / 2 for points in (low, value, high))
    shapes = markup(
        '<line class="base" x1="0" x2="100%" y1="9" y2="9"/><line class="cross" x1="50%" x2="50%" y1="1" y2="17"/>'
        '<line class="b-span" x1="{:g}%" x2="{:g}%" y1="9" y2="9"/><circle class="dot" cx="{:g}%" cy="9" r="4"/>',
        left,
        right,
        at,
    )
    words = text(0, 30, "100 fewer") + text(50, 30, "no effect", "middle") + text(100, 30, "100 more", "end")
    start = '<svg class="plot interval" width="100%" height="34" role="img" aria-label="{}">{}</svg>'
    return markup(start, f"{label}: between {low:.0f} and {high:.0f} points, the middle is {value:.0f}", shapes + words)


SHADES = (0.25, 0.4, 0.55, 0.85)


def phases(parts: Sequence[PhaseTime]) -> Markup:
    """Draws the phases as one bar and a list of figures, which is its table."""
    total = sum(part.ms for part in parts)
    if not total:
        return Markup("")
    shapes, x = Markup(""), 0.0
    for number, part in enumerate(parts):
        width = part.ms * 100 / total
        shade = SHADES[number % len(SHADES)]
        rect = '<rect x="{:.1f}%" width="{:.1f}%" height="12" fill="currentColor" fill-opacity="{}"/>'
        shapes += markup(rect, x, max(0.3, width - 0.3), shade)
        x += width
    label = ", ".join(f"{part.name} {MILLISECONDS.words(part.ms)}" for part in parts)
    bar = markup('<svg class="phase" width="100%" height="12" role="img" aria-label="{}">{}</svg>', label, shapes)
    figures = joined(
        markup("<div><dt>{}</dt><dd>{}</dd></div>", part.name, MILLISECONDS.words(part.ms)) for part in parts
    )
    return bar + markup('<dl class="kv cols mt">{}</dl>', figures)
