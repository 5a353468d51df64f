"""Whether a heal helps, judged by a coin alone: a bet that hardly anybody wins where it does not (docs/adr/113).

Of each trial a coin says whether the heal is done at once, or the case is left alone for the window first. With y = 1
for recovered within the window, s the chance of being left alone, and m a guess that was made before the coin,

    z = (y - m) / (1 - s)  if treated,      z = -(y - m) / s  if left alone

has the lift of this very trial as its mean, whatever recovers by itself, drifts or differs: only the coin is random.
So where the lift is at most d, the wealth of whoever bets that it is more, the mean over STAKES of the products of
1 + g (z - d) / B with B the largest loss, is a martingale that begins with 1: it ever reaches 25 with a chance of 4 %
at most, however often one looks.

A wave of an outage is a trial without such a coin: with z = the share recovered of those that went - the share of those
that waited, at one moment, and 1 as the largest loss (docs/adr/111).
"""

from __future__ import annotations

import math
from operator import mul
from typing import NamedTuple

STAKES = (0.2, 0.35, 0.5, 0.7)
STEPS = tuple(step / 20 for step in range(-19, 20))  # the differences d that are bet on
ENOUGH, ENOUGH_BELOW = 25.0, 100.0
LEAST, MOST = 1e-25, 1e25  # wealth is kept between these
NO_EFFECT = 0.05  # whatever is known to help less than this is not worth the risk
LAST = 100  # trials that the usual range is about
USUAL = 1.2816  # of a normal distribution: 80 % lie so many deviations around the mean
NEEDLESS_STAKES, FEW = (0.3, 0.6, 0.9), 8
OFTEN = 0.2  # what a new bet brings to a wave: hosts wait in each, and a coin leaves one of ten cases alone
BAD_STAKES = (0.15, 0.4, 0.7)
NOTHING = (0.0,) * len(BAD_STAKES)  # nobody has bet yet
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
    that more than before recover by themselves."""

    above: tuple[float, ...] = (1.0,) * len(STEPS) * len(STAKES)
    below: tuple[float, ...] = (1.0,) * len(STEPS) * len(STAKES)
    low: float = -1.0
    high: float = 1.0
    last: tuple[int | Shares, ...] = ()
    needless: tuple[float, ...] = (0.0,) * len(NEEDLESS_STAKES)


class Trials(NamedTuple):
    """All trials of a rule."""

    treated: Arm = Arm()
    control: Arm = Arm()
    bets: Bets = Bets()
    waves: WaveSums = WaveSums()

    def guess(self, share: float) -> float:
        return (1 - share) * self.control.rate + share * self.treated.rate

    def added(self, draw: Draw, recovered: bool) -> Trials:
        """With one more, in the order of their coins."""
        share, guess = draw.share, draw.guess
        z = (recovered - guess) / (1 - share) if draw.treated else (guess - recovered) / share
        lowest = -max(guess / (1 - share), (1 - guess) / share)
        highest = max((1 - guess) / (1 - share), guess / share)
        bets = _betted(self.bets, z, lowest, highest, 2 * draw.treated + recovered)
        if draw.treated:
            return self._replace(treated=self.treated.added(recovered), bets=bets)
        control = self.control
        return self._replace(
            control=control.added(recovered), bets=_without_help(bets, control.n, control.recovered, recovered)
        )

    def compared(self, shares: Shares) -> Trials:
        """With a wave. Whether more than before recover by themselves is asked of waves by what waves have shown."""
        bets, waves = _betted(self.bets, shares.treated - shares.alone, -1.0, 1.0, shares), self.waves
        return self._replace(
            bets=_without_help(bets, waves.n, waves.alone, shares.alone, OFTEN), waves=waves.added(shares)
        )

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


def _betted(bets: Bets, z: float, lowest: float, highest: float, seen: int | Shares) -> Bets:
    above = _grown(bets.above, [(z - d) / (d - lowest) for d in STEPS])
    below = _grown(bets.below, [(d - z) / (highest - d) for d in STEPS])
    return bets._replace(
        above=above,
        below=below,
        low=max(bets.low, _refuted(_means(above), ENOUGH)),
        high=min(bets.high, -_refuted(_means(below)[::-1], ENOUGH_BELOW)),  # STEPS are their own mirror
        last=(*bets.last, seen)[-LAST:],
    )


def _grown(wealth: tuple[float, ...], gains: list[float]) -> tuple[float, ...]:
    grown = tuple(map(mul, wealth, [1 + stake * gain for gain in gains for stake in STAKES]))
    if min(grown) > LEAST and max(grown) < MOST:
        return grown
    return tuple(max(LEAST, min(MOST, held)) for held in grown)


def _means(wealth: tuple[float, ...]) -> list[float]:
    size = len(STAKES)
    return [sum(wealth[place : place + size]) / size for place in range(0, len(wealth), size)]


def _refuted(wealth: list[float], enough: float) -> float:
    """Up to which difference the bet is won; wealth falls with the difference, so it is found between two steps."""
    for place, held in enumerate(wealth):
        if held >= enough:
            continue
        if not place:
            return -1.0
        part = math.log(enough / held) / math.log(wealth[place - 1] / held)
        return STEPS[place] - (STEPS[place] - STEPS[place - 1]) * part
    return STEPS[-1]


def _without_help(bets: Bets, n: int, recovered: float, now: float, brings: float = 1.0) -> Bets:
    """One more was left alone, after `n` of which so many had recovered: `now` is its share. Whoever begins to bet now
    `brings` so much."""
    if n < FEW:
        return bets
    usual = (recovered + 1) / (n + 2)
    return bets._replace(needless=_joined(bets.needless, NEEDLESS_STAKES, (now - usual) / usual, brings))


def bet_on_bad(wealth: tuple[float, ...], recovered: bool, asked: float) -> tuple[float, ...]:
    """The wealth of those who bet, from any moment on, that fewer of what is treated recover than the share `asked`,
    after one more. Where it is as many or more, nobody expects to win."""
    asked = min(max(asked, 0.01), 0.99)
    return _joined(wealth, BAD_STAKES, -1.0 if recovered else asked / (1 - asked))


def won(wealth: tuple[float, ...]) -> float:
    return sum(wealth) / len(wealth)


def _joined(
    wealth: tuple[float, ...], stakes: tuple[float, ...], gain: float, brings: float = 1.0
) -> tuple[float, ...]:
    """Somebody joins with what he brings, and all bet."""
    return tuple(min(1e12, (held + brings) * (1 + stake * gain)) for held, stake in zip(wealth, stakes, strict=True))
