"""/api/healing/problems. The pipeline reads plain indexes, so that a damaged problem holds up no heal."""

from __future__ import annotations

from itertools import islice

from BTrees.OOBTree import OOBTree, OOTreeSet

from opsapp.healing.logic.problems import ProblemFacts, Recurrence
from opsapp.lib.ids import new_id
from opsapp.tree.folder import Folder, Record

PROBLEM = "problem"  # what people call it
NOTHING = Recurrence()


class Problems(Folder):
    """/api/healing/problems"""

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
        """Found again: its problem is not quiet."""
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
        """A closed one begins to count anew."""
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
        """The (rule, target) of open problems that are overdue."""
        return frozenset((rule_id, target) for _, rule_id, target in self.due.keys(None, (now, ""), excludemax=True))

    def quiet(self, before: float) -> list[str]:
        """Not found since."""
        return [problem_id for key, problem_id in self.open_on.items() if self.recurrence(*key).seen_at <= before]

    def purge(self, before: float, limit: int) -> bool:
        """Whether there may be more."""
        old = list(islice(self.closed.keys(None, (before, "")), limit))
        for closed_at, problem_id in old:
            self.closed.remove((closed_at, problem_id))
            del self[problem_id]
        return len(old) == limit

    def forget(self, before: float, after: tuple[str, str] | None, limit: int) -> tuple[str, str] | None:
        """Heals that are too old for a problem; where to go on, or None."""
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
