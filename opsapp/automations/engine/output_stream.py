"""Following a run's output as server-sent events: `log` for each line, `status`, and `end` with the run.

An event's id is the place behind its line, so that a reader goes on where it left off. Nothing is held for a reader but
one piece of output: whoever reads slowly is read for slowly.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from gevent.event import Event as HubEvent

from opsapp.automations.records import RunSummary
from opsapp.runtime.node import Node
from opsapp.wire.records import plain

from . import records
from .watchers import watchers_of

PIECE = 64 * 1024
LOOK_EVERY_S = 1.0
COMMENT_EVERY_S = 15.0
LONGEST_LINE = 16 * 1024
Encode = Callable[..., bytes]


def position_of(event_id: str | None) -> int:
    """The place in the output that an event's id stands for."""
    digits = (event_id or "").partition("-")[0]
    return int(digits) if digits.isdecimal() and len(digits) < 12 else 0


class OutputLines:
    """Cuts pieces of output into lines. What has no end of line yet waits for it, or for the run's end."""

    def __init__(self, position: int):
        self.position = position  # behind the last line that was given out
        self._held = ""

    @property
    def reads_from(self) -> int:
        return self.position + len(self._held)

    def put(self, start: int, text: str) -> list[tuple[str, int]]:
        """(line, the place behind it) of each line that is whole."""
        if start != self.reads_from:
            self.position, self._held = start, ""
        text, lines = self._held + text, []
        while True:
            cut = text.find("\n")
            if cut < 0 and len(text) < LONGEST_LINE:
                break
            line, used = (text[:cut], cut + 1) if 0 <= cut < LONGEST_LINE else (text[:LONGEST_LINE], LONGEST_LINE)
            text = text[used:]
            self.position += used
            lines.append((line, self.position))
        self._held = text
        return lines

    def rest(self) -> list[tuple[str, int]]:
        line, self._held = self._held, ""
        self.position += len(line)
        return [(line, self.position)] if line else []


class Follower:
    """A source for a Stream. `end(why)` ends it early (the reader signed out). `whole`: with what hosts wrote."""

    def __init__(
        self, node: Node, run_id: str, after: str | None, encode: Encode, retry: bytes, comment: bytes, *, whole: bool
    ):
        self._node, self._run_id, self._whole = node, run_id, whole
        self._lines = OutputLines(position_of(after))
        self._encode, self._retry, self._comment = encode, retry, comment
        self._signal: Any = None
        self._stops: list[Callable[[], None]] = []
        self._ended: str | None = None
        self._status: str | None = None

    def open(self) -> None:
        self._signal = HubEvent() if self._node.hub.is_here() else threading.Event()
        self._stops.append(watchers_of(self._node).watch(self._run_id, self._signal.set))

    def end(self, why: str) -> None:
        self._ended = why
        self._signal.set()

    def close(self) -> None:
        while self._stops:
            self._stops.pop()()

    def __iter__(self) -> Iterator[bytes]:
        yield self._retry
        quiet_since = time.monotonic()
        while True:
            self._signal.clear()
            if self._ended is not None:
                yield self._encode({"reason": self._ended}, event="end", id=self._lines.position)
                return
            seen = self._node.transact(records.piece, self._run_id, self._lines.reads_from, PIECE, self._whole)
            if seen is None:
                yield self._encode({"reason": "gone"}, event="end", id=self._lines.position)
                return
            sent = self._events(seen)
            if sent:
                yield sent
                quiet_since = time.monotonic()
            if self._lines.reads_from < seen.size:
                continue
            if seen.over:
                yield self._last(seen)
                return
            self._signal.wait(LOOK_EVERY_S)
            if time.monotonic() - quiet_since >= COMMENT_EVERY_S:
                yield self._comment
                quiet_since = time.monotonic()

    def _events(self, seen: records.OutputPiece) -> bytes:
        events = []
        if seen.run.status != self._status and not seen.over:
            events.append(self._told(seen.run))
        for start, text, at in seen.pieces:
            events += [self._line(line, place, at) for line, place in self._lines.put(start, text)]
        return b"".join(events)

    def _last(self, seen: records.OutputPiece) -> bytes:
        run = seen.run
        lines = [self._line(line, place, run.finished or 0) for line, place in self._lines.rest()]
        end = self._encode({"reason": run.status, "status": run.status}, event="end", id=f"{self._lines.position}-end")
        return b"".join([*lines, self._told(run), end])

    def _line(self, line: str, place: int, at: int) -> bytes:
        return self._encode({"time": at, "line": line}, event="log", id=place)

    def _told(self, run: RunSummary) -> bytes:
        self._status = run.status
        return self._encode(plain(run), event="status", id=f"{self._lines.position}-{run.status}")
