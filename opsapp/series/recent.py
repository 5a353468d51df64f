"""The journal's unfolded tail, decoded and indexed in memory, brought up to date on each read.

Reads go through `catch_up`, and see what their own snapshot holds. Rows are in generations of batches, dropped once all
is folded: until then a row may be in a piece too, and the reader keeps each once.
"""

from __future__ import annotations

import math
import threading
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from itertools import accumulate
from struct import Struct
from typing import NamedTuple

from opsapp.series import codec
from opsapp.series.codec import LATEST
from opsapp.series.folds import last_states, read, summary_before
from opsapp.series.history import Day, History, open_history
from opsapp.series.observations import Row
from opsapp.series.rollup import HOUR, Rollup
from opsapp.series.running import Running, SeenChanges
from opsapp.series.totals import MergedHours

GENERATION = 64  # batches
LOOKS = 3
NEWS = 200_000  # observations
SEALED = 20_000  # days of series remembered: status pages ask for the same ones again and again
OFF_MS = 10_000  # what the clocks of nodes may differ by before they count as set
SUMS = 6  # windows: a day for the lists, a day and a week for the scores, a month for the SLA, two of reports
ROW = Struct("<qdBI")  # 21 bytes a row: five minutes of 1,000 checks a second are 6 MB


class AskedWindow(NamedTuple):
    """The last so many hours."""

    hours: int
    percentiles: bool


DAY_OF_HOURS = AskedWindow(0, True)  # of which each hour is told too


def carry_version(history: History, at: int) -> tuple | None:
    """Changes with the states that last beyond `at`."""
    blob = summary_before(history, at)
    if blob is None:
        return None
    len(blob.data)  # a ghost has no serial
    return (at, blob._p_oid, blob._p_serial)


class Generation:
    """Once it is whole, rows are put end to end: thousands of small buffers take several times the memory."""

    def __init__(self) -> None:
        self.batches = 0
        self.folded = 0  # how many looks found it folded
        self.last: dict[str, int] = {}  # log -> its last batch in here
        self._open: dict[int, bytes] = {}
        self._numbers, self._ends, self._rows = array("I"), array("I"), b""

    def take(self, key: str, batch: int, observations: list) -> None:
        self.batches += 1
        self.folded = 0
        self.last[key] = batch
        for number, time, value, status, hold in observations:
            packed = ROW.pack(time, math.nan if value is None else value, status, hold)
            # Some rows a series before all is closed: a buffer that grows takes half as much again.
            self._open[number] = self._open[number] + packed if number in self._open else packed

    def close(self) -> None:
        """Who reads meanwhile finds rows open until all are in place."""
        numbers = sorted(self._open)
        self._rows = b"".join(map(self._open.__getitem__, numbers))
        self._ends = array("I", accumulate(len(self._open[number]) for number in numbers))
        self._numbers = array("I", numbers)
        self._open = {}

    def rows(self, number: int) -> bytes:
        packed = self._open.get(number)
        if packed is not None:
            return packed
        at = bisect_left(self._numbers, number)
        if at == len(self._numbers) or self._numbers[at] != number:
            return b""
        return self._rows[self._ends[at - 1] if at else 0 : self._ends[at]]


