"""The persistent shape of the `history` database: the root, its days and hours, and how to reach it from the tree.

    History.logs    process key -> journal.Log      what is not folded yet
    History.days    day number  -> Day              up to 24 Hours while it is open, sealed afterwards

A span (an hour or a day) takes `pieces` from the folder. Compacting turns its pieces into shelves: `raw` rows, `fine`
and `hourly` roll-ups, one blob per shard of 64 series, and one `summary` over all series.
"""

from __future__ import annotations

from BTrees.LOBTree import LOBTree
from BTrees.OOBTree import OOBTree
from persistent import Persistent

from opsapp.series.rollup import DAY, HOUR

KEY = "series"
SHARD = 64


class Blob(Persistent):
    """Holds the data of a shard as {series number: chunk}, or of a summary as a whole."""

    def __init__(self, data):
        self.data = data


class Shelf(Persistent):
    """One kind of blob, by shard; dropped together."""

    def __init__(self, chunks: dict | None = None):
        self.blobs: dict[int, Blob] = {}
        for shard, data in _by_shard(chunks or {}).items():
            self.put(shard, data)

    def put(self, shard: int, data) -> None:
        self.blobs = {**self.blobs, shard: Blob(data)}

    def chunk(self, number: int) -> bytes | None:
        blob = self.blobs.get(number // SHARD)
        return blob.data.get(number) if blob else None


class Span(Persistent):
    """A stretch of history that begins at `start` (ms)."""

    length = HOUR
    summary: Blob | None = None
    raw: Shelf | None = None
    fine: Shelf | None = None
    hourly: Shelf | None = None
    totals: Shelf | None = None  # summaries by shard while the span is being compacted
    pieces: tuple = ()
    done: frozenset = frozenset()  # shards compacted so far

    def __init__(self, start: int):
        self.start = start

    @property
    def end(self) -> int:
        return self.start + self.length

    def take(self, chunks: dict) -> None:
        """{number: chunk}. These shards are compacted again; rows stay unique."""
        self.pieces = (*self.pieces, Shelf(chunks))
        self.done = frozenset()

    def chunks(self, number: int):
        for shelf in (self.raw, *self.pieces):
            chunk = shelf.chunk(number) if shelf is not None else None
            if chunk is not None:
                yield chunk

    def shards(self) -> set:
        return {shard for shelf in (self.raw, *self.pieces) if shelf is not None for shard in shelf.blobs}


class Hour(Span):
    pass


class Day(Span):
    length = DAY

    def __init__(self, start: int):
        super().__init__(start)
        self.hours: dict[int, Hour] = {}  # by start
        self.sealed = False

    def hour(self, start: int) -> Hour:
        if start not in self.hours:
            self.hours = {**self.hours, start: Hour(start)}
        return self.hours[start]

    def seal(self) -> None:
        self.hours = {}
        self.sealed = True


class History(Persistent):
    next_number = 1
    horizon = 0  # ms: every hour before it is merged, in order

    def __init__(self):
        self.logs = OOBTree()
        self.days = LOBTree()

    def day(self, time: int) -> Day:
        number = time // DAY
        if number not in self.days:
            self.days[number] = Day(number * DAY)
        return self.days[number]

    def find_day(self, time: int) -> Day | None:
        return self.days.get(time // DAY)

    def find_hour(self, time: int) -> Hour | None:
        day = self.find_day(time)
        return day.hours.get(time - time % HOUR) if day is not None else None

    def days_between(self, start: int, end: int):
        return self.days.values(start // DAY, (end - 1) // DAY)


def history_root(root):
    """Returns the root of history from any persistent object, in the same transaction. A node with one store for
    everything keeps history beside the tree."""
    connection = root._p_jar
    if "history" not in connection.db().databases:
        return connection.root()
    history = connection.get_connection("history")
    # The node's own manager asks a database only when a transaction looks into it; any other has asked all of them.
    take_in = getattr(connection.transaction_manager, "take_in", None)
    if take_in is not None:
        take_in(history)
    return history.root()


def open_history(mapping, create: bool = False) -> History:
    """A reader of a store where nothing was measured gets an empty one."""
    history = mapping.get(KEY)
    if history is None:
        history = History()
        if create:
            mapping[KEY] = history
    return history


def _by_shard(chunks: dict) -> dict:
    shards: dict[int, dict] = {}
    for number, chunk in chunks.items():
        shards.setdefault(number // SHARD, {})[number] = chunk
    return shards
