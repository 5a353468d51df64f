"""Trials: cases that are watched to learn whether they recover by themselves, and how long that took.

The counts that decide anything are with the rule's trust. Here is what is open, and the durations of the last ones.
"""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

from BTrees.OOBTree import OOBTree, OOTreeSet
from persistent import Persistent

from opsapp.healing.logic.survival import BestWait, Duration, best_wait
from opsapp.healing.stages.trials import Trial
from opsapp.wire.verdicts import LooksSeen

KEPT = 300  # durations of a rule


class Healed(NamedTuple):
    """How long a case lasted that was healed, from its alert on, and how long the heal itself took."""

    seconds: float
    heal_s: float


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
        self._look_at(trial.case_id, trial.due)
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
            moved = trial._replace(began_at=trial.began_at + by, acted_at=acted_at)
            self.keep(moved, None if due is None else due + by)
            if self.looks is not None and case_id in self.looks:
                self.note_seen(moved, self.seen(trial).moved(by))

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
        durations = self.durations.get(rule_id)
        known = [] if durations is None else list(durations.alone)
        going_on = (trial for trial in self.open.values() if trial.rule_id == rule_id and trial.acted_at is None)
        return known + [Duration(max(0.0, now - trial.began_at), False) for trial in going_on]

    def wait_of(self, rule_id: str) -> BestWait | None:
        """None while too little is known: of cases left alone, or of heals."""
        durations = self.durations.get(rule_id)
        if durations is None or not durations.healed:
            return None
        heal_s = sum(healed.heal_s for healed in durations.healed) / len(durations.healed)
        return best_wait(durations.alone, heal_s)

    def learned_wait(self, rule_id: str) -> float:
        best = self.wait_of(rule_id)
        return 0.0 if best is None else best.wait_s
