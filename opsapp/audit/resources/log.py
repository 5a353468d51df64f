"""How audit entries are kept: a log a writer, the newest one by one, the older ones in packed blocks of 256 that never
change. A shelf holds 32 blocks and counts what is in them, so a question over a million entries unpacks only the
blocks that hold its answer. Only the retention takes entries out, shelf by shelf from the oldest."""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from typing import Any, NamedTuple

from BTrees.LOBTree import LOBTree
from persistent import Persistent

from opsapp.audit.logic import AuditFilter, KeptEntry
from opsapp.lib import chains
from opsapp.tree.reading import ChildrenOf, is_sound

FOLD = 256
SHELF = 32
PAGE = 16
UNREAD = "unreadable"
ENTRY, SHELVES = "audit entry", "part of the audit record"  # what people call them


class Piece(NamedTuple):
    """A run of one writer's entries, of which `size` are asked for. `load` gives them all, oldest first."""

    last: float
    number: int
    first: float
    size: int
    load: Callable[[], list[KeptEntry]]


class Checked(NamedTuple):
    """How many entries are sound, whether all are, and the first that may not be (a block is one piece)."""

    sound: int
    valid: bool
    first_bad: str | None


def lost(name: str, at: float) -> KeptEntry:
    """Stands for an entry that cannot be read. It fits no link, so that the record is told as not whole."""
    return {
        "id": name,
        "time": at,
        "username": None,
        "ip": None,
        "action": UNREAD,
        "target": "",
        "result": UNREAD,
        "reason": None,
        "before": None,
        "after": None,
    }


class Kept(Persistent):
    """In memory it is a text: its values are some seventy objects, five times as large, and connections keep thousands
    of entries that nobody reads. The store has its values."""

    def __init__(self, values: KeptEntry):
        self.text = json.dumps(values, default=str)

    @property
    def values(self) -> KeptEntry:
        return json.loads(self.text)

    def __getstate__(self) -> dict[str, KeptEntry]:
        return {"values": self.values}

    def __setstate__(self, state: dict[str, KeptEntry]) -> None:
        super().__setstate__({"text": json.dumps(state["values"], default=str)})


class Block(Persistent):
    """Entries, packed; oldest first. `start` is the link before the first of them."""

    start: str | None = None

    def __init__(self, entries: list[KeptEntry], start: str | None):
        self.start = start
        self.packed = zlib.compress(json.dumps(entries, default=str, separators=(",", ":")).encode())

    def entries(self) -> list[KeptEntry]:
        return json.loads(zlib.decompress(self.packed))


class Index(Persistent):
    """kind -> {block: entries}. Loaded only when it is asked."""

    def __init__(self) -> None:
        self.counts: dict[Any, dict[Any, int]] = {}

    def add(self, kind: Any, place: Any, count: int) -> None:
        self.counts.setdefault(kind, {})[place] = count
        self._p_changed = True


class Shelf(Persistent):
    """Blocks, and beside each how many entries it has, from when to when."""

    def __init__(self) -> None:
        self.blocks: tuple[tuple[int, float, float, Block], ...] = ()
        self.deeds = Index()  # (username, action) -> {block: entries}
        self.targets = Index()  # target -> {(block, username, action): entries}

    def entries_of(self, n: int) -> list[KeptEntry]:
        count, _, last, block = self.blocks[n]
        if is_sound(self, SHELVES, f"block {n}", block):
            return block.entries()
        return [lost(f"{UNREAD}-{n}-{place}", last) for place in range(count)]

    def start_of(self, n: int) -> str | None:
        block = self.blocks[n][3]
        return block.start if is_sound(self, SHELVES, f"block {n}", block) else ""

    def add(self, entries: list[KeptEntry], start: str | None) -> None:
        place, times = len(self.blocks), [entry["time"] for entry in entries]
        for deed, count in Counter((entry["username"], entry["action"]) for entry in entries).items():
            self.deeds.add(deed, place, count)
        kinds = Counter((entry["target"], entry["username"], entry["action"]) for entry in entries)
        for (target, username, action), count in kinds.items():
            self.targets.add(target, (place, username, action), count)
        self.blocks += ((len(entries), min(times), max(times), Block(entries, start)),)

    def counts(self, wanted: AuditFilter) -> list[int]:
        sizes = [0] * len(self.blocks)
        if wanted.target:
            for (place, username, action), count in self.targets.counts.get(wanted.target, {}).items():
                if wanted.fits(username, action):
                    sizes[place] += count
        elif wanted.user or wanted.action:
            for (username, action), counts in self.deeds.counts.items():
                if wanted.fits(username, action):
                    for place, count in counts.items():
                        sizes[place] += count
        else:
            sizes = [block[0] for block in self.blocks]
        return sizes


