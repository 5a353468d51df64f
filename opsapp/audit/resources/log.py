"""How audit entries are kept: a log a writer, the newest entries one by one, the older ones folded into blocks.

A block holds 256 entries, packed, and is never changed again. A shelf holds 32 blocks and knows what is in them: how
many entries of whom, what, on what, and from when to when; so a question over a million entries unpacks only the blocks
that hold its answer. Nothing is taken out but by the retention, shelf by shelf from the oldest.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from BTrees.LOBTree import LOBTree
from persistent import Persistent

from opsapp.audit.logic import fits, matches

FOLD = 256
SHELF = 32
PAGE = 16

AuditEntry = dict[str, Any]
Wanted = dict[str, Any]


class Piece(NamedTuple):
    """A run of entries of one writer, of which `size` are asked for. `load` gives them all, oldest first."""

    last: float
    number: int
    first: float
    size: int
    load: Callable[[], list[AuditEntry]]


class Kept(Persistent):
    """One entry that is not folded yet."""

    def __init__(self, values: AuditEntry):
        self.values = values


class Block(Persistent):
    """Entries, packed; oldest first."""

    def __init__(self, entries: list[AuditEntry]):
        self.packed = zlib.compress(json.dumps(entries, default=str, separators=(",", ":")).encode())

    def entries(self) -> list[AuditEntry]:
        return json.loads(zlib.decompress(self.packed))


class Index(Persistent):
    """How many entries of each kind a block has: kind -> {block: entries}. Loaded only when it is asked."""

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

    def add(self, entries: list[AuditEntry]) -> None:
        place, times = len(self.blocks), [entry["time"] for entry in entries]
        for deed, count in Counter((entry["username"], entry["action"]) for entry in entries).items():
            self.deeds.add(deed, place, count)
        kinds = Counter((entry["target"], entry["username"], entry["action"]) for entry in entries)
        for (target, username, action), count in kinds.items():
            self.targets.add(target, (place, username, action), count)
        self.blocks += ((len(entries), min(times), max(times), Block(entries)),)

    def counts(self, wanted: Wanted) -> list[int]:
        """How many entries asked for each block has, whatever their time."""
        found = [0] * len(self.blocks)
        if wanted.get("target"):
            for (place, username, action), count in self.targets.counts.get(wanted["target"], {}).items():
                if fits(username, action, wanted):
                    found[place] += count
        elif wanted.get("user") or wanted.get("action"):
            for (username, action), counts in self.deeds.counts.items():
                if fits(username, action, wanted):
                    for place, count in counts.items():
                        found[place] += count
        else:
            found = [block[0] for block in self.blocks]
        return found


class Log(Persistent):
    """All entries of one writer."""

    def __init__(self) -> None:
        self.folded = 0  # the number of the newest entry that is folded
        self.tail = LOBTree()
        self.shelves = LOBTree()

    def append(self, entry: AuditEntry) -> None:
        number = max(self.folded, self.tail.maxKey() if self.tail else 0) + 1
        self.tail[number] = Kept(entry)
        if number % FOLD == 0:
            self._fold()

    def _fold(self) -> None:
        number = self.shelves.maxKey() if self.shelves else 0
        if not number or len(self.shelves[number].blocks) >= SHELF:
            number += 1
            self.shelves[number] = Shelf()
        self.shelves[number].add([kept.values for kept in self.tail.values()])
        self.folded = self.tail.maxKey()
        self.tail = LOBTree()

    def pieces(self, wanted: Wanted) -> Iterator[Piece]:
        """Every piece that holds entries asked for, and how many."""
        since = wanted.get("since") or 0
        for number, shelf in self.shelves.items():
            if max(last for _, _, last, _ in shelf.blocks) < since:
                continue
            for n, count in enumerate(shelf.counts(wanted)):
                _, first, last, block = shelf.blocks[n]
                if count and first < since:  # the time asked for cuts through
                    count = asked_for(block.entries(), wanted) if last >= since else 0
                if count:
                    yield Piece(last, number * SHELF + n, first, count, block.entries)
        entries = [kept.values for kept in self.tail.values()]
        count = asked_for(entries, wanted)
        if count:
            times = [entry["time"] for entry in entries]
            yield Piece(max(times), 1 << 62, min(times), count, lambda: entries)

    def retire(self, before: float) -> int:
        """Drop what is older, whole shelves and at most a page of them; how many entries went."""
        dropped = 0
        for number, shelf in list(self.shelves.items())[:PAGE]:
            if max(last for _, _, last, _ in shelf.blocks) >= before:
                break
            dropped += sum(block[0] for block in shelf.blocks)
            del self.shelves[number]
        for number, kept in list(self.tail.items()):
            if kept.values["time"] >= before:
                break
            del self.tail[number]
            dropped += 1
        return dropped


def asked_for(entries: list[AuditEntry], wanted: Wanted) -> int:
    since = wanted.get("since") or 0
    return sum(1 for entry in entries if entry["time"] >= since and matches(entry, wanted))
