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

from . import bets as betting
from .changes import COINS, NEEDLESS_STAKES, OFTEN, WAVES, HourSums, bet_on_needless, won

NO_EFFECT = 0.05  # whatever is known to help less than this is not worth the risk
LAST = 100  # trials that the usual range is about
USUAL = 1.2816  # of a normal distribution: 80 % lie so many deviations around the mean
VERDICTS = ("helps", "unknown", "no_effect", "harms")


class Arm(NamedTuple):
    """Trials of one kind, and how many of them recovered within the window."""

    n: int = 0
    recovered: int = 0

    def added(self, recovered: bool) -> Arm:
        return Arm(self.n + 1, self.recovered + recovered)

    @property
    def rate(self) -> float:
        """What is to be expected of the next one."""
        return (self.recovered + 0.5) / (self.n + 1)


class Draw(NamedTuple):
    """What was committed before a trial's window began."""

    share: float  # the chance of being left alone
    guess: float
    treated: bool


class Shares(NamedTuple):
    """Of the hosts of a wave, and of those that waited meanwhile: what share was known to be well at its moment."""

    treated: float
    alone: float


class WaveSums(NamedTuple):
    """Waves that were trials, and the sums of their shares. They are no part of the arms: a wave's moment is not the
    window of a coin."""

    n: int = 0
    treated: float = 0.0
    alone: float = 0.0

    def added(self, shares: Shares) -> WaveSums:
        return WaveSums(self.n + 1, self.treated + shares.treated, self.alone + shares.alone)


class Bets(NamedTuple):
    """How the bets stand. `above` and `below`: for each of STEPS and STAKES the wealth of whoever bets that the lift is
    more, or less. `low` and `high`: between what it is. `last`: the last trials; of a coin 2 for treated and 1
    for recovered, of a wave its shares. `needless`: for each stake the wealth of those who bet, from any moment on,
    that more than before recover by themselves. `hours`, `wave_hours`: what those that were left alone have shown, and
    those that waited for a wave, by the hour of the day."""

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
        """One more, at this hour of the day."""
        usual, hours = self.hours.usual(hour, COINS), self.hours.added(hour, recovered)
        return self._replace(needless=bet_on_needless(self.needless, usual, recovered), hours=hours)

    def waited(self, hour: int, alone: float) -> Bets:
        """One wave more. It is asked of waves by what waves have shown."""
        usual, hours = self.wave_hours.usual(hour, WAVES), self.wave_hours.added(hour, alone)
        return self._replace(needless=bet_on_needless(self.needless, usual, alone, OFTEN), wave_hours=hours)


class Trials(NamedTuple):
    """All trials of a rule."""

    treated: Arm = Arm()
    control: Arm = Arm()
    bets: Bets = Bets()
    waves: WaveSums = WaveSums()

    def guess(self, share: float) -> float:
        return (1 - share) * self.control.rate + share * self.treated.rate

    def added(self, draw: Draw, recovered: bool, hour: int | None = None) -> Trials:
        """With one more, in the order of their coins. `hour`: of the day, when its coin fell. A coin of an older
        version has none, and does not say whether more than before recover by themselves."""
        gain = betting.of_coin(draw.share, draw.guess, draw.treated, recovered)
        bets = self.bets.betted(gain, 2 * draw.treated + recovered)
        if draw.treated:
            return self._replace(treated=self.treated.added(recovered), bets=bets)
        bets = bets if hour is None else bets.left_alone(hour, recovered)
        return self._replace(control=self.control.added(recovered), bets=bets)

    def compared(self, shares: Shares, hour: int | None = None) -> Trials:
        """With a wave."""
        bets = self.bets.betted(betting.Gain(shares.treated - shares.alone, -1.0, 1.0), shares)
        bets = bets if hour is None else bets.waited(hour, shares.alone)
        return self._replace(bets=bets, waves=self.waves.added(shares))

    @property
    def lift(self) -> float | None:
        """The difference that was seen."""
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
        """What those have won who bet that more recover by themselves than used to."""
        return won(self.bets.needless)

    @property
    def usual(self) -> tuple[float, float] | None:
        """A plain range of the lift in the last trials: of ten such ranges eight hold the truth. One good and one bad
        trial are added to each arm (Agresti and Caffo), without which few trials look surer than they are."""
        waves = [seen for seen in self.bets.last if isinstance(seen, Shares)]
        coins = [seen for seen in self.bets.last if isinstance(seen, int)]
        treated = [seen & 1 for seen in coins if seen & 2] + [wave.treated for wave in waves]
        alone = [seen & 1 for seen in coins if not seen & 2] + [wave.alone for wave in waves]
        if not treated or not alone:
            return None
        rates = [((sum(arm) + 1) / (len(arm) + 2), len(arm) + 2) for arm in (treated, alone)]
        middle = rates[0][0] - rates[1][0]
        spread = USUAL * math.sqrt(sum(rate * (1 - rate) / n for rate, n in rates))
        return max(-1.0, middle - spread), min(1.0, middle + spread)
