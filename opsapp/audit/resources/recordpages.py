"""A page of the audit record, newest first, out of the pieces of every log."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate, dropwhile, islice
from typing import Any

from opsapp.audit.logic import AuditFilter, KeptEntry

from .log import Log, Piece


def read(logs: list[Log], wanted: AuditFilter, last: str | None = None) -> tuple[list[KeptEntry], int]:
    """The entries of a page, and how many there are in all. It goes on after the `last` entry of the page before: what
    has come since has moved it back."""
    pieces = sorted((piece for log in logs for piece in log.pieces(wanted)), key=lambda row: row[:2], reverse=True)
    kept, offset = behind(pieces, wanted.offset - (last is not None))
    rows = islice(newest_first(kept, wanted), offset, None)
    if last is not None:
        rows = islice(dropwhile(lambda entry: entry["id"] != last, rows), 1, None)
    return list(islice(rows, wanted.limit)), sum(piece.size for piece in pieces)


def behind(pieces: list[Piece], offset: int) -> tuple[list[Piece], int]:
    """The pieces without those that lie wholly before the page, and what is still to be skipped. All entries of a piece
    rank before what is older than its first, so it goes when everything that may be as new as that, itself included,
    fits into the offset."""
    sums = [0, *accumulate(piece.size for piece in pieces)]
    ends = [-piece.last for piece in pieces]
    kept = [piece for piece in pieces if sums[bisect_right(ends, -piece.first)] > offset]
    return kept, offset - (sums[-1] - sum(piece.size for piece in kept))


def newest_first(pieces: list[Piece], wanted: AuditFilter) -> Iterator[KeptEntry]:
    """Unpacks a piece only when its newest entry may be next."""
    heap: list[tuple[float, int, int, int, Any]] = []
    for order, piece in enumerate(pieces):
        while heap and -heap[0][0] > piece.last:
            yield heapq.heappop(heap)[-1]
        for n, entry in enumerate(piece.load()):
            if wanted.is_in_time(entry["time"]) and wanted.matches(entry):
                heapq.heappush(heap, (-entry["time"], -piece.number, order, -n, entry))
    while heap:
        yield heapq.heappop(heap)[-1]
