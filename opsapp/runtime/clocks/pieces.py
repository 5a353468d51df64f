"""What waits in the store goes with a clock that was set: written down in one transaction, and moved a piece at a time.

A room says what waits and how one of it is moved. Each is moved in the transaction that takes it off the list, so a
kill neither moves it twice nor forgets it. Whoever works the queue first moves what is left, and whoever gives one
thing another time before that takes it off (`take`). Must not: know a room.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, NamedTuple

from BTrees.OOBTree import OOBTree
from persistent import Persistent

from opsapp.runtime.cluster import leases
from opsapp.tree.damage import is_damage, load
from opsapp.tree.root import Root

log = logging.getLogger(__name__)

LEFT = "clock_left"  # (queue, kind, number) -> LeftPiece
AT_ONCE = 200
LAST = "\U0010ffff"
Key = Any  # a value that a tree takes
Place = tuple[str, str, int]


class LeftPiece(Persistent):
    """Keys that are still to be moved by so many seconds. An object of its own: taking one off writes no other."""

    def __init__(self, keys: tuple[Key, ...], by: float):
        self.keys, self.by = keys, by


class WaitingKind(NamedTuple):
    """`keys(root, by)`: what waits now. `shift(root, key, by)` moves one, as far as it is there still, and says how
    many things it has changed."""

    keys: Callable[[Root, float], Iterable[Key]]
    shift: Callable[[Root, Key, float], int]


class ClockPieces:
    """One queue's, worked under the lease. `kinds`: by the names that they have in the store."""

    def __init__(self, lease: str, queue: str, kinds: Mapping[str, WaitingKind]):
        self._lease, self.queue, self._kinds = lease, queue, kinds

    def carry(self, node: Any, name: str | None = None) -> None:
        """Go with the clock of this node while it has the lease."""
        node.clock_steps.carry(self._lease, name or self.queue, self.move, self.move_on)

    def move(self, root: Root, by: float) -> None:
        leases.check(root, self._lease)
        self.begin(root, by)

    def move_on(self, root: Root) -> bool:
        leases.check(root, self._lease)
        return self.go_on(root)

    def begin(self, root: Root, by: float) -> None:
        """Write down what waits. What is left of a step before moves by both."""
        left = self._left(root)
        for piece in left.values():
            piece.by += by
        number = max((number for _, _, number in left), default=0)
        for kind, waiting in self._kinds.items():
            known = {key for place, piece in left.items() if place[1] == kind for key in piece.keys}
            keys = iter([key for key in waiting.keys(root, by) if key not in known])
            while page := tuple(islice(keys, AT_ONCE)):
                number += 1
                _grown(root)[self.queue, kind, number] = LeftPiece(page, by)

    def is_left(self, root: Root) -> bool:
        """A look that costs nothing."""
        return bool(root.system.get(LEFT)) and bool(self._places(root))

    def go_on(self, root: Root) -> bool:
        """A piece; whether there is more."""
        for place, piece in self._left(root, 1).items():
            rest = self._moved(root, place[1], piece)
            if rest:
                piece.keys = rest
            else:
                del root.system[LEFT][place]
        return self.is_left(root)

    def goes_on(self, root: Root) -> bool:
        """Whether something was left, of which a piece is moved now: nothing is worked before."""
        is_left = self.is_left(root)
        if is_left:
            self.go_on(root)
        return is_left

    def _moved(self, root: Root, kind: str, piece: LeftPiece) -> tuple[Key, ...]:
        """The keys for which there was no room. One that fails must not hold up the others: it is due at its old
        time."""
        changed = 0
        for number, key in enumerate(piece.keys if kind in self._kinds else ()):
            if changed >= AT_ONCE:
                return piece.keys[number:]
            try:
                changed += self._kinds[kind].shift(root, key, piece.by)
            except Exception as problem:
                if not is_damage(problem):
                    raise
                log.exception("what waits was not moved with the clock kind=%s key=%s", kind, key)
        return ()

    def take(self, root: Root, kind: str, key: Key) -> float:
        """By what it is still to be moved; it is off the list."""
        by = 0.0
        for place, piece in self._left(root).items() if self.is_left(root) else ():
            if place[1] == kind and key in piece.keys:
                piece.keys = tuple(other for other in piece.keys if other != key)
                by += piece.by
        return by

    def settle(self, root: Root, kind: str, key: Key) -> None:
        """Moved now, as somebody asks for it or gives it another time."""
        if by := self.take(root, kind, key):
            self._kinds[kind].shift(root, key, by)

    def _places(self, root: Root, most: int | None = None) -> list[Place]:
        try:
            tree = root.system.get(LEFT, {})
            return list(islice(tree.keys((self.queue,), (self.queue, LAST)) if tree else (), most))
        except Exception as problem:
            if not is_damage(problem):
                raise
            log.exception("what was left to move with the clock cannot be read: it is due at its old time")
            root.system[LEFT] = OOBTree()
            return []

    def _left(self, root: Root, most: int | None = None) -> dict[Place, LeftPiece]:
        """One that cannot be read is dropped."""
        left = {}
        for place in self._places(root, most):
            piece = root.system[LEFT][place]
            try:
                left[place] = load(piece)
            except Exception as problem:
                if not is_damage(problem):
                    raise
                log.exception("a piece was not moved with the clock kind=%s", place[1])
                del root.system[LEFT][place]
        return left


def _grown(root: Root) -> OOBTree:
    tree: OOBTree = root.system.setdefault(LEFT, OOBTree())
    return tree
