"""Which incidents are one line of a list: what is alike and began together, and where a page of such lines may end.

Must not: read the store, or know how a line looks.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

from opsapp.lib.alike import FEWEST, TOGETHER_S, gathered

from .records import IncidentRecord


class PageEnd(NamedTuple):
    """Of rows: how many the first lines take up, and how many of them come before a place where no line is cut."""

    most: int
    whole: int
    lines_of_whole: int


def alike(rows: Iterable[IncidentRecord]) -> list[Sequence[IncidentRecord]]:
    """Never what differs in state, severity or who has it, or what people have written about."""
    return gathered(rows, _kind_of, lambda row: row.started)


def page_end(rows: Sequence[IncidentRecord], lines: int, *, goes_on: bool) -> PageEnd:
    """Where a page of so many lines ends. `goes_on`: there are more after these rows, which may belong to the last."""
    firsts = [line[0] for line in _numbers(rows, FEWEST)]
    most = firsts[lines] if len(firsts) > lines else len(rows)
    last_of = {run[0]: run[-1] for run in _numbers(rows, 1)}
    reach = whole = 0
    for number, row in enumerate(rows[:most]):
        run_goes_on = number in last_of and goes_on and _may_go_on(rows, row, last_of[number])
        reach = max(reach, len(rows) if run_goes_on else last_of.get(number, 0))
        whole = number + 1 if reach <= number else whole
    return PageEnd(most, whole, sum(first < whole for first in firsts))


def _numbers(rows: Sequence[IncidentRecord], fewest: int) -> list[Sequence[int]]:
    return gathered(range(len(rows)), lambda at: _kind_of(rows[at]), lambda at: rows[at].started, fewest)


def _may_go_on(rows: Sequence[IncidentRecord], first: IncidentRecord, last: int) -> bool:
    return _kind_of(first) is not None and rows[last].started - rows[-1].started <= TOGETHER_S


def _kind_of(row: IncidentRecord) -> Hashable | None:
    if row.unreadable or any(note.message for note in row.updates):
        return None
    return row.status, row.severity, row.acknowledged_by, row.cause, row.root_cause, row.monitor_id is None
