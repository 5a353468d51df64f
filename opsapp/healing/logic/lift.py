"""Whether a heal helps, judged by a coin alone: a bet that hardly anybody wins where it does not (docs/adr/113).

Of each trial a coin says whether the heal is done at once, or the case is left alone for the window first. With y = 1
for recovered within the window, s the chance of being left alone, and m a guess that was made before the coin,

    z = (y - m) / (1 - s)  if treated,      z = -(y - m) / s  if left alone

has the lift of this very trial as its mean, whatever recovers by itself, drifts or differs: only the coin is random.
So whoever bets that the lift is more than d hardly ever wins where it is not (`bets`).

A wave of an outage is a trial without such a coin: with z = the share recovered of those that went - the share of those
that waited, at one moment, and 1 as the largest loss (docs/adr/111).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from opsapp.lib.rates import wilson

from . import bets as betting
from .changes import COINS, NEEDLESS_STAKES, OFTEN, WAVES, HourSums, bet_on_needless, won

NO_EFFECT = 0.05  # whatever is known to help less than this is not worth the risk
LAST = 100  # trials that the usual range is about
USUAL = 1.2816  # of a normal distribution: 80 % lie so many deviations around the mean
VERDICTS = ("helps", "unknown", "no_effect", "harms")


class Arm(NamedTuple):
    """Counts the cases of one arm, and how many of them recovered within the window."""

    n: int = 0
    recovered: int = 0

    def added(self, recovered: bool) -> Arm:
        return Arm(self.n + 1, self.recovered + recovered)

    @property
    def rate(self) -> float:
        """The chance of recovery to be expected of the next case."""
        return (self.recovered + 0.5) / (self.n + 1)


class Draw(NamedTuple):
    """Committed before a trial's window began."""

    share: float  # the chance of being left alone
    guess: float
    treated: bool


class Shares(NamedTuple):
    """Known to be well at the wave's moment."""

    treated: float
    alone: float


class WaveSums(NamedTuple):
    """No part of the arms: a wave's moment is not a coin's window."""

    n: int = 0
    treated: float = 0.0
    alone: float = 0.0

    def added(self, shares: Shares) -> WaveSums:
        return WaveSums(self.n + 1, self.treated + shares.treated, self.alone + shares.alone)


class Bets(NamedTuple):
    """`above`, `below`: wealth for each of STEPS and STAKES. `last`: of a coin 2 for treated and 1 for recovered, of a
    wave its shares. `needless`: wealth of bets that more than before recover by themselves. `hours`, `wave_hours`: what
    those left alone, and those that waited, have shown."""

    above: tuple[float, ...] = betting.EQUAL
    below: tuple[float, ...] = betting.EQUAL
    low: float = -1.0
    high: float = 1.0
    last: tuple[int | Shares, ...] = ()
    needless: tuple[float, ...] = (0.0,) * len(NEEDLESS_STAKES)
    hours: HourSums = HourSums()
    wave_hours: HourSums = HourSums()

    def betted(self, gain: betting.Gain, seen: int | Shares) -> Bets:
        above, below = betting.bet_above(self.above, gain), betting.bet_below(self.below, gain)
        return self._replace(
            above=above,
            below=below,
            low=max(self.low, betting.low_of(above)),
            high=min(self.high, betting.high_of(below)),
            last=(*self.last, seen)[-LAST:],
        )

    def left_alone(self, hour: int, recovered: bool) -> Bets:
        usual, hours = self.hours.usual(hour, COINS), self.hours.added(hour, recovered)
        return self._replace(needless=bet_on_needless(self.needless, usual, recovered), hours=hours)

    def waited(self, hour: int, alone: float) -> Bets:
        """Waves are compared with waves."""
        usual, hours = self.wave_hours.usual(hour, WAVES), self.wave_hours.added(hour, alone)
        return self._replace(needless=bet_on_needless(self.needless, usual, alone, OFTEN), wave_hours=hours)


class Trials(NamedTuple):
    """Sums up the trials of one rule."""

    treated: Arm = Arm()
    control: Arm = Arm()
    bets: Bets = Bets()
    waves: WaveSums = WaveSums()

    def guess(self, share: float) -> float:
        return (1 - share) * self.control.rate + share * self.treated.rate

    def added(self, draw: Draw, recovered: bool, hour: int | None = None) -> Trials:
        """Adds a coin's result; results come in the order of their coins. `hour`: when its coin fell; a coin of an
        older version has none, and no say about needlessness."""
        gain = betting.of_coin(draw.share, draw.guess, draw.treated, recovered)
        bets = self.bets.betted(gain, 2 * draw.treated + recovered)
        if draw.treated:
            return self._replace(treated=self.treated.added(recovered), bets=bets)
        bets = bets if hour is None else bets.left_alone(hour, recovered)
        return self._replace(control=self.control.added(recovered), bets=bets)

    def compared(self, shares: Shares, hour: int | None = None) -> Trials:
        bets = self.bets.betted(betting.Gain(shares.treated - shares.alone, -1.0, 1.0), shares)
        bets = bets if hour is None else bets.waited(hour, shares.alone)
        return self._replace(bets=bets, waves=self.waves.added(shares))

    @property
    def lift(self) -> float | None:
        """The lift as it was seen: how much larger a share of treated cases recovered than of those left alone."""
        treated, control = self.treated.n + self.waves.n, self.control.n + self.waves.n
        if not treated or not control:
            return None
        healed, alone = self.treated.recovered + self.waves.treated, self.control.recovered + self.waves.alone
        return healed / treated - alone / control

    @property
    def verdict(self) -> str:
        if self.bets.low > 0:
            return "helps"
        if self.bets.high < 0:
            return "harms"
        return "no_effect" if self.bets.high < NO_EFFECT else "unknown"

    @property
    def needless(self) -> float:
        """Wealth of bets that more recover by themselves."""
        return won(self.bets.needless)

    @property
    def usual(self) -> tuple[float, float] | None:
        """A plain range; eight of ten hold the truth. It is made of both arms' own ranges (Wilson's), as Newcombe does.
        These are wider towards the middle, so rates near 0 and 1 look neither too sure nor too vague."""
        waves = [seen for seen in self.bets.last if isinstance(seen, Shares)]
        coins = [seen for seen in self.bets.last if isinstance(seen, int)]
        treated = [seen & 1 for seen in coins if seen & 2] + [wave.treated for wave in waves]
        alone = [seen & 1 for seen in coins if not seen & 2] + [wave.alone for wave in waves]
        if not treated or not alone:
            return None
        healed, by_itself = sum(treated) / len(treated), sum(alone) / len(alone)
        of_healed, of_alone = wilson(sum(treated), len(treated), USUAL), wilson(sum(alone), len(alone), USUAL)
        below = math.hypot(healed - of_healed.low, of_alone.high - by_itself)
        above = math.hypot(of_healed.high - healed, by_itself - of_alone.low)
        return max(-1.0, healed - by_itself - below), min(1.0, healed - by_itself + above)
