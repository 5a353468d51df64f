"""Reads over journal, segments and sealed days, in the reader's own transaction. Times are in ms. Rows are read only
where nothing is merged yet, and for buckets finer than five minutes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from opsapp.series import codec
from opsapp.series.codec import LATEST
from opsapp.series.folds import read, tidy
from opsapp.series.history import Day, Span, open_history
from opsapp.series.lines import MeanLine, Strip
from opsapp.series.observations import Row
from opsapp.series.recent import DAY_OF_HOURS, AskedWindow, Recent, carry_version
from opsapp.series.rollup import DAY, FINE, HOUR, Rollup, merge, roll_up
from opsapp.series.sketch import EMPTY
from opsapp.series.tails import UNSEEN, SeriesTail, Spell
from opsapp.series.totals import DayHours, MergedHours, Total, apart, day_hours, joined, merged_hours, total_of

HOURS = 24
MANY = 200  # series: the merged hours of all cost as much as those of so many, one by one
FEW = 16  # series for which hourly roll-ups are read one by one; summaries hold all series of a span


class HistoryReader:
    """Reads series as the snapshot behind `mapping` (a history root) has them."""

    def __init__(self, mapping, recent: Recent):
        self._seen = recent.catch_up(mapping)
        self._recent = recent
        self._running = recent.running
        self._history = open_history(mapping)
        self._looked: tuple[int, int] | None = None
        self._made: dict[int, SeriesTail] = {}  # what was made here, of which no more may be kept

    def rows(self, number: int, start: int, end: int) -> list[Row]:
        """The rows of a series in [start, end)."""
        rows = self._recent.rows(number, start, end)
        for day in self._history.days_between(start, end):
            for span in (day, *_hours(day, start, end)):
                rows += [row for row in _span_rows(span, number) if start <= row.time < end]
        return tidy(rows)

    def values(self, number: int, start: int, end: int) -> tuple[list[int], list[float]]:
        """Rows in [start, end) that have one: for who reads millions."""
        times: list[int] = []
        values: list[float] = []
        while start < end:
            until = min(end, (start // DAY + 1) * DAY)
            columns = self._packed_day(number, start, until)
            if until - start < DAY or None in columns[1]:
                columns = _valued(columns, start, until)
            times += columns[0]
            values += columns[1]
            start = until
        return times, values

    def _packed_day(self, number: int, start: int, end: int) -> list:
        """A sealed day that nothing came to since is read as it is packed."""
        day = self._history.find_day(start)
        chunks = list(day.chunks(number)) if day is not None and day.sealed else []
        if len(chunks) == 1 and not self._recent.rows(number, start, end):
            return read(codec.decode_values, chunks[0]) or [[], []]
        rows = self.rows(number, start, end)
        return [[row.time for row in rows], [row.value for row in rows]]

    def buckets(self, number: int, start: int, end: int, width: int, *, percentiles: bool = True) -> list[Rollup]:
        """Over [start, end), `start` rounded down; empty ones are left out. Times in states are told for multiples of
        five minutes only. Without `percentiles` a p95 may be None."""
        start -= start % width
        rollups: list[Rollup] = []
        for span in self._merged(start, end):
            rollups += (rollup for rollup in _span_buckets(span, number, width) if start <= rollup.start < end)
        edge = max(self._history.horizon, start)
        if edge < end:
            carry = None if width % FINE else self._carried(edge).get(number)
            rows = _fit(self.rows(number, edge, end), width)
            rollups += roll_up(rows, (edge, end), width, carry, percentiles=percentiles)
        return merge(rollups, width)

    def totals(self, start: int, end: int, numbers: Collection[int], *, percentiles: bool = False) -> dict[int, Total]:
        """Returns the totals of those series that were seen. `start` is rounded down to the hour; `end`: now, or a full
        hour. Without `percentiles`, which cost more than all the rest, the p95 may be None."""
        wanted, start = set(numbers), start - start % HOUR
        if len(wanted) <= FEW:
            hours = {number: self.buckets(number, start, end, HOUR) for number in wanted}
            return {number: total_of(merge(rollups)[0]) for number, rollups in hours.items() if rollups}
        if end > self._history.horizon:
            self._recent.asked(AskedWindow(end // HOUR - start // HOUR, percentiles), end)
        merged = self._sums(start, end, percentiles)
        edge, follows = max(self._history.horizon, start), self._tails_follow()

        def ask(tail: SeriesTail) -> Spell | None:
            return tail.between(edge, end, valued=percentiles) if edge < end else UNSEEN

        totals = {}
        for number in wanted:
            spell = self._running.tails.read(number, ask) if follows else None
            total = joined(merged.get(number), spell or self._spell(number, edge, end), percentiles=percentiles)
            if total is not None:
                totals[number] = total
        return totals

    def days(self, end: int, numbers: Collection[int]) -> dict[int, DayHours]:
        """The last 24 hours, which end with the present one or, until it is merged, the one before. For many series all
        that is merged is gone through once an hour."""
        start = self._day_before(end)
        if len(numbers) <= MANY:
            return {number: apart(self.buckets(number, start, end, HOUR)) for number in numbers}
        self._recent.asked(DAY_OF_HOURS, end)
        merged, edge = self._hours(start, end), max(self._history.horizon, start)
        follows = self._tails_follow()
        days = {}
        for number in numbers:
            tail = self._running.tails.read(number, lambda tail: tail.hours(edge, end)) if follows else None
            if tail is None:
                tail = SeriesTail(edge, self.rows(number, edge, end)).hours(edge, max(edge, end))
            assert tail is not None  # it knows all about its own rows
            days[number] = day_hours(merged.get(number), tail)
        return days

    def _tails_follow(self) -> bool:
        """Whether they begin where this reading's merged hours end."""
        history, horizon = self._history, self._history.horizon
        return self._running.merged_to(horizon, carry_version(history, horizon), lambda: self._carried(horizon))

    def _day_before(self, end: int) -> int:
        newest = end - end % HOUR
        return min(max(self._history.horizon, newest - HOUR), newest) - (HOURS - 1) * HOUR

    def _sums(self, start: int, end: int, percentiles: bool) -> dict[int, Rollup]:
        spans = list(self._merged(start, end))
        key = (start, _last(spans, end), percentiles, _versions(spans))
        return self._recent.sums(key, lambda: _sum_up(spans, start, end, percentiles))

    def _hours(self, start: int, end: int) -> dict[int, MergedHours]:
        spans = list(self._merged(start, end))
        return self._recent.hours((start, _last(spans, end), _versions(spans)), lambda: _by_hours(spans, start, end))

    def prepare(self, end: int) -> None:
        """Makes the usual sums as soon as other hours are merged, so that who asks next need not wait."""
        versions = (end // HOUR, _versions(list(self._merged(end - DAY, end))))
        for window in self._recent.to_prepare(versions, end):
            self._carried(self._history.horizon)
            if window == DAY_OF_HOURS:
                self._hours(self._day_before(end), end)
            else:
                self._sums((end // HOUR - window.hours) * HOUR, end, window.percentiles)

    def _spell(self, number: int, edge: int, end: int) -> Spell:
        """What is made of all unmerged rows is kept."""
        if edge >= end:
            return UNSEEN  # what is merged reaches beyond now: the clock was set back
        horizon, tail = self._history.horizon, self._made.get(number)
        if tail is None:
            tail = SeriesTail(horizon, self.rows(number, horizon, LATEST), self._carried(horizon).get(number))
            self._made[number] = tail
            self._running.tails.keep(number, tail, self._seen)
        spell = tail.between(edge, end)
        if spell is None:
            apart = SeriesTail(edge, self.rows(number, edge, end), self._carried(edge).get(number))
            spell = apart.between(edge, end)
        assert spell is not None  # a tail knows all about its own rows
        return spell

    def _carried(self, at: int) -> dict[int, Row]:
        return self._recent.carry(self._history, at)

    def last_states(self, number: int, start: int, end: int, most: int) -> Sequence[int]:
        """The states of the last `most` checks in [start, end)."""
        states = self._running.strips.read(number, lambda strip: strip.states(start, end, most))
        if states is None:
            rows = self.rows(number, start, LATEST)
            self._running.strips.keep(number, Strip(start, rows, most), self._seen)
            states = [row.state for row in rows if row.is_check and row.time < end][-most:]
        return states

    def means(self, number: int, start: int, end: int, width: int) -> list[float | None]:
        """One for each bucket in [start, end). `width` divides both."""
        self._look_at_spans(start, end)
        means = self._running.lines.read(number, lambda line: line.means(start, end, width))
        if means is None:
            buckets = self.buckets(number, start, end, width, percentiles=False)
            known = {bucket.start: bucket.mean for bucket in buckets}
            means = [known.get(at) for at in range(start, end, width)]
            after = self.rows(number, buckets[-1].start if buckets else end, LATEST)
            if not after or after[-1].time < end:  # what is said to be to come is in no bucket yet
                line = MeanLine(width, len(means), start, buckets, after[-1] if after else None)
                self._running.lines.keep(number, line, self._seen)
        return means

    def _look_at_spans(self, start: int, end: int) -> None:
        """Once for all series of a list."""
        if self._looked != (start, end):
            spans = {span.start: _version(span) for span in self._merged(start, end)}
            self._running.spans_are(spans, self._history.horizon)
            self._looked = (start, end)

    def daily(self, number: int, start: int, end: int) -> dict[int, Rollup]:
        """{day number: bucket}, of UTC days on which anything was seen."""
        days = list(self._history.days_between(start, end))
        rollups = {day.start // DAY: self._sealed(day, number) for day in days if day.sealed}
        edge = min([max(self._history.horizon, start), *(day.start for day in days if not day.sealed)])
        rollups.update((bucket.start // DAY, bucket) for bucket in self.buckets(number, edge, end, DAY))
        return {day: bucket for day, bucket in rollups.items() if bucket is not None}

    def _sealed(self, day: Day, number: int) -> Rollup | None:
        def load() -> Rollup | None:
            whole = next(iter(merge(_span_buckets(day, number, DAY), DAY)), None)
            return whole and whole._replace(sketch=EMPTY)  # it is kept in memory, and never merged

        return self._recent.sealed(day, number, load)

    def _merged(self, start: int, end: int) -> Iterator[Span]:
        """Yields sealed days and merged hours in the order of time."""
        for day in self._history.days_between(start, end):
            if day.sealed:
                yield day
            else:
                hours = sorted(_hours(day, start, end), key=lambda hour: hour.start)
                yield from (hour for hour in hours if hour.end <= self._history.horizon)


def _last(spans: list[Span], end: int) -> int:
    """Where what is merged ends; before `end` only after the clock was set back, or in the past."""
    return min(end, spans[-1].end) if spans else end


def _versions(spans: list[Span]) -> tuple[tuple[int, bytes], ...]:
    return tuple((span.start, _version(span)) for span in spans)


def _version(span: Span) -> bytes:
    """Changes with the span; a ghost has none."""
    span._p_activate()
    return bytes(span._p_serial)


def _hours(day: Day, start: int, end: int) -> list[Span]:
    return [hour for hour in day.hours.values() if hour.start < end and hour.end > start]


def _valued(columns: list, start: int, end: int) -> list:
    """The times and values of the columns that lie in [start, end) and have a value."""
    kept = [(time, value) for time, value in zip(*columns, strict=True) if value is not None and start <= time < end]
    return [[time for time, _ in kept], [value for _, value in kept]]


def _span_rows(span: Span, number: int) -> list[Row]:
    return [row for chunk in span.chunks(number) for row in read(codec.decode_chunk, chunk)]


def _span_buckets(span: Span, number: int, width: int) -> list[Rollup]:
    """Where retention dropped the fitting source, the next coarser one serves."""
    if width % FINE and span.raw is not None:
        return roll_up(_fit(tidy(_span_rows(span, number)), width), (span.start, span.end), width)
    shelf = span.fine if width % HOUR and span.fine is not None else span.hourly
    chunk = shelf.chunk(number) if shelf is not None else None
    return read(codec.decode_rollups, chunk) if chunk else []


def _fit(rows: list[Row], width: int) -> list[Row]:
    """Spreading states over buckets of a second would make a bucket for each."""
    return [row._replace(hold=0) for row in rows] if width % FINE else rows


def _sum_up(spans: list[Span], start: int, end: int, percentiles: bool) -> dict[int, Rollup]:
    """The summaries hold all series."""
    sums: dict[int, list[Rollup]] = {}
    for span in spans:
        for number, rollup in _span_totals(span, start, end, percentiles):
            sums.setdefault(number, []).append(rollup)
    return {number: merge(parts)[0] for number, parts in sums.items()}


def _by_hours(spans: list[Span], start: int, end: int) -> dict[int, MergedHours]:
    parts: dict[int, list[Rollup]] = {}
    for span in spans:
        for number, rollup in _hours_of(span, start, end):
            parts.setdefault(number, []).append(rollup)
    return {number: merged_hours(hours) for number, hours in parts.items()}


def _hours_of(span: Span, start: int, end: int) -> Iterator[tuple[int, Rollup]]:
    """A day's summary puts its hours together: they are gone through."""
    if span.end - span.start == HOUR and span.summary is not None:
        yield from ((number, rollup) for number, rollup, _ in read(codec.decode_summary, span.summary.data))
    elif span.hourly is not None:
        for number in (number for blob in span.hourly.blobs.values() for number in blob.data):
            yield from ((number, part) for part in _span_buckets(span, number, HOUR) if start <= part.start < end)


def _span_totals(span: Span, start: int, end: int, percentiles: bool) -> Iterator[tuple]:
    whole = span.start >= start and span.end <= end
    if whole and span.summary is not None:
        for number, rollup, _ in read(codec.decode_summary, span.summary.data, sketches=percentiles):
            yield number, rollup
    elif not whole:  # the first and the last day: by their hours
        yield from _hours_of(span, start, end)
