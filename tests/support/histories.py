"""Whole histories of a rule in worlds that lie about its worth: outages, decisions, coins and what comes of them.

Through the code that decides: the governor, the bets and the order of the coins. Only the worlds are made up here.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import NamedTuple

from opsapp.healing.config import HealingSettings
from opsapp.healing.logic.changes import hour_of
from opsapp.healing.logic.lift import Draw, Trials
from opsapp.healing.resources.trials import Coins, DrawnOutage, TossedCoin
from opsapp.healing.stages import trust as governor
from opsapp.healing.stages.holdout import CONTROL, TREATED, is_learned_about
from opsapp.healing.stages.trust import Trust

SETTINGS, HOUR = HealingSettings(), 3600.0


class Outage(NamedTuple):
    """One of them: how surely it is over within the window, by itself and with the heal. `asked`: whether people would
    agree to the heal; `takes`: how many outages later it is known what came of it."""

    alone: float
    healed: float
    asked: bool = True
    takes: int = 0


World = Callable[[int, random.Random], Outage]


def constant(alone: float, healed: float) -> World:
    return lambda number, chance: Outage(alone, healed)


def drift(number: int, chance: random.Random) -> Outage:
    """What recovers by itself: 50 % in the beginning, 95 % from the hundredth outage on."""
    rate = min(0.95, 0.5 + 0.0045 * number)
    return Outage(rate, rate)


def drift_down(number: int, chance: random.Random) -> Outage:
    rate = max(0.5, 0.95 - 0.0045 * number)
    return Outage(rate, rate)


def is_day(number: int) -> bool:
    return 8 <= number % 24 < 18


def day_and_night(number: int, chance: random.Random) -> Outage:
    rate = 0.95 if is_day(number) else 0.4
    return Outage(rate, rate)


def approved_by_day(number: int, chance: random.Random) -> Outage:
    """At night nobody decides, and hardly anything recovers."""
    return day_and_night(number, chance)._replace(asked=is_day(number))


def approved_if_it_looks_bad(number: int, chance: random.Random) -> Outage:
    bad = chance.random() < 0.5
    rate = 0.3 if bad else 0.97
    return Outage(rate, rate, asked=bad)


def approved_if_it_looks_well(number: int, chance: random.Random) -> Outage:
    outage = approved_if_it_looks_bad(number, chance)
    return outage._replace(asked=not outage.asked)


def alternating(number: int, chance: random.Random) -> Outage:
    rate = 0.95 if number % 2 else 0.2
    return Outage(rate, rate)


def in_runs(number: int, chance: random.Random) -> Outage:
    """Ten outages that are over by themselves, then ten that are not."""
    rate = 0.97 if number // 10 % 2 else 0.1
    return Outage(rate, rate)


def known_late(number: int, chance: random.Random) -> Outage:
    return Outage(0.9, 0.9, takes=chance.randrange(9))


USELESS: dict[str, World] = {
    "90 % whatever is done": constant(0.9, 0.9),
    "50 % whatever is done": constant(0.5, 0.5),
    "drifts from 50 to 95 %": drift,
    "drifts from 95 to 50 %": drift_down,
    "95 % by day, 40 % at night": day_and_night,
    "the same, approved by day only": approved_by_day,
    "approved if it looks bad": approved_if_it_looks_bad,
    "approved if it looks well": approved_if_it_looks_well,
    "95 and 20 % in turns": alternating,
    "97 and 10 % in runs of ten": in_runs,
    "known late": known_late,
    "harms: 90 % alone, 80 % healed": constant(0.9, 0.8),
}
USEFUL: dict[str, World] = {"30 to 90 %": constant(0.3, 0.9), "50 to 90 %": constant(0.5, 0.9)}


def by_the_hour(day: float, night: float, healed: float) -> World:
    """What recovers by itself swings, and the heal helps all the time."""
    return lambda number, chance: Outage(day if is_day(number) else night, healed)


SWINGING: dict[str, World] = {
    "95 % by day, 40 % at night": by_the_hour(0.95, 0.4, 0.97),
    "80 % by day, 20 % at night": by_the_hour(0.8, 0.2, 0.95),
    "60 % by day, 10 % at night": by_the_hour(0.6, 0.1, 0.9),
}


class History:
    """One rule, from `approve` on. `known_after`: how many trials it took to know that it helps, if it is known."""

    def __init__(self, world: World, seed: str):
        self.world, self.chance = world, random.Random(seed)
        self.trust = Trust("r", "approve", "execute", "d", 0.0)
        self.coins, self.waiting = Coins(), []
        self.number, self.trials, self.known_after, self.acted_alone = 0, 0, None, False

    def lived(self, outages: int) -> History:
        for _ in range(outages):
            self.goes_on()
        return self

    def goes_on(self) -> None:
        """One more outage."""
        self._judge(self.number)
        outage = self.world(self.number, self.chance)
        if outage.asked or self.trust.current_level == "execute":
            self._decided(self.number, outage)
        self.acted_alone = self.acted_alone or self.trust.current_level == "execute"
        self.number += 1

    def _decided(self, number: int, outage: Outage) -> None:
        share = (SETTINGS.trial if is_learned_about(self.trust) else SETTINGS.holdout).share
        treated, name = self.chance.random() >= share, str(number)
        draw = Draw(share, self.trust.trials.guess(share), treated)
        coin = TossedCoin(name, "d", draw, hour=hour_of(number * HOUR))
        self.coins.toss(coin, DrawnOutage(number * HOUR, TREATED if treated else CONTROL))
        recovered = self.chance.random() < (outage.healed if treated else outage.alone)
        self.waiting.append((number + outage.takes, name, recovered))
        if treated or not recovered:
            verified = recovered if treated else self.chance.random() < outage.healed
            result = "verified" if verified else "failed"
            self.trust, _ = governor.recorded(self.trust, result, number * HOUR, SETTINGS, drawn=True)
        self._judge(number)
        self.trust, _ = governor.evaluate(self.trust, number * HOUR, SETTINGS)

    def _judge(self, number: int) -> None:
        """What is known by now counts, in the order of the coins."""
        over = [trial for trial in self.waiting if trial[0] <= number]
        self.waiting = [trial for trial in self.waiting if trial[0] > number]
        for _, name, recovered in over:
            for coin in self.coins.judge(name, recovered):
                self.trials += 1
                trials = coin.counted(self.trust.trials)
                treated = bool(coin.recovered) if coin.draw.treated else None
                self.trust, _ = governor.after_trial(self.trust, trials, treated, number * HOUR, SETTINGS)
                if self.known_after is None and trials.verdict == "helps":
                    self.known_after = self.trials


def ranges_that_hold(alone: float, healed: float, histories: int, outages: int) -> int:
    """Of how many histories the plain range of the lift holds the truth in the end."""
    world, held = constant(alone, healed), 0
    for seed in range(histories):
        known = History(world, f"ranges {alone} {healed} {seed}").lived(outages).trust.trials.usual
        held += known is not None and known[0] <= healed - alone <= known[1]
    return held


def needless_after(before: float, now: float, seed: str, most: int = 500) -> float | None:
    """After how many further cases it is noticed that a rule with 300 good cases has become needless: `before` is how
    often they recovered by themselves. None: it did not act by itself by then."""
    history = History(constant(before, 0.95), seed).lived(300)
    if history.trust.current_level != "execute":
        return None
    history.world = constant(now, 0.95)
    for number in range(most):
        history.goes_on()
        if history.trust.current_level != "execute":
            return number + 1
    return math.inf


def acting(world: World, seed: str) -> History:
    """One that acts by itself from the beginning."""
    history = History(world, seed)
    history.trust = history.trust._replace(current_level="execute")
    return history


def keeps_level(world: World, seed: str, outages: int = 500) -> bool:
    """Whether a rule of which nothing changes acts by itself still after so many outages."""
    history = acting(world, seed)
    for _ in range(outages):
        history.goes_on()
        if history.trust.current_level != "execute":
            return False
    return True


def bad_after(healed: float, seed: str, most: int = 500) -> float:
    """After how many further cases it is noticed that the heals of a rule with 100 good cases help so seldom."""
    history = acting(constant(0.1, 0.95), seed).lived(100)
    history.world = constant(0.1, healed)
    for number in range(most):
        history.goes_on()
        if history.trust.current_level != "execute":
            return number + 1
    return math.inf


def false_alarm(alone: float, seed: str, controls: int = 50) -> bool:
    """Whether a rule of which nothing has changed is thought needless within so many cases that are left alone, after
    thirty of them."""
    chance = random.Random(seed)
    trials = Trials()
    for number in range(30 + controls):
        trials = trials.added(Draw(0.1, 0.5, False), chance.random() < alone, chance.randrange(24))
        if trials.needless >= SETTINGS.change.threshold:
            return number >= 30
    return False
