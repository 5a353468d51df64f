"""Cases that are watched to learn whether they recover by themselves: open trials, coins in their order, durations. The
counts that decide are with the rule's trust."""

from __future__ import annotations

from itertools import islice, takewhile
from typing import NamedTuple

from BTrees.OOBTree import OOBTree, OOTreeSet
from persistent import Persistent

from opsapp.healing.logic.changes import NOTHING
from opsapp.healing.logic.lift import Draw, Shares, Trials
from opsapp.healing.logic.survival import Duration
from opsapp.healing.places import healing_of
from opsapp.healing.stages.holdout import CONTROL, TREATED
from opsapp.healing.stages.trials import FOLLOWED_S, Trial
from opsapp.healing.stages.trust import SAME_OUTAGE_S
from opsapp.healing.stages.wavetrials import WaveTrial
from opsapp.tree.reading import ChildrenOf
from opsapp.tree.root import Root
from opsapp.wire.verdicts import LooksSeen

from .latertrees import NO_TREE, grown

KEPT = 300  # durations of a rule
TYPICAL = 20  # of them say how long its heals take now
KEPT_OUTAGES = 20


class Healed(NamedTuple):
    """How long it took from the alert on, and how long the heal itself took."""

    seconds: float
    heal_s: float


class TossedCoin(NamedTuple):
    """Not counted yet. Without a `draw` it is of a wave, named by `case_id`. `recovered`: None where nobody can say.
    `hour`: when it was tossed; None of an older version."""

    case_id: str
    definition: str
    draw: Draw | None
    open: bool = True
    recovered: bool | Shares | None = None
    hour: int | None = None

    def counted(self, trials: Trials) -> Trials:
        if isinstance(self.recovered, Shares):
            return trials.compared(self.recovered, self.hour)
        if self.draw is None or self.recovered is None:
            return trials
        return trials.added(self.draw, self.recovered, self.hour)


class DrawnOutage(NamedTuple):
    """`root`: the outage of the root cause that held its cases back."""

    began_at: float
    arm: str
    root: str = ""

    def holds(self, began_at: float, root: str) -> bool:
        """Whether a case is a part of it."""
        return abs(self.began_at - began_at) <= SAME_OUTAGE_S or bool(root and root == self.root)


class Coins(Persistent):
    """Keeps the coins of one rule in their order."""

    def __init__(self) -> None:
        self.tossed: tuple[TossedCoin, ...] = ()
        self.outages: tuple[DrawnOutage, ...] = ()

    def toss(self, coin: TossedCoin, outage: DrawnOutage | None) -> None:
        self.tossed = (*self.tossed, coin)
        if outage is not None:
            self.outages = (*self.outages, outage)[-KEPT_OUTAGES:]

    def move(self, by: float) -> None:
        self.outages = tuple(outage._replace(began_at=outage.began_at + by) for outage in self.outages)

    def arm_of(self, began_at: float, root: str) -> str | None:
        arms = (outage.arm for outage in reversed(self.outages) if outage.holds(began_at, root))
        return next(arms, None)

    def judge(self, case_id: str, recovered: bool | Shares | None) -> list[TossedCoin]:
        """The coins that can be counted now, because all before them have ended."""
        coins = [
            coin._replace(open=False, recovered=recovered) if coin.case_id == case_id else coin for coin in self.tossed
        ]
        ended = list(takewhile(lambda coin: not coin.open, coins))
        self.tossed = tuple(coins[len(ended) :])
        return ended


class Durations(Persistent):
    """Keeps how long one rule's last cases took, under its `definition`."""

    def __init__(self, definition: str):
        self.definition = definition
        self.alone: tuple[Duration, ...] = ()
        self.healed: tuple[Healed, ...] = ()

    def lasted(self, seconds: float, recovered: bool) -> None:
        self.alone = (*self.alone, Duration(seconds, recovered))[-KEPT:]

    def took(self, healed: Healed) -> None:
        self.healed = (*self.healed, healed)[-KEPT:]


