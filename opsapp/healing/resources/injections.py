"""Faults that were injected on real hosts, until they are undone: a row each, so that no restart forgets one."""

from __future__ import annotations

from typing import Any

from BTrees.OOBTree import OOBTree
from persistent import Persistent

from opsapp.lib.ids import new_id


class Injections(Persistent):
    """Rows by id: {scenario, agent_id, hostname, subject, command_id, revert, due, reverted_by}."""

    def __init__(self) -> None:
        self.rows = OOBTree()

    def add(self, row: dict[str, Any]) -> str:
        name = new_id()
        self.rows[name] = {**row, "reverted_by": None}
        return name

    def due(self, now: float) -> list[tuple[str, dict[str, Any]]]:
        return [(name, row) for name, row in self.rows.items() if row["reverted_by"] is None and row["due"] <= now]

    def set(self, name: str, **fields: Any) -> None:
        self.rows[name] = {**self.rows[name], **fields}

    def drop(self, name: str) -> None:
        self.rows.pop(name, None)
