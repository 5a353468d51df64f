"""Trials: cases that are watched to learn whether they recover by themselves, and how long that took.

The counts that decide anything are with the rule's trust. Here is what is open, in which order the coins were tossed,
and the durations of the last cases.
"""

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
from opsapp.healing.stages.wavetrials import WaveTrial
from opsapp.tree.root import Root
from opsapp.wire.verdicts import LooksSeen

KEPT = 300  # durations of a rule
TYPICAL = 20  # of them say how long its heals take now
KEPT_OUTAGES = 20
SAME_OUTAGE_S = 120.0


class Healed(NamedTuple):
    """How long a case lasted that was healed, from its alert on, and how long the heal itself took."""

    seconds: float
    heal_s: float


class TossedCoin(NamedTuple):
    """A coin whose trial is not counted yet. Without a `draw` it is of a wave, and `case_id` is the name of that trial.
    `recovered`: None where nobody can say; of no account while `open`. `hour`: of the day, when it was tossed; None in
    a coin of an older version."""

    case_id: str
    definition: str
    draw: Draw | None
    open: bool = True
    recovered: bool | Shares | None = None
    hour: int | None = None

    def counted(self, trials: Trials) -> Trials:
        """The trials with this one, in the order of the coins."""
        if isinstance(self.recovered, Shares):
            return trials.compared(self.recovered, self.hour)
        if self.draw is None or self.recovered is None:
            return trials
        return trials.added(self.draw, self.recovered, self.hour)


class DrawnOutage(NamedTuple):
    """What the coin of an outage says. `root`: the outage of its root cause, where its cases were held back by one."""

    began_at: float
    arm: str
    root: str = ""

    def holds(self, began_at: float, root: str) -> bool:
        """Whether a case that began then is a part of it."""
        return abs(self.began_at - began_at) <= SAME_OUTAGE_S or bool(root and root == self.root)


class Coins(Persistent):
    """The coins of one rule in their order. `outages`: the last ones."""

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
        """What this one has shown; the coins that can be counted now, because all before them have ended."""
        coins = [
            coin._replace(open=False, recovered=recovered) if coin.case_id == case_id else coin for coin in self.tossed
        ]
        ended = list(takewhile(lambda coin: not coin.open, coins))
        self.tossed = tuple(coins[len(ended) :])
        return ended


class Durations(Persistent):
    """How long the last cases of one rule lasted: left alone, and healed. `definition` is what the rule did then."""

    def __init__(self, definition: str):
        self.definition = definition
        self.alone: tuple[Duration, ...] = ()
        self.healed: tuple[Healed, ...] = ()

    def lasted(self, seconds: float, recovered: bool) -> None:
        self.alone = (*self.alone, Duration(seconds, recovered))[-KEPT:]

    def took(self, healed: Healed) -> None:
        self.healed = (*self.healed, healed)[-KEPT:]


