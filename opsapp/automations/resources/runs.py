"""Runs: one asking, from its intent to its outcome, with what it wrote.

Ids begin with the time, so that their order is that of the runs.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Iterator
from typing import Any

from BTrees.IOBTree import IOBTree
from persistent import Persistent

from opsapp.automations.logic.params import Params
from opsapp.automations.logic.runs import CUT, FINAL, KEPT, fitting
from opsapp.automations.logic.settings import AutomationSettings
from opsapp.runtime.secrets.sealedfields import SealedFields
from opsapp.tree.counted import StoredCounts
from opsapp.tree.damage import is_damage
from opsapp.tree.folder import Folder, Record
from opsapp.tree.root import Root
from opsapp.tree.sharded import ShardedTree

from .automations import Definition
from .places import automations_of

GROWS_TO = 4096
_NUMBERS = object()


class OutputChunk(Persistent):
    """The last piece of output grows until it is worth an object of its own. `times`: (first character, when it was
    written) for what was added in a later second than `at`."""

    times: tuple[tuple[int, int], ...] = ()

    def __init__(self, text: str, at: float):
        self.text = text
        self.at = int(at)

    def add(self, text: str, at: float) -> None:
        if int(at) != (self.times[-1][1] if self.times else self.at):
            self.times += ((len(self.text), int(at)),)
        self.text += text

    def since(self, skip: int) -> Iterator[tuple[int, str, int]]:
        """(first character, text, when it was written) from this character on."""
        starts = ((0, self.at), *self.times)
        for n, (start, at) in enumerate(starts):
            end = starts[n + 1][0] if n + 1 < len(starts) else len(self.text)
            if end > skip:
                yield max(start, skip), self.text[max(start, skip) : end], at


Chunk = OutputChunk  # the name that stores of older versions know it by


class Output(Persistent):
    """Characters from `start` to `size`, at most 4 MiB; an honest mark where it was cut. `cut`: nothing more is taken.
    `came_cut`: some of it had been cut before it came."""

    came_cut = False

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
            last.add(shown, now)
        else:
            self.chunks[self.size] = OutputChunk(shown, now)
        self.size += len(shown)

    @property
    def is_whole(self) -> bool:
        return not (self.cut or self.came_cut)

    def text(self) -> str:
        return "".join(chunk.text for chunk in self.chunks.values())

    def since(self, position: int, most: int) -> Iterator[tuple[int, str, int]]:
        """(position, text, when) from this character on, until there are about `most` characters."""
        if not self.chunks or position >= self.size:
            return
        position = max(0, position)
        for start, chunk in self.chunks.items(self.chunks.maxKey(position)):
            for inside, text, at in chunk.since(max(0, position - start)):
                yield start + inside, text, at
                most -= len(text)
            if most <= 0:
                return


class Run(SealedFields, Record):
    """/api/automations/runs/{run_id}. It has an output of its own from the first character on: empty ones would be most
    of the cost of thousands of runs that begin at once."""

    url = "/api/automations/runs/{run_id}"
    sealed_fields = ("inputs",)
    output = Output()  # nothing, for all that have written nothing: `write` alone adds to a run's own

    # What a run has not come to yet is not stored with it.
    outline_kept: tuple[str, str, str] | None = None
    inputs: dict[str, Any] = {}
    status = "queued"
    reason: str | None = None
    exit_code: int | None = None
    started: float | None = None
    finished: float | None = None
    attempt = 1
    began: float | None = None  # the present attempt
    wrote_before = 0  # where in the output the present attempt begins
    owner = ""  # "node:boot" that carries it out
    cancelled_by: str | None = None
    request_id: str | None = None  # of the approval that it waited for
    uses: dict[str, str] = {}  # what was approved: automation id -> digest of its definition
    hosts: dict[str, tuple[tuple[str, str], ...]] | None = None  # too: automation id -> (agent id, its name then)
    parent: str | None = None
    step: str | None = None
    parts: tuple[tuple[str, str, str], ...] = ()  # of a parent: (step, run id, status)
    commands: tuple[tuple[str, str, str, str], ...] = ()  # agent id, its label, command id, status

    def __init__(
        self,
        automation_id: str,
        definition: Definition,
        outline: tuple[str, str, str],
        *,
        by: str,
        origin: str,
        now: float,
    ):
        self.automation_id = automation_id
        self.definition = definition
        self.outline_kept = outline
        self.requested_by = by
        self.origin = origin
        self.created_at = now

    @property
    def outline(self) -> tuple[str, str, str]:
        """The run's outline, without a look into the definition, but for older runs."""
        return self.outline_kept or self.settings.outline

    @property
    def name(self) -> str:
        return self.outline[0]

    @property
    def kind(self) -> str:
        return self.outline[1]

    @property
    def place(self) -> str:
        return self.outline[2]

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
    def settings(self) -> AutomationSettings:
        return self.definition.record

    @property
    def params(self) -> Params:
        return self.settings.params


