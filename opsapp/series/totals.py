"""What a series comes to over a long span: checks, how long each state lasted, and one percentile. Pure."""

from __future__ import annotations

from typing import NamedTuple

from opsapp.series import sketch
from opsapp.series.rollup import Rollup, percentile
from opsapp.series.tails import Spell


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


def total_of(merged: Rollup) -> Total:
    return Total(merged.checks, merged.spent, merged.p95)


def joined(merged: Rollup | None, spell: Spell, *, percentiles: bool) -> Total | None:
    """Of what is merged and what is not; None where neither has anything."""
    if merged is None:
        p95 = _p95(None, spell) if percentiles else None
        return Total(spell.checks, tuple(spell.spent), p95) if spell.seen else None
    spent = tuple([a + b for a, b in zip(merged.spent, spell.spent, strict=True)])
    return Total(merged.checks + spell.checks, spent, _p95(merged, spell) if percentiles else None)


def _p95(merged: Rollup | None, spell: Spell) -> float | None:
    """Exact where it is of rows alone. Without the sketch of a part nobody knows it."""
    values = spell.values
    if merged is None or not merged.valued:
        return percentile(values) if values else None
    if not values:
        return merged.p95
    if not merged.sketch or merged.low is None or merged.high is None:
        return None
    low, high = min(merged.low, values[0]), max(merged.high, values[-1])
    return min(max(sketch.joint_percentile(merged.sketch, values), low), high)