class TrialBook(Persistent):
    """Open trials by case, by what they are about, and by when they are looked at next."""

    # case id -> what the looks at a case that is left alone have seen; of an older version there is none
    looks: OOBTree | None = None
    coins: OOBTree | None = None  # rule -> Coins; of an older version there are none
    roots: OOBTree | None = None  # (rule, target) -> the outage of the root cause that has held it back; the same
    waves: OOBTree | None = None  # name -> WaveTrial of which nobody knows yet what it has shown; the same

    def __init__(self) -> None:
        self.open = OOBTree()  # case id -> Trial
        self.about = OOBTree()  # (rule, target) -> case id
        self.due = OOTreeSet()  # (when, case id)
        self.due_of = OOBTree()  # case id -> when
        self.durations = OOBTree()  # rule -> Durations

    def begin(self, trial: Trial) -> bool:
        """Whether it is one: of an outage only the first case is."""
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
        """What is known of it by now; without `due` it waits for its case to end."""
        self._forget_due(trial.case_id)
        self.open[trial.case_id] = trial
        if due is not None:
            self._look_at(trial.case_id, due)

    def coins_of(self, rule_id: str) -> Coins:
        if self.coins is None:
            self.coins = OOBTree()
        if rule_id not in self.coins:
            self.coins[rule_id] = Coins()
        coins: Coins = self.coins[rule_id]
        return coins

    def arm_of_outage(self, rule_id: str, target: str, began_at: float) -> str | None:
        """A case of a target whose coin is not judged yet is the same outage, however long ago that began."""
        before = self.of(rule_id, target)
        if before is not None and before.draw is not None and before.is_undecided:
            return TREATED if before.draw.treated else CONTROL
        coins = None if self.coins is None else self.coins.get(rule_id)
        return None if coins is None else coins.arm_of(began_at, self.root_of(rule_id, target))

    def root_of(self, rule_id: str, target: str) -> str:
        return "" if self.roots is None else self.roots.get((rule_id, target), "")

    def note_root(self, rule_id: str, target: str, outage: str) -> None:
        if self.roots is None:
            self.roots = OOBTree()
        self.roots[rule_id, target] = outage

    def forget_root(self, rule_id: str, target: str) -> None:
        if self.roots is not None:
            self.roots.pop((rule_id, target), None)

    def compare(self, name: str, wave: WaveTrial) -> None:
        if self.waves is None:
            self.waves = OOBTree()
        self.waves[name] = wave

    def let_go_of(self, name: str) -> None:
        if self.waves is not None:
            del self.waves[name]

    def compared(self) -> list[tuple[str, WaveTrial]]:
        """The waves that are trials just now: one of an outage at most."""
        return [] if self.waves is None else list(self.waves.items())

    def seen(self, trial: Trial) -> LooksSeen:
        return LooksSeen() if self.looks is None else LooksSeen(*self.looks.get(trial.case_id, ()))

    def note_seen(self, trial: Trial, seen: LooksSeen) -> None:
        if self.looks is None:
            self.looks = OOBTree()
        self.looks[trial.case_id] = tuple(seen)

    def end(self, trial: Trial) -> None:
        self._forget_due(trial.case_id)
        if self.looks is not None:
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

    def move(self, by: float) -> None:
        """The clock was set by so many seconds: a window ends when it would have."""
        for case_id, trial in list(self.open.items()):
            acted_at = None if trial.acted_at is None else trial.acted_at + by
            due = self.due_of.get(case_id)
            moved = trial._replace(began_at=trial.began_at + by, acted_at=acted_at, drawn_at=trial.drawn_at + by)
            self.keep(moved, None if due is None else due + by)
            if self.looks is not None and case_id in self.looks:
                self.note_seen(moved, self.seen(trial).moved(by))
        for name, wave in self.compared():
            self.compare(name, wave.moved(by))
        for coins in () if self.coins is None else self.coins.values():
            coins.move(by)

    def ready(self, now: float, limit: int) -> list[Trial]:
        return [self.open[case_id] for _, case_id in islice(self.due.keys(None, (now, "~")), limit)]

    def durations_of(self, rule_id: str, definition: str) -> Durations:
        """Of what the rule does now: other durations say nothing about it."""
        durations = self.durations.get(rule_id)
        if durations is None or durations.definition != definition:
            durations = self.durations[rule_id] = Durations(definition)
        return durations

    def alone(self, rule_id: str, now: float) -> list[Duration]:
        """The durations of cases that nobody acted on; those that go on still are censored now."""
        going_on = (trial for trial in self.open.values() if trial.rule_id == rule_id and trial.acted_at is None)
        return [*self.ended(rule_id), *(Duration(max(0.0, now - trial.began_at), False) for trial in going_on)]

    def ended(self, rule_id: str) -> tuple[Duration, ...]:
        durations = self.durations.get(rule_id)
        return () if durations is None else durations.alone

    def healed(self, rule_id: str) -> tuple[Healed, ...]:
        durations = self.durations.get(rule_id)
        return () if durations is None else durations.healed

    def heal_takes(self, rule_id: str, latest: int = 0) -> float:
        """Four of five of the last heals were verified within so long, from the act on; 0 where none is known. Where
        the `latest` ones were all sooner, as long as the slowest of these took."""
        took = [healed.heal_s for healed in self.healed(rule_id)[-TYPICAL:]]
        usual = sorted(took)[len(took) * 4 // 5] if took else 0.0
        return min(usual, max(took[-latest:]) or usual) if took and latest else usual


def only_by_coin(root: Root) -> None:
    """0.2.0 counted cases that no coin had drawn: nothing is known of any rule, and no trial is open. What was seen of
    how long cases last holds. In the place of the bets that a rule helps too seldom it had a sum."""
    healing = healing_of(root)
    for state in healing.trust.whole():
        state.trust = state.trust.tried(Trials())._replace(bad=NOTHING)
    book = healing.trials
    for trial in list(book.open.values()):
        book.end(trial)
