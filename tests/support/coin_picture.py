"""docs/pictures/two-rules.svg: what the coin shows of a rule that earns its level and loses it.

Drawn from a history that the engine's own code has decided (`histories`).

`python -m tests.support.coin_picture` writes it.
"""

from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from tests.support.histories import History, constant

PICTURE = Path(__file__).resolve().parents[2] / "docs/pictures/two-rules.svg"
SEED, BEFORE, AFTER = "two rules", constant(0.3, 0.9), constant(0.97, 0.98)
CHANGED, END = 200, 400  # outages: the unit restarts itself from then on
WIDE, HIGH, LEFT, TOP = 640, 260, 56, 34
PLOT_W, PLOT_H = WIDE - LEFT - 14, HIGH - TOP - 44


class Seen(NamedTuple):
    level: str
    low: float | None
    high: float | None


def lived():
    """What was known after each outage."""
    history, seen = History(BEFORE, SEED), []
    for number in range(END):
        history.world = BEFORE if number < CHANGED else AFTER
        history.goes_on()
        usual = history.trust.trials.usual or (None, None)
        seen.append(Seen(history.trust.current_level, *usual))
    return seen


def moments(seen):
    """(When it came to act by itself, when that was taken from it)."""
    earned = next(number for number, now in enumerate(seen) if now.level == "execute")
    lost = next((number for number, now in enumerate(seen) if number > earned and now.level != "execute"), None)
    return earned, lost


def across(number):
    return round(LEFT + number * PLOT_W / END, 1)


def down(lift):
    return round(TOP + (1 - lift) / 2 * PLOT_H, 1)


def words(x, y, text, anchor="start", look="w"):
    return f'<text class="{look}" x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>'


def band(run):
    upper = [f"{across(number)},{down(now.high)}" for number, now in run]
    lower = [f"{across(number)},{down(now.low)}" for number, now in reversed(run)]
    return f'<polygon class="b" points="{" ".join((*upper, *lower))}"/>'


def picture():
    seen = lived()
    earned, lost = moments(seen)
    runs = [list(run) for known, run in groupby(enumerate(seen), lambda row: row[1].low is not None) if known]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" role="img">',
        f"<title>A rule earns its level after {earned + 1} outages and loses it {lost - CHANGED + 1} outages after "
        "its unit began to restart itself</title>",
        "<style>text{font:12px sans-serif;fill:#333}.s{font-size:11px;fill:#666}.b{fill:#6b4fbb;opacity:.45}"
        ".e{fill:#e3efe6}.z{stroke:#666}.m{stroke:#333;stroke-dasharray:3 3}</style>",
        f'<rect width="{WIDE}" height="{HIGH}" fill="#fff"/>',
        f'<rect class="e" x="{across(earned)}" y="{TOP}" width="{round(across(lost) - across(earned), 1)}" '
        f'height="{PLOT_H}"/>',
        *map(band, runs),
        f'<path class="z" d="M{LEFT} {down(0)}H{LEFT + PLOT_W}"/>',
        *(f'<path class="m" d="M{across(at)} {TOP}V{TOP + PLOT_H}"/>' for at in (earned, CHANGED, lost)),
        *(words(LEFT - 6, down(lift) + 4, f"{100 * lift:+.0f}", "end", "s") for lift in (1, 0.5, -0.5, -1)),
        words(LEFT - 6, down(0) + 4, "0", "end", "s"),
        words(LEFT, 14, "Points more that recover with the heal than without: 8 of 10 such ranges hold the truth"),
        words(across(earned) + 4, TOP + PLOT_H - 8, "acts by itself"),
        words(across(earned) - 4, TOP + PLOT_H - 8, "asks", "end"),
        words(across(lost) + 4, TOP + PLOT_H - 8, "asks again"),
        words(across(CHANGED), HIGH - 28, "the unit restarts itself from here on", "middle", "s"),
        words(LEFT + PLOT_W, HIGH - 8, f"{END} outages", "end", "s"),
        words(LEFT, HIGH - 8, "first outage", "start", "s"),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(picture())
    print("earned, lost:", moments(lived()))
