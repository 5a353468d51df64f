"""Faults that were injected on real hosts, until they are undone: a row each, so that no restart forgets one."""

from __future__ import annotations

from typing import Any

from BTrees.OOBTree import OOBTree
from persistent import Persistent

from opsapp.lib.ids import new_id


class Injections(Persistent):
    """Rows by id: {scenario, agent_id, hostname, targets, subject, command_id, revert, due, reverted_by, tries, ended,
    gone}. `due` is when something is to be done about it, `ended` when that was over, `gone` that its agent was deleted
    before. Rows from before the last four were kept lack them."""

    def __init__(self) -> None:
        self.rows = OOBTree()

    def add(self, row: dict[str, Any]) -> str:
        name = new_id()
        self.rows[name] = {**row, "reverted_by": None, "tries": 0, "ended": None, "gone": False}
        return name

    def due(self, now: float) -> list[tuple[str, dict[str, Any]]]:
        return [(name, row) for name, row in self.rows.items() if row.get("ended") is None and row["due"] <= now]

    def set(self, name: str, **fields: Any) -> None:
        self.rows[name] = {**self.rows[name], **fields}

    def forget(self, before: float) -> None:
        """Those that ended before then."""
        for name, row in list(self.rows.items()):
            if row.get("ended") is not None and row["ended"] < before:
                del self.rows[name]
