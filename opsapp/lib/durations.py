"""Spans of time as people write them: `90s`, `30m`, `2h`, `1h30m`, `1d`."""

from __future__ import annotations

import re
import sys

FARTHEST = sys.float_info.max
UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
FORM = re.compile("".join(f"(?:([0-9]{{1,6}}){unit})?" for unit in UNITS))


def seconds(span: float | str) -> float:
    """A number of seconds, or a text, as seconds; ValueError for anything else."""
    if isinstance(span, bool) or not isinstance(span, int | float | str):
        raise ValueError("a duration is a number of seconds or a text like 1h30m")
    if not isinstance(span, str):
        if not -FARTHEST <= span <= FARTHEST:  # nor NaN, nor an integer that no float holds
            raise ValueError("a duration must be a finite number of seconds")
        return float(span)
    match = FORM.fullmatch(span)
    if not span or match is None:
        raise ValueError(f"{span!r} is no duration: write 90s, 30m, 2h, 1h30m or 1d")
    return float(sum(int(count) * unit for count, unit in zip(match.groups("0"), UNITS.values(), strict=True)))
