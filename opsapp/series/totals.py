"""What a series comes to over a long span. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from opsapp.series import sketch
from opsapp.series.rollup import HOUR, Rollup, merge, percentile
from opsapp.series.tails import Spell, TailHours


class Total(NamedTuple):
    checks: int
    spent: tuple[int, ...]  # ms in each of STATES
    p95: float | None = None

    @property
    def up(self) -> int:
        return self.spent[0] + self.spent[1]

    @property
    def down(self) -> int:
        return self.spent[2]


class MergedHours(NamedTuple):
    """The p95s by hours since the epoch, and the rollup of them all."""

    p95s: Mapping[int, float | None]
    whole: Rollup


class DayHours(NamedTuple):
    """Those that are not merged first, and the whole."""

    tail: Mapping[int, float]
    merged: Mapping[int, float | None]
    p95: float | None

    def p95_of(self, hour: int) -> float | None:
        return self.tail.get(hour, self.merged.get(hour))


def merged_hours(hours: list[Rollup]) -> MergedHours:
    return MergedHours({hour.start // HOUR: hour.p95 for hour in hours}, merge(hours)[0])


def apart(hours: list[Rollup]) -> DayHours:
    """The hours of one series as those of a day."""
    if not hours:
        return DayHours({}, {}, None)
    merged = merged_hours(hours)
    return DayHours({}, merged.p95s, merged.whole.p95)


def day_hours(merged: MergedHours | None, tail: TailHours) -> DayHours:
    if merged is None:
        return DayHours(tail.p95s, {}, _p95(None, tail.spell))
    return DayHours(tail.p95s, merged.p95s, _p95(merged.whole, tail.spell))


def total_of(merged: Rollup) -> Total:
    return Total(merged.checks, merged.spent, merged.p95)


def joined(merged: Rollup | None, spell: Spell, *, percentiles: bool) -> Total | None:
    """None where neither has anything."""
    if merged is None:
        p95 = _p95(None, spell) if percentiles else None
        return Total(spell.checks, tuple(spell.spent), p95) if spell.seen else None
    spent = tuple([a + b for a, b in zip(merged.spent, spell.spent, strict=True)])
    return Total(merged.checks + spell.checks, spent, _p95(merged, spell) if percentiles else None)


def _p95(merged: Rollup | None, spell: Spell) -> float | None:
    """Exact of rows alone. Without the sketch of a part nobody knows it."""
    values = spell.values
    if merged is None or not merged.valued:
        return percentile(values) if values else None
    if not values:
        return merged.p95
    if not merged.sketch or merged.low is None or merged.high is None:
        return None
    low, high = min(merged.low, values[0]), max(merged.high, values[-1])
    return min(max(sketch.joint_percentile(merged.sketch, values), low), high)
