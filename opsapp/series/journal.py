"""The node's collector of observations, and the append-only log it commits them to once a second.

`Journal.add` never blocks. A `Log` belongs to one start of a process: it has one writer, who numbers batches without
asking.
"""

from __future__ import annotations

import logging
import secrets
from collections import deque
from itertools import islice

from persistent import Persistent

from opsapp.series import codec
from opsapp.series.history import open_history
from opsapp.series.observations import MARK

log = logging.getLogger(__name__)
PAGE = 64  # slots made at a time: an append then writes one small object and no index
BATCH = 20_000  # observations in a batch at most
COMMIT = 64  # batches in a commit at most, when there is a backlog
AHEAD = 3_600_000  # ms: what claims to be later than this is a mistake, and would open days that never end
EMPTY = codec.encode_batch([])


class Slot(Persistent):
    data: bytes | None = None
    at = 0


class Page(Persistent):
    def __init__(self, base: int):
        self.base = base
        self.slots = tuple(Slot() for _ in range(PAGE))

    @property
    def last(self) -> int:
        return self.base + PAGE - 1


class Mark(Persistent):
    """An object of its own: the folder writes it, the log's writer only reads it."""

    folded = 0


class Log(Persistent):
    """Batches of one process, numbered; dropped by the page once folded."""

    def __init__(self, base: int):
        self.mark = Mark()
        self.pages: tuple = (Page(base),)

    def append(self, number: int, data: bytes, at: int) -> None:
        """Once: repeated after a commit of unknown outcome it changes nothing."""
        page = self.pages[-1]
        if number < page.base:
            return
        if number > page.last:
            page = Page(number)
            self.pages = (*(old for old in self.pages if old.last > self.mark.folded), page)
        slot = page.slots[number - page.base]
        if slot.data is None:
            slot.data, slot.at = data, at

    def batches(self, after: int):
        """(number, bytes, committed at)."""
        for page in self.pages:
            if page.last <= after:
                continue
            for number, slot in enumerate(page.slots, page.base):
                if slot.data is not None and number > after:
                    yield number, slot.data, slot.at

    def latest(self) -> int:
        """When the last batch was cut, in ms; 0: none."""
        return max((slot.at for page in self.pages[-2:] for slot in page.slots), default=0)


class Journal:
    """Observed, and not committed yet."""

    def __init__(self, node: str, limit: int = 64 << 20):
        self.key = f"{node}:{secrets.token_hex(8)}"
        self.limit = limit  # bytes of batches kept while the store is away
        self.lost = 0  # observations given up: refused ones, and the oldest past the limit
        self._pending: deque = deque()
        self._queue: deque = deque()  # [number, bytes, cut at, observations]
        self._next = 1

    def add(self, number: int, time: int, value: float | None = None, status: int = 0, hold: int = 0) -> None:
        """Time in ms, hold in s."""
        self._pending.append((number, time, value, status, hold))

    def mark(self, number: int, time: int, status: int, hold: int) -> None:
        """A change of state without a check (a pause, a window): lasts, is not counted."""
        self._pending.append((number, time, None, status | MARK, hold))

    def move(self, by: float) -> None:
        """What is in no batch yet is told by the new clock."""
        for _ in range(len(self._pending)):
            number, time, *rest = self._pending.popleft()
            self._pending.append((number, time + int(by * 1000), *rest))

    @property
    def waiting(self) -> bool:
        return bool(self._pending or self._queue)

    @property
    def backlog(self) -> int:
        """Batches not known to be committed."""
        return len(self._queue)

    def pack(self, now: int) -> None:
        """Not for the hub: it compresses."""
        while self._pending:
            observations = [self._pending.popleft() for _ in range(min(BATCH, len(self._pending)))]
            try:
                data = codec.encode_batch(observations, now + AHEAD)
            except (TypeError, ValueError, OverflowError):
                observations = [observation for observation in observations if self._sound(observation, now)]
                data = codec.encode_batch(observations)
            self._queue.append([self._next, data, now, len(observations)])
            self._next += 1
        self._shed()

    def flush(self, mapping) -> int:
        """Transaction function; the number of the last batch kept."""
        logs = open_history(mapping, create=True).logs
        batches = list(islice(self._queue, COMMIT))
        if self.key not in logs:
            logs[self.key] = Log(batches[0][0])
        for number, data, at, _ in batches:
            logs[self.key].append(number, data, at)
        return batches[-1][0]

    def settle(self, number: int) -> None:
        """These are committed."""
        while self._queue and self._queue[0][0] <= number:
            self._queue.popleft()

    def _sound(self, observation, now: int) -> bool:
        try:
            codec.encode_batch([observation], now + AHEAD)
        except (TypeError, ValueError, OverflowError) as error:
            self.lost += 1
            log.error("observation refused: %r: %s", observation, error)
            return False
        return True

    def _shed(self) -> None:
        """The oldest batches are emptied and keep their numbers: a log has no gaps."""
        size = sum(len(entry[1]) for entry in self._queue)
        for entry in self._queue:
            if size > self.limit:
                size -= len(entry[1]) - len(EMPTY)
                self.lost += entry[3]
                entry[1], entry[3] = EMPTY, 0
