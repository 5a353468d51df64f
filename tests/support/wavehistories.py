"""Whole histories of outages that are healed in waves, in worlds that lie about what the heal is worth.

Through the code that decides: who goes, who is compared, and the bets. Only hosts and worlds are made up here.
"""

from __future__ import annotations

import math
import random
from typing import NamedTuple

from opsapp.healing.logic.changes import hour_of
from opsapp.healing.logic.waves import WaveSizes
from opsapp.healing.resources.trials import TossedCoin
from opsapp.healing.stages import trust as governor
from opsapp.healing.stages.trust import Trust
from opsapp.healing.stages.waves import HARM, LEFT, WELL, Deed, DeedMember, judged, next_wave
from opsapp.healing.stages.wavetrials import WaveTrial, compared, looked_at
from opsapp.healing.stages.world import Reading
from tests.support.histories import HOUR, SETTINGS, World, constant

USELESS = (  # of the worlds of single cases: whether people decide plays no part, and a wave is known at once
    "90 % whatever is done", "50 % whatever is done", "drifts from 50 to 95 %", "drifts from 95 to 50 %",
    "95 % by day, 40 % at night", "95 and 20 % in turns", "97 and 10 % in runs of ten",
    "harms: 90 % alone, 80 % healed",
)  # fmt: skip
HOSTS = (2, 10, 30, 100)
SIZES = WaveSizes()
LATE, LATE_SHARE = 3.0, 0.2  # hosts that report during the first waves, and recover sooner than the others


class WaveHistory:
    """One rule, and outages of many hosts. A wave takes as long as its moment: 1. `known_after`: how many waves it took
    to know that the heal helps, if that is known."""

    def __init__(self, world: World, seed: str):
        self.world, self.chance = world, random.Random(seed)
        self.trust = Trust("r", "execute", "execute", "d", 0.0)
        self.number, self.trials, self.known_after, self.needless = 0, 0, None, False

    def lived(self, outages: int) -> WaveHistory:
        for _ in range(outages):
            self._outage()
            self.number += 1
        return self

    def _outage(self) -> None:
        world = self.world(self.number, self.chance)
        comes, over, healed = {}, {}, {}
        for name in map(str, range(self.chance.choice(HOSTS))):
            late = self.chance.random() < LATE_SHARE
            comes[name] = self.chance.uniform(0, LATE) if late else 0.0
            over[name] = comes[name] + self._lasts(min(0.98, world.alone * (1 + late)))
            healed[name] = self.chance.random() < world.healed
        useless = world.healed == world.alone  # then who goes recovers as everybody does
        self._waves(comes, over, {} if useless else healed)

    def _lasts(self, rate: float) -> float:
        """Such a share of them is over within one moment."""
        return self.chance.expovariate(-math.log(1 - rate))

    def _waves(self, comes: dict[str, float], over: dict[str, float], healed: dict[str, bool]) -> None:
        deed, line, now = Deed("d", "r", 0.0), {}, 0.0
        while comes or line:
            for name in [name for name, at in comes.items() if at <= now]:
                line[name] = DeedMember(name, name, self.chance.random(), deed.late, True)
                deed = deed._replace(members=deed.members + 1, waiting=deed.waiting + 1)
                del comes[name]
            for name in [name for name in line if over[name] <= now]:
                deed = judged(deed, line.pop(name), LEFT, "").deed
            change = next_wave(deed, sorted(line.values(), key=lambda member: member.order), SIZES)
            deed, went = change.deed, {member.case_id: line.pop(member.case_id) for member in change.members}
            waits = sorted(line.values(), key=lambda member: member.order)
            now += 1
            well = {name: healed[name] if name in went and healed else over[name] <= now for name in over}
            hosts = compared(change.members, waits)
            if hosts:
                trial = WaveTrial("d", "r", now - 1, now, hosts, now)
                looks = [looked_at(host, Reading(not well[host.case_id], {}, now), trial) for host in hosts]
                self._count(trial._replace(hosts=tuple(looks)))
            for member in change.members:
                deed = judged(deed, member, WELL if well[member.case_id] else HARM, "").deed
            if deed.stopped:
                return

    def _count(self, trial: WaveTrial) -> None:
        coin = TossedCoin("t", "d", None, False, trial.shares, hour=hour_of(self.number * HOUR))
        trials = coin.counted(self.trust.trials)
        self.trials += 1
        if self.known_after is None and trials.verdict == "helps":
            self.known_after = self.trials
        self.needless = self.needless or trials.needless >= SETTINGS.change.threshold
        self.trust, _ = governor.after_trial(self.trust, trials, None, 0.0, SETTINGS)


class Known(NamedTuple):
    """Of so many histories: how many percent believe that it helps, and are alarmed as needless, and after how many
    waves the middle one knows that it helps."""

    helps: float
    needless: float
    after: float


def known(world: World, name: str, histories: int, outages: int) -> Known:
    lived = [WaveHistory(world, f"waves {name} {seed}").lived(outages) for seed in range(histories)]
    after = sorted(history.known_after or history.trials for history in lived)
    helps = sum(history.known_after is not None for history in lived)
    alarms = sum(history.needless for history in lived)
    return Known(100 * helps / histories, 100 * alarms / histories, after[len(after) // 2])


def needless_after(before: float, now: float, seed: str, most: int = 100) -> int:
    """After how many further outages waves show that a heal has become needless that was worth it in forty."""
    history = WaveHistory(constant(before, 0.95), seed).lived(40)
    history.world, history.needless = constant(now, now), False
    outages = 0
    while not history.needless and outages < most:
        history.lived(1)
        outages += 1
    return outages
