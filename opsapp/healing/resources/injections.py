"""Faults that were injected on real hosts, until they are undone: no restart forgets one."""

from __future__ import annotations

from typing import Any, NamedTuple

from BTrees.OOBTree import OOBTree, OOTreeSet
from persistent import Persistent

from opsapp.lib.ids import new_id
from opsapp.runtime.queue import Agenda


class Injection(NamedTuple):
    """Rows of older versions lack the last four."""

    scenario: str
    agent_id: str
    hostname: str
    targets: tuple[str, ...]  # of the events that it leads to
    subject: str
    command_id: str  # the command that breaks something
    revert: str  # the shell command that mends it
    due: float  # when something is to be done about it
    reverted_by: str | None = None  # the command that mends it, once it was sent
    tries: int = 0
    ended: float | None = None
    gone: bool = False  # its agent was deleted before it ended


class Injections(Persistent):
    """`open`: by when something is due; `over`: by their end."""

    def __init__(self) -> None:
        self.rows = OOBTree()
        self.open = OOTreeSet()
        self.over = OOTreeSet()

    def add(self, injection: Injection) -> str:
        name = new_id()
        self.rows[name] = injection._asdict()
        self._line(injection).add(_when(injection), name)
        return name

    def get(self, name: str) -> Injection | None:
        row = self.rows.get(name)
        return None if row is None else Injection(**row)

    def due(self, now: float) -> list[tuple[str, Injection]]:
        return [(name, Injection(**self.rows[name])) for _, name in Agenda(self.open).due(now)]

    def set(self, name: str, **fields: Any) -> None:
        before = Injection(**self.rows[name])
        after = before._replace(**fields)
        self.rows[name] = after._asdict()
        self._line(before).discard(_when(before), name)
        self._line(after).add(_when(after), name)

    def shift(self, name: str, by: float) -> int:
        """The clock was set: what is open has as long to go as before. How many were moved."""
        injection = self.get(name)
        if injection is None or injection.ended is not None:
            return 0
        self.set(name, due=injection.due + by)
        return 1

    def forget(self, before: float) -> None:
        """A page at a time."""
        for _, name in Agenda(self.over).take(before):
            del self.rows[name]

    def _line(self, injection: Injection) -> Agenda:
        return Agenda(self.open if injection.ended is None else self.over)


def _when(injection: Injection) -> float:
    return injection.due if injection.ended is None else injection.ended
