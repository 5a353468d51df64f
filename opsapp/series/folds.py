"""How the journal becomes segments, hours and sealed days. Transaction functions over the history root.

Each does a bounded slice of work and says whether it did any; each may be called twice, or beside itself on another
node: the second finds nothing to do or meets a conflict. All of them take `now` in ms.

1. `fold`: batches of every log → pieces of the hours their rows belong to, and the logs are marked as folded.
2. `merge`: an hour that is over (and a late piece of an older hour) → raw rows and roll-ups per shard, one summary.
3. `seal`: a day whose hours are merged → the same for the day; the hours are dropped.
4. `retire`: shelves past their retention are dropped, then whole days.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from opsapp.series import codec
from opsapp.series.columns import Corrupt
from opsapp.series.history import SHARD, Blob, Day, History, Hour, Shelf, Span, open_history
from opsapp.series.observations import Row
from opsapp.series.rollup import DAY, FINE, HOUR, NOTHING, Rollup, roll_up

log = logging.getLogger(__name__)


class CorruptChunks:
    """Met by this process."""

    met = 0


damage = CorruptChunks()
OBSERVATIONS = 200_000  # folded in one transaction at most
SHARDS = 4  # compacted in one transaction at most
MERGE_GRACE = 600_000  # ms after its end an hour waits for batches of other nodes
SEAL_GRACE = 900_000
IDLE = DAY  # ms without a batch after which a folded log is removed


def fold(mapping, now: int, raw_keep: int, gone: frozenset[int] = frozenset()) -> int:
    """Rows older than `raw_keep` ms, and of series that are `gone`, are left out. How many were folded."""
    history = open_history(mapping, create=True)
    spans: dict[int, dict[int, list]] = {}
    count = 0
    for key, entry in list(history.logs.items()):
        folded = entry.mark.folded
        for number, data, _ in entry.batches(folded):
            if count >= OBSERVATIONS:
                break
            count += _sort_into(spans, read(codec.decode_batch, data), now - raw_keep, gone)
            folded = number
        if folded > entry.mark.folded:
            entry.mark.folded = folded
        elif count < OBSERVATIONS and 0 < entry.latest() < now - IDLE:
            del history.logs[key]
    for start, series in spans.items():
        day = history.day(start)
        span: Span = day if day.sealed else day.hour(start)
        if day.done:
            day.done = frozenset()  # it is being sealed without these rows: again
        span.take({number: codec.encode_chunk(tidy(rows)) for number, rows in sorted(series.items())})
    return count


def merge(mapping, now: int, gone: frozenset[int] = frozenset()) -> bool:
    """One slice of the next hour that is due. States of `gone` series last no longer."""
    history = open_history(mapping, create=True)
    hour = _due_hour(history, now)
    if hour is None:
        return False
    carry = _lasting(history, hour.start, gone)
    left = sorted((hour.shards() | {number // SHARD for number in carry}) - hour.done)
    for shard in left[:SHARDS]:
        _compact(hour, shard, [hour], carry)
    if len(left) <= SHARDS:
        _finish(hour)
        history.horizon = max(history.horizon, hour.end)
    return True


def seal(mapping, now: int, gone: frozenset[int] = frozenset()) -> bool:
    """One slice of the oldest day that is due, or has late rows."""
    history = open_history(mapping, create=True)
    day = next((day for day in history.days.values() if _is_due(history, day, now)), None)
    if day is None:
        return False
    carry = _lasting(history, day.start, gone)
    spans = [day, *day.hours.values()]
    shards = {shard for span in spans for shard in span.shards()} | {number // SHARD for number in carry}
    left = sorted(shards - day.done)
    for shard in left[:1]:  # a day's shard is as much work as many of an hour's
        _compact(day, shard, spans, carry)
    if len(left) <= 1:
        _finish(day)
        day.seal()
    return True


def retire(mapping, now: int, keep: tuple[int, int, int]) -> bool:
    """`keep`: ms for raw rows, five-minute and hourly roll-ups."""
    history = open_history(mapping, create=True)
    worked = False
    for number, day in list(history.days.items()):
        if day.end <= now - keep[2]:
            del history.days[number]
            worked = True
            continue
        for name, kept in zip(("raw", "fine"), keep, strict=False):
            if day.sealed and not day.pieces and day.end <= now - kept and getattr(day, name) is not None:
                setattr(day, name, None)
                worked = True
    return worked


def last_states(history: History, at: int) -> dict[int, Row]:
    """{number: last row before `at`, the start of an hour} of states that may reach beyond it."""
    blob = summary_before(history, at)
    entries = read(codec.decode_summary, blob.data, sketches=False) if blob is not None else []
    return {number: row for number, _, row in entries if row.hold and row.time + row.hold * 1000 > at}


def _lasting(history: History, at: int, gone: frozenset[int]) -> dict[int, Row]:
    return {number: row for number, row in last_states(history, at).items() if number not in gone}


def summary_before(history: History, at: int) -> Blob | None:
    """The summary of the hour that ends at `at`, or of the sealed day that does."""
    day = history.find_day(at - HOUR)
    if day is None or (day.sealed and at != day.end):
        return None
    span = day if day.sealed else day.hours.get(at - HOUR)
    return span.summary if span is not None else None


def tidy(rows: Iterable[Row]) -> list[Row]:
    """Each once."""
    return sorted(set(rows), key=lambda row: row.time)


def read(decode, data: bytes, **how) -> list:
    """Decodes data; of corrupt bytes it returns nothing and logs an error, so that a read never dies of them."""
    try:
        return decode(data, **how)
    except Corrupt as error:
        damage.met += 1
        log.error("corrupt series data skipped (%s, %d bytes): %s", decode.__name__, len(data), error)
        return []


def _sort_into(spans: dict, observations: list, oldest: int, gone: frozenset[int]) -> int:
    for number, time, value, status, hold in observations:
        if time >= oldest and number not in gone:
            spans.setdefault(time - time % HOUR, {}).setdefault(number, []).append(Row(time, value, status, hold))
    return len(observations)


def _due_hour(history: History, now: int) -> Hour | None:
    """The hour to fold now: the one at the horizon when it is over, else an older one with late rows."""
    if not history.days:
        return None
    if not history.horizon:
        history.horizon = min(start for day in history.days.values() for start in day.hours)  # nothing is sealed yet
    while history.horizon + HOUR + MERGE_GRACE <= now:
        hour = history.find_hour(history.horizon)
        if hour is None and last_states(history, history.horizon):
            hour = history.day(history.horizon).hour(history.horizon)  # nothing came, but states last through it
        if hour is not None:
            return hour
        history.horizon = _next_hour(history, now)
    late = (hour for day in history.days.values() for hour in day.hours.values() if hour.pieces)
    return next((hour for hour in late if hour.end <= history.horizon), None)


def _next_hour(history: History, now: int) -> int:
    """The start of the next hour with rows, or of the current hour."""
    starts = (start for day in history.days.values(history.horizon // DAY) for start in day.hours)
    return min((start for start in starts if start > history.horizon), default=now - now % HOUR)


def _is_due(history: History, day: Day, now: int) -> bool:
    if day.sealed:
        return bool(day.pieces)
    merged = day.end <= history.horizon and not any(hour.pieces for hour in day.hours.values())
    return merged and day.end + SEAL_GRACE <= now


def _compact(span: Span, shard: int, sources: list, carry: dict[int, Row]) -> None:
    numbers = {number for number in carry if number // SHARD == shard}
    for shelf in (shelf for source in sources for shelf in (source.raw, *source.pieces) if shelf is not None):
        if shard in shelf.blobs:
            numbers.update(shelf.blobs[shard].data)
    raw, fine, hourly, totals = {}, {}, {}, []
    for number in sorted(numbers):
        packed = [chunk for source in sources for chunk in source.chunks(number)]
        rows = tidy(row for chunk in packed for row in read(codec.decode_chunk, chunk))
        before = carry.get(number)
        if rows:
            raw[number] = codec.encode_chunk(rows)
        fine[number] = codec.encode_rollups(roll_up(rows, (span.start, span.end), FINE, before))
        parts = roll_up(rows, (span.start, span.end), HOUR, before)
        hourly[number] = codec.encode_rollups(parts)
        last = rows[-1] if rows else before
        if last is not None:
            totals.append((number, _total(rows, parts, span, before), last))
    _put(span, "raw", shard, raw)
    _put(span, "fine", shard, fine)
    _put(span, "hourly", shard, hourly)
    _put(span, "totals", shard, codec.encode_summary(totals))
    span.done |= {shard}


def _total(rows: list[Row], parts: list[Rollup], span: Span, before: Row | None) -> Rollup:
    whole = roll_up(rows, (span.start, span.end), span.length, before) if len(parts) > 1 else parts
    return whole[0] if whole else Rollup(span.start, 0, 0, None, None, None, None, 0, NOTHING)


def _put(span: Span, name: str, shard: int, data) -> None:
    shelf = getattr(span, name)
    if shelf is None:
        shelf = Shelf()
        setattr(span, name, shelf)
    shelf.put(shard, data)


def _finish(span: Span) -> None:
    """One summary over all series, and the pieces are dropped."""
    blobs = span.totals.blobs if span.totals is not None else {}
    entries = [entry for shard in sorted(blobs) for entry in read(codec.decode_summary, blobs[shard].data)]
    span.summary = Blob(codec.encode_summary(entries))
    span.totals, span.pieces, span.done = None, (), frozenset()
