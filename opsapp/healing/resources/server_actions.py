"""What the service itself does for a heal: webhooks and commands on its own machine, from the intent to the answer.

A row is written with the step that wants it (`intended`), marked `begun` by a commit before the effect, and answered
by another one after it. So a process that ends in between leaves a row that says: nobody knows.
"""

from __future__ import annotations

from typing import Any

from BTrees.OOBTree import OOBTree
from persistent import Persistent

from opsapp.lib.ids import new_id

LOST = "the service ended while it did this: nobody can tell whether it was done"


class ServerActions(Persistent):
    """Rows by id: {kind, params, timeout, state, token, answer}. The row goes when its heal has read the answer."""

    def __init__(self) -> None:
        self.rows = OOBTree()

    def intend(self, kind: str, params: dict[str, Any], timeout: float) -> str:
        deed_id = new_id()
        self.rows[deed_id] = {
            "kind": kind,
            "params": params,
            "timeout": timeout,
            "state": "intended",
            "token": None,
            "answer": None,
        }
        return deed_id

    def begin(self, token: int, limit: int) -> list[tuple[str, dict[str, Any]]]:
        """Mark what waits as begun under this token, and give up what was begun under an older one."""
        found: list[tuple[str, dict[str, Any]]] = []
        for deed_id, row in list(self.rows.items()):
            if row["state"] == "begun" and row["token"] != token:
                self.finish(deed_id, {"status": "lost", "reason": LOST})
            elif row["state"] == "intended" and len(found) < limit:
                self.rows[deed_id] = {**row, "state": "begun", "token": token}
                found.append((deed_id, dict(self.rows[deed_id])))
        return found

    def finish(self, deed_id: str, answer: dict[str, Any]) -> bool:
        """Keep what came of it, once; whether it was the first to say so."""
        row = self.rows.get(deed_id)
        if row is None or row["state"] == "answered":
            return False
        whole = {"exit_code": None, "output": "", "reason": None, "data": None, **answer}
        self.rows[deed_id] = {**row, "state": "answered", "answer": whole}
        return True

    def answer(self, deed_id: str) -> dict[str, Any] | None:
        """The answer, or None while it is open. What is gone is lost."""
        row = self.rows.get(deed_id)
        if row is None:
            return {"status": "lost", "exit_code": None, "output": "", "reason": LOST, "data": None}
        return row["answer"]

    def drop(self, deed_id: str) -> None:
        self.rows.pop(deed_id, None)

    def wait(self) -> bool:
        """Whether anything is to be begun."""
        return any(row["state"] == "intended" for row in self.rows.values())
