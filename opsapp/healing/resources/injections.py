"""Faults that were injected on real hosts, until they are undone: a row each, so that no restart forgets one."""

from __future__ import annotations

from typing import Any, NamedTuple

from BTrees.OOBTree import OOBTree
from persistent import Persistent

from opsapp.lib.ids import new_id


class Injection(NamedTuple):
    """A row, as it is stored. Rows of older versions lack the last four."""

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
    """Rows by id."""

    def __init__(self) -> None:
        self.rows = OOBTree()

    def add(self, injection: Injection) -> str:
        name = new_id()
        self.rows[name] = injection._asdict()
        return name

    def get(self, name: str) -> Injection | None:
        row = self.rows.get(name)
        return None if row is None else Injection(**row)

    def all(self) -> list[tuple[str, Injection]]:
        return [(name, Injection(**row)) for name, row in self.rows.items()]

    def due(self, now: float) -> list[tuple[str, Injection]]:
        return [(name, injection) for name, injection in self.all() if injection.ended is None and injection.due <= now]

    def set(self, name: str, **fields: Any) -> None:
        self.rows[name] = Injection(**self.rows[name])._replace(**fields)._asdict()

    def forget(self, before: float) -> None:
        """Those that ended before then."""
        for name, injection in self.all():
            if injection.ended is not None and injection.ended < before:
                del self.rows[name]