class TrialBook(Persistent):
    """Keeps the trials by case, by what they are about, and by when they are looked at next."""

    looks: OOBTree = NO_TREE  # case id -> what the looks at a case that is left alone have seen
    coins: OOBTree = NO_TREE  # rule -> Coins
    roots: OOBTree = NO_TREE  # (rule, target) -> the outage of the root cause that has held it back
    waves: OOBTree = NO_TREE  # name -> WaveTrial of which nobody knows yet what it has shown

    def __init__(self) -> None:
        self.open = OOBTree()  # case id -> Trial
        self.about = OOBTree()  # (rule, target) -> case id
        self.due = OOTreeSet()  # (when, case id)
        self.due_of = OOBTree()  # case id -> when
        self.durations = OOBTree()  # rule -> Durations

    def begin(self, trial: Trial) -> bool:
        """Begins a trial and returns whether it did: of an outage only the first case is one."""
        if (trial.rule_id, trial.target) in self.about:
            return False
        self.open[trial.case_id] = trial
        self.about[trial.rule_id, trial.target] = trial.case_id
        self._look_at(trial.case_id, trial.began_at + FOLLOWED_S)
        return True

    def of(self, rule_id: str, target: str) -> Trial | None:
        case_id = self.about.get((rule_id, target))
        return None if case_id is None else self.open[case_id]

    def keep(self, trial: Trial, due: float | None) -> None:
        """Without `due` it waits for its case to end."""
        self._forget_due(trial.case_id)
        self.open[trial.case_id] = trial
        if due is not None:
            self._look_at(trial.case_id, due)

    def coins_of(self, rule_id: str) -> Coins:
        coins: Coins = grown(self, "coins").setdefault(rule_id, Coins())
        return coins

    def arm_of_outage(self, rule_id: str, target: str, began_at: float) -> str | None:
        """A target whose coin is not judged yet is in the same outage, however old."""
        before = self.of(rule_id, target)
        if before is not None and before.draw is not None and before.is_undecided:
            return TREATED if before.draw.treated else CONTROL
        coins = self.coins.get(rule_id)
        return None if coins is None else coins.arm_of(began_at, self.root_of(rule_id, target))

    def root_of(self, rule_id: str, target: str) -> str:
        return self.roots.get((rule_id, target), "")

    def note_root(self, rule_id: str, target: str, outage: str) -> None:
        grown(self, "roots")[rule_id, target] = outage

    def forget_root(self, rule_id: str, target: str) -> None:
        self.roots.pop((rule_id, target), None)

    def compare(self, name: str, wave: WaveTrial) -> None:
        grown(self, "waves")[name] = wave

    def compared(self) -> list[tuple[str, WaveTrial]]:
        """One of an outage at most."""
        return list(self.waves.items())

    def seen(self, trial: Trial) -> LooksSeen:
        return LooksSeen(*self.looks.get(trial.case_id, ()))

    def note_seen(self, trial: Trial, seen: LooksSeen) -> None:
        grown(self, "looks")[trial.case_id] = tuple(seen)

    def end(self, trial: Trial) -> None:
        self._forget_due(trial.case_id)
        self.looks.pop(trial.case_id, None)
        del self.open[trial.case_id]
        del self.about[trial.rule_id, trial.target]

    def _look_at(self, case_id: str, due: float) -> None:
        self.due.insert((due, case_id))
        self.due_of[case_id] = due

    def _forget_due(self, case_id: str) -> None:
        due = self.due_of.pop(case_id, None)
        if due is not None:
            self.due.remove((due, case_id))

    def move_waves(self, by: float) -> None:
        for name, wave in self.compared():
            self.compare(name, wave.moved(by))

    def shift(self, case_id: str, by: float) -> int:
        """The clock was set: move the trial of a case, if it goes on still. How many were moved."""
        trial: Trial | None = self.open.get(case_id)
        if trial is None:
            return 0
        acted_at = None if trial.acted_at is None else trial.acted_at + by
        due, seen = self.due_of.get(case_id), self.seen(trial).moved(by)
        moved = trial._replace(began_at=trial.began_at + by, acted_at=acted_at, drawn_at=trial.drawn_at + by)
        self.keep(moved, None if due is None else due + by)
        if case_id in self.looks:
            self.note_seen(moved, seen)
        return 1

    def shift_coins(self, rule_id: str, by: float) -> int:
        coins: Coins | None = ChildrenOf(self.coins, "coins of a rule").find(rule_id)
        if coins is not None:
            coins.move(by)
        return int(coins is not None)

    def ready(self, now: float, limit: int) -> list[Trial]:
        return [self.open[case_id] for _, case_id in islice(self.due.keys(None, (now, "~")), limit)]

    def durations_of(self, rule_id: str, definition: str) -> Durations:
        """Others say nothing about what the rule does now."""
        durations = self.durations.get(rule_id)
        if durations is None or durations.definition != definition:
            durations = self.durations[rule_id] = Durations(definition)
        return durations

    def alone(self, rule_id: str, now: float) -> list[Duration]:
        """What goes on still is censored now."""
        going_on = (trial for trial in self.open.values() if trial.rule_id == rule_id and trial.acted_at is None)
        return [*self.ended(rule_id), *(Duration(max(0.0, now - trial.began_at), False) for trial in going_on)]

    def ended(self, rule_id: str) -> tuple[Duration, ...]:
        durations = self.durations.get(rule_id)
        return () if durations is None else durations.alone

    def healed(self, rule_id: str) -> tuple[Healed, ...]:
        durations = self.durations.get(rule_id)
        return () if durations is None else durations.healed

    def heal_takes(self, rule_id: str, latest: int = 0) -> float:
        """Four of five of the last heals were verified within so long; 0: none known. Where the `latest` were all
        sooner, the slowest of these."""
        took = [healed.heal_s for healed in self.healed(rule_id)[-TYPICAL:]]
        usual = sorted(took)[len(took) * 4 // 5] if took else 0.0
        return min(usual, max(took[-latest:]) or usual) if took and latest else usual


def only_by_coin(root: Root) -> None:
    """Evolve step: 0.2.0 counted cases without coins, and had a sum in the place of bets. Durations hold."""
    healing = healing_of(root)
    for state in healing.trust.whole():
        state.trust = state.trust.tried(Trials())._replace(bad=NOTHING)
    book = healing.trials
    for trial in list(book.open.values()):
        book.end(trial)
