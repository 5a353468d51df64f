"""How cases, and what is known of their ends, go with a clock that was set: cases are written down in one transaction,
and moved in pieces.

A case is moved in the transaction that takes it from the list: a kill neither moves it twice nor forgets it. The
pipeline finishes before other work; whoever changes a case first moves it (`CaseBook.keep`). Must not: know a case's
times (`stages.case`).
"""

from __future__ import annotations

import logging
from itertools import islice

from opsapp.healing.stages.case import moved

from .cases import Case, CaseBook
from .latertrees import grown

log = logging.getLogger(__name__)

RECENT_S = 6 * 3600.0  # so long the end of a case may decide what becomes of the next alert
AT_ONCE = 200


def begin(book: CaseBook, by: float, now: float) -> None:
    """What is open or has ended lately, with what is left of steps before."""
    ended = {case_id for _, case_id in book.closed.keys((since(by, now), ""))}
    waits = {case_id for _, _, case_id in book.under_way}
    to_move = grown(book, "to_move")
    for case_id in {*ended, *waits, *to_move}:
        to_move[case_id] = to_move.get(case_id, 0.0) + by


def since(by: float, now: float) -> float:
    """What ended later goes with the clock."""
    return now - abs(by) - RECENT_S


def unhealed(book: CaseBook, after: float) -> list[str]:
    """Targets whose last case ended so since then."""
    return [target for _, target in book.unhealed.keys((after, ""))]


def shift_unhealed(book: CaseBook, target: str, by: float) -> int:
    at: float | None = book.unhealed_on.get(target)
    if at is None:
        return 0
    book.unhealed.discard((at, target))
    book.unhealed.insert((at + by, target))
    book.unhealed_on[target] = at + by
    return 1


def ends(book: CaseBook, after: float) -> list[tuple[str, str]]:
    """(rule, target) of those whose last case was opened since then."""
    return [key for key, (at, *_) in book.last_of.items() if at >= after]


def shift_end(book: CaseBook, key: tuple[str, str], by: float) -> int:
    if key not in book.last_of:
        return 0
    at, outcome, reason, *unsure = book.last_of[key]
    book.last_of[key] = (at + by, outcome, reason, *(until and until + by for until in unsure))
    return 1


def go_on(book: CaseBook, limit: int = AT_ONCE) -> bool:
    """Whether there is more. What cannot be read stays."""
    if not book.to_move:
        return False
    page = dict(islice(book.to_move.items(), limit))
    for case_id in page:
        del book.to_move[case_id]
    for case_id, case in book.readable.some_items(page):
        if case.unopened is None:
            _try(book, case_id, case, page[case_id])
    return bool(book.to_move)


def _try(book: CaseBook, case_id: str, case: Case, by: float) -> None:
    """One that fails must not hold up the others: it is due at its old time."""
    try:
        record = case.record
        moved(record, by)
    except (LookupError, TypeError, ValueError, AttributeError):
        log.exception("a case could not be moved with the clock case=%s", case_id)
    else:
        book.carry(case, by, record)
