"""What a damaged object of the store is, as against a store that fails for a moment.

A record whose bytes were overwritten cannot be loaded, or loads as something else. That stays, and must cost no more
than the object itself. A store that is away, a conflict or a full disk passes: it is tried again.
"""

from __future__ import annotations

import errno
import struct
import zlib
from collections.abc import Iterator
from operator import itemgetter
from pickle import UnpicklingError
from typing import Any, NamedTuple

from BTrees.IOBTree import IOBTree
from BTrees.LOBTree import LOBTree
from BTrees.OOBTree import OOBTree
from transaction.interfaces import TransientError
from ZEO.Exceptions import ClientDisconnected
from ZODB.broken import Broken
from ZODB.FileStorage.FileStorage import CorruptedError
from ZODB.POSException import POSKeyError, StateLoadError

from opsapp.lib.problems import Problem, Unopened, Unreadable

from .sharded import ShardedTree

PASSING = (TransientError, ClientDisconnected, Problem, MemoryError)
MARKS = (
    POSKeyError,
    StateLoadError,
    CorruptedError,
    UnpicklingError,
    EOFError,
    ArithmeticError,
    AttributeError,
    ImportError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    AssertionError,
    SystemError,
    struct.error,
    zlib.error,
)
BTREES = (OOBTree, IOBTree, LOBTree)
NAMELESS = "(cannot be read)"


class Damage(NamedTuple):
    """`name` is what it was called when it was read last, where that is known."""

    kind: str  # monitor, agent, …
    id: str
    name: str
    reason: str
    shut: bool = False  # nothing is wrong with it, but this node lacks the key to a sealed part of it

    @classmethod
    def found(cls, kind: str, item_id: str, problem: BaseException, name: str = "") -> Damage:
        """The problem may know the name too."""
        if isinstance(problem, Unopened):
            return cls(kind, item_id, name or problem.name, reason_of(problem), shut=True)
        return cls(kind, item_id, name, reason_of(problem))

    @property
    def said(self) -> str:
        return self.reason if self.shut else f"its object in the store is damaged ({self.reason})"

    def __str__(self) -> str:
        return " ".join(word for word in (self.kind, self.name, self.id and f"({self.id})") if word)


def is_damage(problem: BaseException) -> bool:
    """Reading the same object again will fail again, while others can be read."""
    if isinstance(problem, OSError):
        return problem.errno == errno.EIO
    if isinstance(problem, Unreadable | Unopened):
        return True
    return isinstance(problem, MARKS) and not isinstance(problem, PASSING)


def is_of_the_store(problem: BaseException) -> bool:
    """It says by its kind alone that an object of the store cannot be read: no mistake of a program."""
    return isinstance(problem, POSKeyError | StateLoadError | CorruptedError | Unreadable | Unopened)


_PLAIN: set[type] = set()  # classes of objects that are read once their state is: a request looks at eight


def load(item: Any) -> Any:
    """Load an item with its state read, and with the objects that it is nothing without (`loads_with` of its class).
    Damage too: a class that is not there, for which ZODB makes a stand-in without behaviour, and a sealed part that
    could not be opened (`unopened`)."""
    known = type(item)
    if known in _PLAIN:
        item._p_activate()
        return item
    if isinstance(item, Broken):
        raise TypeError(f"its class {known.__module__}.{known.__name__} is not there")
    if not hasattr(known, "unopened") and not getattr(known, "loads_with", ()):
        _PLAIN.add(known)
    item._p_activate()
    if hasattr(known, "unopened") and (unopened := item.unopened) is not None:
        raise unopened
    for name in getattr(known, "loads_with", ()):
        part = getattr(item, name)
        if part is not None:
            load(part)
    return item


def loaded(item: Any, name: str) -> Any:
    """The item for who has asked for this one: damage is a problem that the caller is told."""
    try:
        return load(item)
    except Exception as problem:
        if isinstance(problem, Unopened) or not is_damage(problem):
            raise
        raise Unreadable(f"{type(item).__name__} {name}", reason_of(problem)) from problem


def reason_of(problem: BaseException) -> str:
    reason = str(problem) if isinstance(problem, Unopened) else f"{type(problem).__name__}: {problem}"
    return reason[:200]


def keys_of(tree: Any) -> tuple[list[str], list[str]]:
    """The keys, as far as the B-tree's buckets can be read, and why the others cannot."""
    broken: list[str] = []
    return sorted(key for bucket in _buckets(tree, broken) for key in bucket), broken


def items_of(tree: Any) -> tuple[list[tuple[Any, Any]], list[str]]:
    """The same for keys with what stands under them; that is not looked at."""
    broken: list[str] = []
    return sorted((item for bucket in _buckets(tree, broken) for item in bucket.items()), key=itemgetter(0)), broken


def _buckets(tree: Any, broken: list[str]) -> Iterator[Any]:
    for part in tree.parts() if isinstance(tree, ShardedTree) else (tree,):
        yield from _below(part, broken)


def _below(node: Any, broken: list[str]) -> Iterator[Any]:
    try:
        state = load(node).__getstate__()
    except Exception as problem:
        if not is_damage(problem):
            raise
        broken.append(reason_of(problem))
        return
    if isinstance(node, BTREES) and state is not None and len(state) == 2:
        for child in state[0][::2]:  # between them are the keys that part them
            yield from _below(child, broken)
    else:
        yield node
