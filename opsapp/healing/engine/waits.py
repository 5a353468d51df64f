"""How long it pays to wait before an act: what is known of how long a rule's cases last by themselves, and what it
borrows of other rules while that is little.

Only ended cases are lent, and no rule lends more than another one may, so that a loud one does not speak for the fleet.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from opsapp.healing.logic.rules import readings_of
from opsapp.healing.logic.survival import ITS_OWN, BestWait, Duration, LeftAlone, best_wait
from opsapp.healing.records import RuleRecord
from opsapp.healing.resources.trials import TrialBook

MOST_BORROWED = 300
SAME, ALL = "same_readings", "all_rules"
Rules = Mapping[str, RuleRecord]


class Borrowed(NamedTuple):
    """`lenders`: whose cases they are; None where nobody has any, or none are needed."""

    durations: Sequence[Duration] = ()
    lenders: str | None = None


def borrowed(book: TrialBook, rules: Rules, rule_id: str, own: int) -> Borrowed:
    """Cases of the rules whose conditions read the same; of all others where those have none."""
    if own >= ITS_OWN:
        return Borrowed()
    others = [other for other in rules if other != rule_id and book.ended(other)]
    about = readings_of(rules[rule_id].condition)
    same = [other for other in others if readings_of(rules[other].condition) == about]
    lenders = same or others
    durations = tuple(islice(_lent(book, lenders), MOST_BORROWED))
    return Borrowed(durations, (SAME if same else ALL) if lenders else None)


def _lent(book: TrialBook, lenders: Sequence[str]) -> Iterator[Duration]:
    for lender in lenders:
        yield from book.ended(lender)[-max(1, min(ITS_OWN, MOST_BORROWED // len(lenders))) :]


def heal_s(book: TrialBook, rule_id: str) -> float | None:
    """How long a heal of the rule takes; None where none is known."""
    healed = book.healed(rule_id)
    return sum(case.heal_s for case in healed) / len(healed) if healed else None


def best(known: LeftAlone, takes_s: float | None) -> BestWait | None:
    return None if takes_s is None else best_wait(known, takes_s)


def learned(book: TrialBook, rules: Rules, rule_id: str) -> float:
    """How long a rule that waits as learned does so; 0 while too little is known: of cases left alone, or of heals."""
    own = book.ended(rule_id)
    wait = best(LeftAlone(own, borrowed(book, rules, rule_id, len(own)).durations), heal_s(book, rule_id))
    return 0.0 if wait is None else wait.wait_s
