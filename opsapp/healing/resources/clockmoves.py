"""How cases go with a clock that was set: what is to be moved is written down in one transaction, and moved in pieces.

A case is moved in the transaction that takes it from the list, so a kill between two pieces neither moves it twice nor
forgets it. The pipeline moves what is left before it works on anything; whoever changes a case before that moves it
first (`CaseBook.keep`). Must not: know which times a case has (`stages.case`).
"""

from __future__ import annotations

import logging
from itertools import islice

from BTrees.OOBTree import OOBTree

from opsapp.healing.stages.case import moved

from .cases import Case, CaseBook

log = logging.getLogger(__name__)

RECENT_S = 6 * 3600.0  # so long the end of a case may decide what becomes of the next alert
AT_ONCE = 200


def begin(book: CaseBook, by: float, now: float) -> None:
    """The clock was set by so many seconds: what is open, and what has ended lately, is to be moved by that, and by
    what is left of steps before."""
    since = now - abs(by) - RECENT_S
    ended = {case_id for _, case_id in book.closed.keys((since, ""))}
    waits = {case_id for _, _, case_id in book.under_way}
    if book.to_move is None:
        book.to_move = OOBTree()
    for case_id in {*ended, *waits, *book.to_move}:
        book.to_move[case_id] = book.to_move.get(case_id, 0.0) + by
    for at, target in list(book.unhealed.keys((since, ""))):
        book.unhealed.remove((at, target))
        book.unhealed.insert((at + by, target))
        book.unhealed_on[target] = at + by
    for key, (at, outcome, reason, *unsure) in list(book.last_of.items()):
        if at >= since:
            book.last_of[key] = (at + by, outcome, reason, *(until and until + by for until in unsure))


def go_on(book: CaseBook, limit: int = AT_ONCE) -> bool:
    """Move a piece of what is left; whether there is more. What cannot be read stays as it is."""
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
    """One that cannot be moved must not hold up the others: it is due at its old time."""
    try:
        record = case.record
        moved(record, by)
    except (LookupError, TypeError, ValueError, AttributeError):
        log.exception("a case could not be moved with the clock case=%s", case_id)
    else:
        book.carry(case, by, record)
