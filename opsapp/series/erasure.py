"""What was measured for an owner that is gone, taken out of what holds others too. Transaction functions.

The transaction that removes an owner notes its series; `erase` goes through the days, one a call. `folds.fold` leaves
out rows that are still in the journal. Must not: rewrite what it cannot read.
"""

from __future__ import annotations

from collections.abc import Iterable

from BTrees.LOBTree import LOBTree

from opsapp.series import codec
from opsapp.series.columns import Corrupt
from opsapp.series.history import SHARD, Blob, Day, Shelf, Span, open_history
from opsapp.series.rollup import DAY

KEY = "series_gone"
SETTLED_MS = 600_000  # what other nodes were folding when it went has been committed by then
KNOWN_MS = DAY  # and after that nothing of it can be in any journal


def set_up(root) -> None:
    """Evolve step: no series is gone."""
    root.system.setdefault(KEY, LOBTree())


def forget(root, numbers: Iterable[int], now: int) -> None:
    """Marks series as forgotten, in the transaction that removes their owner."""
    for number in numbers:
        root.system[KEY][number] = (now, 0)


def gone(root) -> frozenset[int]:
    return frozenset(root.system[KEY])


def erase(root, mapping, now: int) -> bool:
    """The next day of what is gone, or the end of it. Whether there was anything."""
    left = {number: (at, day) for number, (at, day) in root.system[KEY].items() if at + SETTLED_MS <= now}
    if not left:
        return False
    days, first = open_history(mapping).days, min(day for _, day in left.values())
    pair = next(iter(days.items(first)), None)
    if pair is None:
        over = [number for number, (at, _) in left.items() if at + KNOWN_MS <= now]
        for number in over:
            del root.system[KEY][number]
        return bool(over)
    number_of_day, day = pair
    wanted = {number for number, (_, reached) in left.items() if reached <= number_of_day}
    _clean(day, wanted)
    for number in wanted:
        root.system[KEY][number] = (left[number][0], number_of_day + 1)
    return True


def _clean(day: Day, numbers: set[int]) -> None:
    for span in (day, *day.hours.values()):
        for shelf in (span.raw, span.fine, span.hourly, *span.pieces):
            if shelf is not None:
                _clean_shelf(shelf, numbers)
        if span.totals is not None:
            for shard, blob in span.totals.blobs.items():
                kept = _without(blob, numbers)
                if kept is not None:
                    span.totals.put(shard, kept)
        _clean_summary(span, numbers)


def _clean_shelf(shelf: Shelf, numbers: set[int]) -> None:
    for shard in {number // SHARD for number in numbers} & shelf.blobs.keys():
        chunks = shelf.blobs[shard].data
        if not numbers.isdisjoint(chunks):
            shelf.put(shard, {number: chunk for number, chunk in chunks.items() if number not in numbers})


def _clean_summary(span: Span, numbers: set[int]) -> None:
    kept = _without(span.summary, numbers) if span.summary is not None else None
    if kept is not None:
        span.summary = Blob(kept)


def _without(blob: Blob, numbers: set[int]) -> bytes | None:
    """None where it holds none of them, or cannot be read."""
    try:
        entries = codec.decode_summary(blob.data)
    except Corrupt:
        return None
    kept = [entry for entry in entries if entry[0] not in numbers]
    return codec.encode_summary(kept) if len(kept) < len(entries) else None
