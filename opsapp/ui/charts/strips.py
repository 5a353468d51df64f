"""Bars, one for each check, half-hour or day, and lines as small as a word. The taller, the worse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from opsapp.ui.markup import joined, markup

from .frame import TableRow, table

SLOT, HEIGHT = 4, 22
LOOKS = {  # state -> (class, where the bar begins, from the top)
    "up": ("x-ok", 7),
    "degraded": ("x-warn", 4),
    "down": ("x-bad", 0),
    "maintenance": ("x-maint", 7),
    "paused": ("x-off", 17),
    "pending": ("x-off", 17),
    "unknown": ("x-off", 17),
}
ORDER = ("down", "degraded", "maintenance", "up", "paused", "pending", "unknown")
WORDS = {"pending": "not checked yet", "maintenance": "in maintenance"}


class Bar(NamedTuple):
    state: str
    when: str = ""
    words: str = ""


def bars(items: Sequence[Bar], label: str, slots: int = 0, *, told: str = "", look: str = "bars") -> Markup:
    """The newest at the right; of `slots`, those that are not there yet are left free. `told`: in words, where states
    mean something of their own."""
    count = max(slots, len(items), 1)
    paths = _paths([item.state for item in items], count)
    start = '<svg class="{}" viewBox="0 0 {} {}" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>'
    return markup(start, look, count * SLOT, HEIGHT, f"{label}: {told or summary(items)}", paths)


def strip(items: Sequence[Bar], label: str, ends: tuple[str, str]) -> Markup:
    """Large, with its ends named, a line that says what is under the finger, and its table."""
    if not items:
        return markup('<p class="dim">{}</p>', f"{label}: nothing was measured yet.")
    step = 100 / len(items)
    rows = [
        TableRow(round((number + 0.5) * step, 2), (), (item.when, item.words or said(item.state)))
        for number, item in enumerate(items)
    ]
    newest = rows[-1].cells
    shape = (
        '<figure class="chart strip" data-read><div class="plot-in">{}</div><div class="ends"><span>{}</span>'
        '<span>{}</span></div><figcaption class="read"><b data-c="0">{}</b><span data-c="1">{}</span></figcaption>'
        "{}</figure>"
    )
    return markup(shape, bars(items, label), *ends, *newest, table(label, ("When", "State"), rows))


def sparkline(values: Sequence[float | None], label: str, top: float | None = None) -> Markup:
    known = [value for value in values if value is not None]
    highest = max(top or 0, *known, 1e-9) if known else 1.0
    step = 88 / max(1, len(values) - 1)
    d, pen = [], "M"
    for number, value in enumerate(values):
        if value is None:
            pen = "M"
            continue
        d.append(f"{pen}{number * step:.1f} {21 - 20 * value / highest:.1f}")
        pen = "L" if pen == "M" else " "
    start = '<svg class="spark" viewBox="0 0 88 22" preserveAspectRatio="none" role="img" aria-label="{}">{}</svg>'
    line = markup('<path class="ln" d="{}"/>', "".join(d)) if known else ""
    return markup(start, label if known else f"{label}: nothing was measured", line)


def said(state: str) -> str:
    return WORDS.get(state, state)


def summary(items: Sequence[Bar]) -> str:
    """How many of each state, the worst first: for a reader who does not see the strip."""
    states = [item.state for item in items]
    told = [f"{states.count(state)} {said(state)}" for state in ORDER if state in states]
    return f"{', '.join(told)}; newest {said(states[-1])}" if told else "nothing was measured yet"


def _paths(states: Sequence[str], count: int) -> Markup:
    """One path for each look, however many bars it has."""
    drawn: dict[str, list[str]] = {}
    first = count - len(states)
    for number, state in enumerate(states, first):
        look, top = LOOKS[state]
        cut = f"V{top + 5}m0 3" if state == "maintenance" else ""
        drawn.setdefault(look, []).append(f"M{number * SLOT + 2} {top}{cut}V{HEIGHT}")
    return joined(markup('<path class="{}" d="{}"/>', look, "".join(d)) for look, d in drawn.items())
