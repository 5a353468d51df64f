"""What was deleted and can be put back for a minute: out of the tree, kept with its end (ADR 127).

A room says how its kind comes back (`config.add_deletable`). Names are free at once. Must not: know a kind; keep what
ends a permission (users, sessions, keys, secrets: their end is at once).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple

from opsapp.lib.ids import id_from
from opsapp.lib.problems import NotFound
from opsapp.runtime.clocks.pieces import ClockPieces, WaitingKind
from opsapp.runtime.secrets.seals import Reseal
from opsapp.tree.folder import Folder, Record
from opsapp.tree.places import ApiPlace
from opsapp.tree.root import Root

from .base import NodeBase
from .looks import QueueLook
from .node import node_of, now_of

KEPT_S = 60
LEASE, MINUTES = "housekeeping", "minutes"
AT_ONCE = 100


def _nothing_left(_root: Root, _kept: Any) -> None:
    """Most kinds leave nothing once they are out of the tree."""


class Deletable(NamedTuple):
    """`role` may delete and put back; `page`: where it is then. `put_back(root, kept)` raises Conflict where that
    cannot be any more; `let_go(root, kept)`: it never will."""

    kind: str
    role: str
    page: str
    put_back: Callable[[Root, Any], None]
    let_go: Callable[[Root, Any], None] = _nothing_left


class Deletion(Record):
    """/api/deleted/{id}. `kept`: objects of the store or plain values that its kind needs to come back."""

    url = "/api/deleted/{deletion_id}"

    def __init__(self, kind: str, name: str, target: str, kept: Any, now: float):
        self.kind, self.name, self.target, self.kept = kind, name, target, kept
        self.until = now + KEPT_S

    @property
    def id(self) -> str:
        return self.__name__


class Deletions(Folder):
    """/api/deleted. Ids begin with the time, so that the first ends first."""

    url = "/api/deleted"
    holds = "deletion"

    def kept(self, now: float) -> list[Deletion]:
        return [deletion for deletion in self.values() if now < deletion.until][::-1]

    def over(self, now: float) -> list[Deletion]:
        over = (deletion for deletion in self.values() if deletion.until <= now)
        return list(islice(over, AT_ONCE))


def set_up(root: Root) -> None:
    """Evolve step: nothing was deleted."""
    deletions_of.put(root, Deletions())


deletions_of = ApiPlace[Deletions]("deleted")


def kind_of(root: Root, deletion: Deletion) -> Deletable:
    return node_of(root).registry.opsapp_deletable[deletion.kind]


def keep(root: Root, kind: str, name: str, target: str, kept: Any) -> Deletion:
    """Call it in the transaction that takes the thing out of the tree."""
    now = now_of(root)
    deletion = Deletion(kind, name, target, kept, now)
    deletions = deletions_of(root)
    deletions[id_from(now, deletions)] = deletion
    return deletion


def undo(root: Root, deletion: Deletion) -> Deletable:
    deletion.until += PIECES.take(root, MINUTES, deletion.id)
    if deletion.until <= now_of(root):
        raise NotFound(f"The minute is over: {deletion.name} is deleted for good.")
    kind = kind_of(root, deletion)
    kind.put_back(root, deletion.kept)
    del deletions_of(root)[deletion.id]
    return kind


def let_go(root: Root, now: float) -> bool:
    """Whether there was anything whose minute is over. What a node left that was killed while it moved them with the
    clock comes first."""
    if PIECES.goes_on(root):
        return True
    over = deletions_of(root).over(now)
    for deletion in over:
        kind_of(root, deletion).let_go(root, deletion.kept)
        del deletions_of(root)[deletion.id]
    return bool(over)


def end_all(root: Root, _anew: Reseal) -> None:
    """Called by `opsapp rekey`: nothing stays that is sealed with the old key."""
    while let_go(root, float("inf")):
        pass


def _shift(root: Root, deletion_id: str, by: float) -> int:
    deletion: Deletion | None = deletions_of(root).find(deletion_id)
    if deletion is not None:
        deletion.until += by
    return int(deletion is not None)


PIECES = ClockPieces(LEASE, "deletions", {MINUTES: WaitingKind(lambda root, _: deletions_of(root).tree, _shift)})


def step(node: NodeBase) -> bool:
    return node.transact(let_go, node.clock.now())


def start(node: Any) -> None:
    PIECES.carry(node)
    look = QueueLook(node, lambda root, now: PIECES.is_left(root) or deletions_of(root).over(now))
    node.supervisor.add("deletions", lambda: step(node), every=2.0, lease=LEASE, look=look)


def add_deletable(config: Any, deletable: Deletable) -> None:
    config.registry.opsapp_deletable[deletable.kind] = deletable


def includeme(config: Any) -> None:
    config.registry.opsapp_deletable = {}
    config.add_directive("add_deletable", add_deletable)
    config.add_sealed(end_all)