class Log(Persistent):
    """One writer's entries and the chain over them: `head` is the newest link, `tail_start` the one before the first
    unfolded entry. Entries up to `unlinked` are from before there was a key; up to `retired` they are gone."""

    head: str | None = None
    tail_start: str | None = None
    unlinked = 0
    retired = 0
    signature: str | None = None

    def __init__(self) -> None:
        self.folded = 0  # the number of the newest entry that is folded
        self.tail = LOBTree()
        self.shelves = LOBTree()

    @property
    def readable(self) -> ChildrenOf:
        return ChildrenOf(self.shelves, SHELVES)

    @property
    def number(self) -> int:
        """The number of the newest entry."""
        return max(self.folded, self.tail.maxKey() if self.tail else 0)

    def append(self, entry: KeptEntry, key: bytes = b"") -> None:
        if key and self.head is None:
            self.begin_chain(key)
        number = self.number + 1
        self.tail[number] = Kept(entry)
        if key:
            self.head = linked(key, str(self.head), number, entry)
        if number % FOLD == 0:
            self._fold()
        self.sign(key)

    def begin_chain(self, key: bytes) -> None:
        self.head = self.tail_start = chains.GENESIS
        self.unlinked = self.number
        folded = sum(count for shelf in self.shelves.values() for count, *_ in shelf.blocks)
        self.retired = self.number - len(self.tail) - folded
        self.sign(key)

    def sign(self, key: bytes) -> None:
        """Only who has the key can say that the log begins and ends where it does."""
        if key and self.head is not None:
            self.signature = chains.link(key, self.head, self.bounds())

    def bounds(self) -> list[int]:
        return [self.retired, self.unlinked, self.number]

    def _fold(self) -> None:
        number = self.shelves.maxKey() if self.shelves else 0
        shelf = self.readable.find(number)
        if shelf is None or len(shelf.blocks) >= SHELF:
            number += 1
            shelf = self.shelves[number] = Shelf()
        shelf.add([entry for _, entry in self.newest()], self.tail_start)
        self.folded = self.tail.maxKey()
        self.tail, self.tail_start = LOBTree(), self.head

    def newest(self, after: int = 0) -> list[tuple[int, KeptEntry]]:
        """What is not folded yet, by number; of numbers above `after`."""
        numbers = list(self.tail.keys(after + 1))
        whole = {number: kept.values for number, kept in ChildrenOf(self.tail, ENTRY).some_items(numbers)}
        at, entries = next((entry["time"] for entry in whole.values()), 0.0), []
        for number in numbers:
            entry = whole.get(number) or lost(f"{UNREAD}-{number}", at)
            at = entry["time"]
            entries.append((number, entry))
        return entries

    def after(self, number: int) -> Iterator[tuple[int, KeptEntry]]:
        """Higher numbers, oldest first; a block is unpacked when its turn comes."""
        newest = self.shelves.maxKey() if self.shelves else 0
        first = newest - (self.folded - number) // (FOLD * SHELF) - 1
        shelves = dict(self.readable.some_items(list(self.shelves.keys(first)) if number < self.folded else ()))
        # Each block ends at the next multiple of FOLD, and each shelf before the newest is full. Where that one cannot
        # be read, it is taken to be short: then entries are told twice, and none is passed over.
        blocks = len(shelves[newest].blocks) if newest in shelves else 1
        for place, shelf in shelves.items():
            for n, (count, *_) in enumerate(shelf.blocks):
                end = self.folded - FOLD * ((newest - place) * SHELF + blocks - 1 - n)
                if end > number:
                    rows = enumerate(shelf.entries_of(n), end - count + 1)
                    yield from (row for row in rows if row[0] > number)
        yield from self.newest(max(number, self.folded))

    def pieces(self, wanted: AuditFilter) -> Iterator[Piece]:
        since, until = wanted.since or 0, wanted.until or inf
        for number, shelf in self.readable.some_items(self.shelves.keys()):
            if max(last for _, _, last, _ in shelf.blocks) < since:
                continue
            for n, count in enumerate(shelf.counts(wanted)):
                _, first, last, _ = shelf.blocks[n]
                load = partial(shelf.entries_of, n)
                if count and (first < since or last >= until):  # the time asked for cuts through
                    count = asked_for(load(), wanted) if last >= since and first < until else 0
                if count:
                    yield Piece(last, number * SHELF + n, first, count, load)
        entries = [entry for _, entry in self.newest()]
        count = asked_for(entries, wanted)
        if count:
            times = [entry["time"] for entry in entries]
            yield Piece(max(times), 1 << 62, min(times), count, lambda: entries)

    def retire(self, before: float, key: bytes = b"") -> int:
        """Whole shelves and at most a page of them; how many entries went."""
        if key and self.head is None and (self.tail or self.shelves):
            self.begin_chain(key)
        dropped = 0
        for number, shelf in list(self.readable.some_items(list(self.shelves.keys())[:PAGE])):
            if max(last for _, _, last, _ in shelf.blocks) >= before:
                break
            dropped += sum(block[0] for block in shelf.blocks)
            del self.shelves[number]
        for number, entry in self.newest():
            if entry["time"] >= before or self.shelves:
                break
            if self.tail_start is not None and number > self.unlinked:
                self.tail_start = linked(key, self.tail_start, number, entry)
            self.folded = number
            del self.tail[number]
            dropped += 1
        if dropped:
            self.retired += dropped
            self.sign(key)
        return dropped

    def check(self, key: bytes) -> Checked:
        if self.head is None or not chains.fits(key, self.signature, self.head, self.bounds()):
            return Checked(0, False, None)
        number, link, sound, before = self.retired, None, 0, None
        for start, entries in self._segments():
            if number + len(entries) > self.unlinked:
                if link is not None and link != start:
                    return Checked(sound - len(before or ()), False, (before or entries)[0]["id"])
                link = start
            for entry in entries:
                number += 1
                link = linked(key, link, number, entry) if link is not None and number > self.unlinked else link
            sound, before = sound + len(entries), entries
        if number != self.number or (link or chains.GENESIS) != self.head:
            return Checked(sound - len(before or ()), False, before[0]["id"] if before else None)
        return Checked(sound, True, None)

    def _segments(self) -> Iterator[tuple[str | None, list[KeptEntry]]]:
        """The link before it, and the entries, of each block and of the tail."""
        for shelf in self.readable.some(self.shelves.keys()):
            for n in range(len(shelf.blocks)):
                yield shelf.start_of(n), shelf.entries_of(n)
        if self.tail:
            yield self.tail_start, [entry for _, entry in self.newest()]


def linked(key: bytes, previous: str, number: int, entry: KeptEntry) -> str:
    return chains.link(key, previous, [number, entry])


def asked_for(entries: list[KeptEntry], wanted: AuditFilter) -> int:
    return sum(1 for entry in entries if wanted.is_in_time(entry["time"]) and wanted.matches(entry))