class Runs(Folder):
    """/api/automations/runs. `ended`: final status -> ids of runs; the others are in the queues of the board.
    `ended_of`: an automation's id and the status, and then the run's id. `counts`: how many ended so, of all and of
    each automation."""

    url = "/api/automations/runs"
    holds = "run"

    def __init__(self) -> None:
        super().__init__()
        self._children = ShardedTree()
        self.ended = {status: ShardedTree() for status in sorted(FINAL)}
        self.ended_of = ShardedTree()
        self.counts = StoredCounts()

    def __delitem__(self, name: str) -> None:
        run = self[name]
        if run.is_over and name in self.ended[run.status]:
            of_automation = _ended_as(run.automation_id, run.status)
            del self.ended[run.status][name], self.ended_of[of_automation + name]
            self.counts.add(run.status, of_automation, by=-1)
        super().__delitem__(name)

    def end(self, run: Run, status: str) -> None:
        of_automation = _ended_as(run.automation_id, status)
        self.ended[status][run.id] = True
        self.ended_of[of_automation + run.id] = True
        self.counts.add(status, of_automation)

    def newest_ended(self, automation_id: str | None, status: str, count: int) -> list[str]:
        """Ids of the newest runs that ended so, of an automation or of all."""
        if automation_id is None:
            return self.ended[status].last(count)
        of_automation = _ended_as(automation_id, status)
        return [key[len(of_automation) :] for key in self.ended_of.last(count, of_automation)]

    def count_ended(self, automation_id: str | None, *statuses: str) -> int:
        kinds = statuses if automation_id is None else [_ended_as(automation_id, status) for status in statuses]
        return sum(self.counts[kind] for kind in kinds)

    def forget_counts(self, automation_id: str) -> None:
        """The automation is no more, and nor are its runs."""
        if not self.count_ended(automation_id, *FINAL):
            self.counts.forget(*(_ended_as(automation_id, status) for status in FINAL))

    def has_ended(self, run_id: str) -> bool:
        return any(run_id in ids for ids in self.ended.values())

    def add(self, run: Run, now: float, after: str) -> Run:
        """Its id is greater than `after`, that of its automation's last run: so they come in order. Those of one
        transaction follow each other, and are taken up together from neighbouring places."""
        connection: Any = self._p_jar
        txn = connection.transaction_manager.get()
        number = max(_begun_in(txn) or _first_number(now) + secrets.randbits(32), int(after or "0", 16)) + 1
        while f"{number:020x}" in self:  # the clock was set back, and one that waited took it
            number += 1
        txn.set_data(_NUMBERS, number)
        self[f"{number:020x}"] = run
        return run


def count_runs(root: Root) -> None:
    """An older store has no counts."""
    runs: Runs = automations_of(root).runs
    runs.counts = StoredCounts()
    for status, ids in runs.ended.items():
        runs.counts.add(status, by=len(ids))


def index_runs(root: Root) -> None:
    """An older store does not know how the runs of each automation ended. Those of a deleted one are read too: the
    deletion can be taken back."""
    automations = automations_of(root)
    runs: Runs = automations.runs
    runs.ended_of = ShardedTree()
    automation_of = {run_id: automation_id for automation_id, run_id in automations.standings.asked()}
    for status, ids in runs.ended.items():
        counted: Counter[str] = Counter()
        for run_id in ids.keys():  # noqa: SIM118 - it is no mapping
            of_automation = _ended_as(automation_of.get(run_id) or _read(runs, run_id), status)
            runs.ended_of[of_automation + run_id] = True
            counted[of_automation] += 1
        for of_automation, count in counted.items():
            runs.counts.add(of_automation, by=count)


def _read(runs: Runs, run_id: str) -> str:
    try:
        return str(runs[run_id].automation_id)
    except Exception as problem:
        if not is_damage(problem):
            raise
        return ""


def _ended_as(automation_id: str, status: str) -> str:
    return f"{automation_id}/{status}/"


def _first_number(at: float) -> int:
    return int(at * 1000) << 32


def first_id(at: float) -> str:
    """All runs asked for since then have this id or a greater one."""
    return f"{_first_number(at):020x}"


def _begun_in(txn: Any) -> int:
    """The number of the last run that was added in this transaction, or 0."""
    try:
        return txn.data(_NUMBERS)
    except KeyError:
        return 0
