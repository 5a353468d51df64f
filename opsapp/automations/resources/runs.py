"""Runs: one asking, from its intent to its outcome, with what it wrote.

Ids begin with the time, so that their order is that of the runs.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from BTrees.IOBTree import IOBTree
from persistent import Persistent

from opsapp.automations.logic.runs import CUT, FINAL, KEPT, fitting
from opsapp.tree.folder import Folder, Record
from opsapp.tree.sharded import ShardedTree

if TYPE_CHECKING:
    from .automations import Definition

GROWS_TO = 4096


class Chunk(Persistent):
    """A piece of output; the last one grows until it is worth an object of its own."""

    def __init__(self, text: str, at: float):
        self.text = text
        self.at = int(at)


class Output(Persistent):
    """What a run wrote, in characters from `start` to `size`, at most 4 MiB of it; an honest mark where it was cut."""

    def __init__(self) -> None:
        self.chunks = IOBTree()  # position of its first character -> Chunk
        self.size = 0
        self.kept = 0  # bytes
        self.cut = False

    def add(self, text: str, now: float) -> None:
        if self.cut or not text:
            return
        shown, self.cut = fitting(text, KEPT - len(CUT) - self.kept)
        if self.cut:
            shown += CUT
        self.kept += len(shown.encode("utf-8"))
        last = self.chunks[self.chunks.maxKey()] if self.chunks else None
        if last is not None and len(last.text) + len(shown) <= GROWS_TO:
            last.text += shown
            last.at = int(now)
        else:
            self.chunks[self.size] = Chunk(shown, now)
        self.size += len(shown)

    def text(self) -> str:
        return "".join(chunk.text for chunk in self.chunks.values())

    def since(self, position: int, most: int) -> Iterator[tuple[int, str, int]]:
        """(position, text, when) from this character on, until there are about `most` characters."""
        if not self.chunks or position >= self.size:
            return
        position = max(0, position)
        for start, chunk in self.chunks.items(self.chunks.maxKey(position)):
            skip = max(0, position - start)
            yield start + skip, chunk.text[skip:], chunk.at
            most -= len(chunk.text) - skip
            if most <= 0:
                return


class Run(Record):
    """/api/automations/runs/{run_id}. It has an output of its own from the first character on: most of the cost of
    thousands of runs that begin at once would be outputs in which nothing is written yet."""

    url = "/api/automations/runs/{run_id}"
    output = Output()  # nothing, for all that have written nothing: `write` alone adds to a run's own

    def __init__(
        self, automation_id: str, definition: Definition, inputs: dict[str, Any], *, by: str, origin: str, now: float
    ):
        self.automation_id = automation_id
        self.definition = definition
        self.inputs = inputs
        self.requested_by = by
        self.origin = origin
        self.created_at = now
        self.status = "queued"
        self.reason: str | None = None
        self.exit_code: int | None = None
        self.started: float | None = None
        self.finished: float | None = None
        self.attempt = 1
        self.began: float | None = None  # the present attempt
        self.wrote_before = 0  # where in the output the present attempt begins
        self.owner = ""  # "node:boot" that carries it out
        self.cancelled_by: str | None = None
        self.request_id: str | None = None  # of the approval that it waited for
        self.uses: dict[str, str] = {}  # what was approved: automation id -> digest of its definition
        self.parent: str | None = None
        self.step: str | None = None
        self.parts: tuple[tuple[str, str, str], ...] = ()  # of a parent: (step, run id, status)
        self.commands: tuple[tuple[str, str, str, str], ...] = ()  # agent id, its label, command id, status

    def write(self, text: str, now: float) -> None:
        if text and self.output is Run.output:
            self.output = Output()
        self.output.add(text, now)

    @property
    def id(self) -> str:
        return self.__name__

    @property
    def is_over(self) -> bool:
        return self.status in FINAL

    @property
    def settings(self) -> dict[str, Any]:
        return self.definition.settings


class Runs(Folder):
    """/api/automations/runs"""

    url = "/api/automations/runs"

    def __init__(self) -> None:
        super().__init__()
        self._children = ShardedTree()

    def add(self, run: Run, now: float, after: str) -> Run:
        """Its id is greater than `after`, that of its automation's last run: so they come in order."""
        number = max((int(now * 1000) << 32) + secrets.randbits(32), int(after or "0", 16) + 1)
        self[f"{number:020x}"] = run
        return run