class Recent:
    """One thread at a time brings it up to date, and may wait for a store; readers, above all the hub, never do."""

    def __init__(self, own: str = "", now: Callable[[], float] = lambda: math.inf) -> None:
        self._own = own  # the key of this process's own log: what is in there is known here
        self._now = now
        self._follows = False  # what it finds is new, and not what was there at the start
        self._news: deque[tuple] = deque(maxlen=NEWS)
        self._lock = threading.Lock()
        self._generations: list[Generation] = [Generation()]
        self._read: dict[str, int] = {}  # log -> last batch read
        self._settled = 0  # ms: what is older and comes now has come late
        self._late: dict[int, int] = {}  # series -> ms: its oldest row that came late
        self._carry: tuple = (None, {})
        self._sums: dict[tuple, dict[int, Rollup]] = {}
        self._asked: dict[AskedWindow, int] = {}
        self._prepared: tuple = ()
        self._hours: tuple[tuple, dict[int, MergedHours]] = ((), {})
        self._sealed: dict[tuple[int, int], tuple] = {}
        self._folded: dict[str, int] = {}  # log -> how far it was folded, as far as anybody has seen here
        self.running = Running()

    def catch_up(self, mapping) -> SeenChanges:
        """Reads the batches that are new in the logs and drops what is folded."""
        with self._lock:
            marks, history = {}, open_history(mapping)
            for key, entry in history.logs.items():
                marks[key] = entry.mark.folded
                # From where this process stands: a batch may be folded within the second, and its rows are news too.
                batches = list(entry.batches(self._read.get(key, marks[key])))
                self._note_gap(key, marks[key], batches)
                by = self._off([at for _, _, at in batches])
                for number, data, _ in batches:
                    observations = read(codec.decode_batch, data)
                    self._current().take(key, number, observations)
                    self._read[key] = number
                    self._note_late(observations)
                    self.running.take(observations, history.horizon)
                    if key != self._own:
                        self._news.extend([(told[0], told[1] - by, *told[2:]) for told in observations])
            newest = self._is_newest(marks)
            self._drop(marks)
            self._follows = True
            return SeenChanges(self.running.changes, newest)

    def _off(self, cut: list[int]) -> int:
        """ms by which the cutter's clock is ahead, where one of the two was set: a batch just cut is news whatever that
        clock says."""
        now = self._now() * 1000
        if not cut or not self._follows or now == math.inf:
            return 0
        by = int(max(cut) - now)
        return by if abs(by) > OFF_MS else 0

    def news(self) -> list[tuple]:
        """What others observed; the oldest are forgotten where nobody asks."""
        news = []
        while self._news:
            news.append(self._news.popleft())
        return news

    def late(self, settled: int) -> dict[int, int]:
        """{series: its oldest row} that came late since this was asked last. From now on what is older than `settled`
        (ms) is late. Unasked, nothing is kept."""
        with self._lock:
            late, self._late, self._settled = self._late, {}, settled
        return late

    def last(self, number: int) -> Row | None:
        """The last row of a series that has a value."""
        return max((row for row in self.rows(number, 0, LATEST) if row.value is not None), default=None)

    def carry(self, history: History, at: int) -> dict[int, Row]:
        """`last_states`, kept while the same summary precedes `at`."""
        key = carry_version(history, at)
        if key is None:
            return {}
        known = self._carry
        if key != known[0]:
            known = self._carry = (key, last_states(history, at))
        return known[1]

    def sealed(self, day: Day, number: int, load: Callable[[], Rollup | None]) -> Rollup | None:
        """Kept while the day is not sealed anew."""
        known = self._sealed.get((day.start, number))
        if known is None or known[0] != day._p_serial:
            if len(self._sealed) >= SEALED:
                self._sealed.clear()
            known = self._sealed[day.start, number] = (day._p_serial, load())
        return known[1]

    def sums(self, key: tuple, load: Callable[[], dict[int, Rollup]]) -> dict[int, Rollup]:
        """Kept for the windows asked for last; `key` has every span's version."""
        sums = self._sums.get(key)
        if sums is None:
            sums = load()
            with self._lock:
                self._sums = dict([*self._sums.items(), (key, sums)][-SUMS:])
        return sums

    def asked(self, window: AskedWindow, at: int) -> None:
        """Notes that somebody asked for this window for many series."""
        with self._lock:
            self._asked = dict([*(self._asked | {window: at}).items()][-SUMS:])

    @property
    def is_asked(self) -> bool:
        return bool(self._asked)

    def to_prepare(self, versions: tuple, now: int) -> list[AskedWindow]:
        """Once for all `versions`: the windows of the last hour."""
        with self._lock:
            known, self._prepared = self._prepared, versions
            return [window for window, at in self._asked.items() if known != versions and at > now - HOUR]

    def hours(self, key: tuple, load: Callable[[], dict[int, MergedHours]]) -> dict[int, MergedHours]:
        """`key` has every span's version."""
        known = self._hours
        if known[0] != key:
            known = self._hours = (key, load())
        return known[1]

    def rows(self, number: int, start: int, end: int) -> list[Row]:
        packed = b"".join(generation.rows(number) for generation in tuple(self._generations))
        rows = []
        for time, value, status, hold in ROW.iter_unpack(packed):
            if start <= time < end:
                rows.append(Row(time, None if math.isnan(value) else value, status, hold))
        return rows

    def _note_gap(self, key: str, folded: int, batches: list) -> None:
        """A log has no gaps: these were folded and dropped before they were looked at."""
        read = self._read.get(key)
        missed = folded > 0 if read is None else bool(batches) and batches[0][0] > read + 1
        if missed or (read is not None and not batches and folded > read):
            self.running.forget()

    def _is_newest(self, marks: dict[str, int]) -> bool:
        """Else rows that were folded meanwhile may have gone from memory."""
        newest = all(marks.get(key, 0) >= folded for key, folded in self._folded.items() if key in marks)
        self._folded = {key: max(folded, self._folded.get(key, 0)) for key, folded in marks.items()}
        return newest

    def _note_late(self, observations: list) -> None:
        for number, time, *_ in observations:
            if time < self._settled:
                self._late[number] = min(time, self._late.get(number, time))

    def _current(self) -> Generation:
        if self._generations[-1].batches >= GENERATION:
            self._generations[-1].close()
            self._generations.append(Generation())
        return self._generations[-1]

    def _drop(self, marks: dict[str, int]) -> None:
        """Some looks later: a transaction that began before the fold sees these rows nowhere else. A log that is gone
        was folded whole."""
        for generation in self._generations:
            if generation.batches and all(last <= marks.get(key, last) for key, last in generation.last.items()):
                generation.folded += 1
        kept = [generation for generation in self._generations if generation.folded < LOOKS]
        self._generations = kept or [Generation()]
        self._read = {key: number for key, number in self._read.items() if key in marks}
