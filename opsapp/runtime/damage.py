"""What a damaged object of the store is, as against a store that fails for a moment.

A record whose bytes were overwritten cannot be loaded, or loads as something else than was stored. That stays as it is
and must cost no more than the object itself. A store that is away, a conflict or a full disk passes: it is tried again.
"""

from __future__ import annotations

import errno
import struct
import zlib
from pickle import UnpicklingError
from typing import Any, NamedTuple

from transaction.interfaces import TransientError
from ZEO.Exceptions import ClientDisconnected
from ZODB.broken import Broken
from ZODB.FileStorage.FileStorage import CorruptedError
from ZODB.POSException import POSKeyError

from opsapp.lib.problems import Problem

PASSING = (TransientError, ClientDisconnected, Problem, MemoryError)
MARKS = (
    POSKeyError,
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


class Damage(NamedTuple):
    """One object that cannot be read. `name` is what it was called when it was read last, where that is known."""

    kind: str  # monitor, agent, …
    id: str
    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name + ' ' if self.name else ''}({self.id})"


def is_damage(problem: BaseException) -> bool:
    """Whether reading the same object again will fail again, while others can be read."""
    if isinstance(problem, OSError):
        return problem.errno == errno.EIO
    return isinstance(problem, MARKS) and not isinstance(problem, PASSING)


def load(item: Any) -> Any:
    """The item with its state read. A class that is not there any more makes a stand-in without behaviour: damage."""
    if isinstance(item, Broken):
        raise TypeError(f"its class {type(item).__module__}.{type(item).__name__} is not there")
    item._p_activate()
    return item


def reason_of(problem: BaseException) -> str:
    return f"{type(problem).__name__}: {problem}"[:200]
