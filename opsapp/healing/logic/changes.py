"""Whether a rule has changed: bets that more recover by themselves, or that it helps too seldom.

A bettor joins with each case, so the sum over all who joined grows only if it is so (docs/adr/113, docs/adr/135). Pure.
Must not: decide what follows from an alarm.
"""

from __future__ import annotations

from typing import NamedTuple

HOURS = 24
BESIDE = 4  # hours before and after, of which the usual of an hour is made
FEW, FEW_BESIDE = 8, 2  # so many have to be known: in all, and on each side
COINS, WAVES = 16.0, 2.0  # so many cases count those of all hours for; a wave has many hosts, and says more
BRINGS, OFTEN = 1.5, 0.2  # what a new bet brings: hosts wait in each wave, and a coin leaves one of ten cases alone
NEEDLESS_STAKES = (0.3, 0.6, 0.9)
BAD_STAKES = (0.15, 0.4, 0.7)
NOTHING = (0.0,) * len(BAD_STAKES)  # nobody has bet yet
MOST = 1e12


class HourSums(NamedTuple):
    """Says by hour of the day (UTC) how many were left alone, and the sum of shares that recovered."""

    n: tuple[int, ...] = (0,) * HOURS
    alone: tuple[float, ...] = (0.0,) * HOURS

    def added(self, hour: int, alone: float) -> HourSums:
        return HourSums(
            (*self.n[:hour], self.n[hour] + 1, *self.n[hour + 1 :]),
            (*self.alone[:hour], self.alone[hour] + alone, *self.alone[hour + 1 :]),
        )

    def usual(self, hour: int, others: float) -> float | None:
        """What share recovers by itself about this hour; None where too little is known. `others`: the weight of all
        hours. The side of the hour where more recover counts: at dusk and dawn they differ."""
        total = sum(self.n)
        if total < FEW:
            return None
        share = (sum(self.alone) + 1) / (total + 2)
        sides = [[(hour + sign * away) % HOURS for away in range(BESIDE + 1)] for sign in (-1, 1)]
        known = [(sum(self.n[at] for at in side), sum(self.alone[at] for at in side)) for side in sides]
        if min(n for n, _ in known) < FEW_BESIDE:
            return None
        return max((alone + others * share) / (n + others) for n, alone in known)


def hour_of(at: float) -> int:
    """The hour of the day by UTC, because a zone would move all alike."""
    return int(at // 3600) % HOURS


def bet_on_needless(
    wealth: tuple[float, ...], usual: float | None, alone: float, brings: float = BRINGS
) -> tuple[float, ...]:
    """That more than `usual` recover by themselves; `alone`: a case, or a wave's share."""
    return wealth if usual is None else _joined(wealth, NEEDLESS_STAKES, (alone - usual) / usual, brings)


def bet_on_bad(wealth: tuple[float, ...], recovered: bool, asked: float) -> tuple[float, ...]:
    """That fewer of the treated recover than the share `asked`."""
    asked = min(max(asked, 0.01), 0.99)
    return _joined(wealth, BAD_STAKES, -1.0 if recovered else asked / (1 - asked), 1.0)


def won(wealth: tuple[float, ...]) -> float:
    return sum(wealth) / len(wealth)


def _joined(wealth: tuple[float, ...], stakes: tuple[float, ...], gain: float, brings: float) -> tuple[float, ...]:
    """Somebody joins, and all bet."""
    return tuple(min(MOST, (held + brings) * (1 + stake * gain)) for held, stake in zip(wealth, stakes, strict=True))
