"""Problems in the store: /api/healing/problems. What the pipeline needs of them is in plain indexes, so that a damaged
problem holds up no heal."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

from BTrees.OOBTree import OOBTree, OOTreeSet

from opsapp.healing.logic.problems import ProblemFacts, Recurrence
from opsapp.lib.ids import new_id
from opsapp.tree.folder import Folder, Record

PROBLEM = "problem"  # what people call it
NOTHING = Recurrence()


class Opened(NamedTuple):
    """A problem that has just begun."""

    problem: RecurringProblem
    heals: int


class Problems(Folder):
    """/api/healing/problems."""

    url = "/api/healing/problems"
    holds = PROBLEM

    def __init__(self) -> None:
        super().__init__()
        self.recurrences = OOBTree()  # (rule, target) -> Recurrence
        self.open_on = OOBTree()  # (rule, target) -> id of the problem that is not closed
        self.due = OOTreeSet()  # (due, rule, target) of those
        self.closed = OOTreeSet()  # (closed at, id)

    def recurrence(self, rule_id: str, target: str) -> Recurrence:
        return self.recurrences.get((rule_id, target), NOTHING)

    def seen(self, rule_id: str, target: str, now: float) -> None:
        """The rule has found this target again: a problem about it is not quiet."""
        if (rule_id, target) in self.open_on:
            self.recurrences[rule_id, target] = self.recurrence(rule_id, target).seen(now)

    def healed(self, rule_id: str, target: str, now: float) -> Recurrence:
        recurrence = self.recurrences[rule_id, target] = self.recurrence(rule_id, target).healed(now)
        return recurrence

    def open(self, facts: ProblemFacts) -> RecurringProblem:
        problem_id = new_id()
        problem = self[problem_id] = RecurringProblem(facts._replace(state="closed"))
        self.keep(problem, facts)
        return problem

    def keep(self, problem: RecurringProblem, facts: ProblemFacts) -> None:
        """What is known of it by now. A closed one begins to count anew."""
        before, key = problem.facts, (facts.rule_id, facts.target)
        if before.is_open and before.due is not None:
            self.due.discard((before.due, *key))
        if facts.is_open and facts.due is not None:
            self.due.insert((facts.due, *key))
        if facts.is_open:
            self.open_on[key] = problem.__name__
        elif before.is_open:
            del self.open_on[key]
            self.recurrences.pop(key, None)
        if before.closed_at != facts.closed_at:
            self.closed.discard((before.closed_at or 0.0, problem.__name__))
            if facts.closed_at is not None:
                self.closed.insert((facts.closed_at, problem.__name__))
        problem.facts = facts

    def overdue(self, now: float) -> frozenset[tuple[str, str]]:
        """(rule, target) of every open problem whose date has passed."""
        return frozenset((rule_id, target) for _, rule_id, target in self.due.keys(None, (now, ""), excludemax=True))

    def quiet(self, before: float) -> list[str]:
        """Ids of open problems whose target has not been found since."""
        return [problem_id for key, problem_id in self.open_on.items() if self.recurrence(*key).seen_at <= before]

    def purge(self, before: float, limit: int) -> bool:
        """Forget problems closed long ago. Whether there may be more."""
        old = list(islice(self.closed.keys(None, (before, "")), limit))
        for closed_at, problem_id in old:
            self.closed.remove((closed_at, problem_id))
            del self[problem_id]
        return len(old) == limit

    def forget(self, before: float, after: tuple[str, str] | None, limit: int) -> tuple[str, str] | None:
        """Forget a page of heals that no problem is about and that are too old for one; where to go on, or None."""
        page = list(islice(self.recurrences.items(after, excludemin=after is not None), limit))
        for key, recurrence in page:
            if recurrence.seen_at < before and key not in self.open_on:
                del self.recurrences[key]
        return page[-1][0] if len(page) == limit else None


class RecurringProblem(Record):
    """/api/healing/problems/{id}: what one rule heals on one target again and again."""

    url = "/api/healing/problems/{problem_id}"

    def __init__(self, facts: ProblemFacts):
        self.facts = facts
