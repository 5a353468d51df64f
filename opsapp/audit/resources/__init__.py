"""Audit entries: append-only, one log a writer so that writers never conflict, in the order of time."""

from __future__ import annotations

from typing import Any

from BTrees.OOBTree import OOBTree

from opsapp.audit.logic import without_secrets
from opsapp.lib.ids import new_id
from opsapp.runtime.wakes import node_of
from opsapp.tree.folder import Folder
from opsapp.tree.root import Root

from . import reading
from .log import Log

OK, ACCEPTED, REFUSED = "ok", "accepted", "refused"


class Audit(Folder):
    """Read-only; the entries hang below `root.system`, where no URL leads."""

    url = "/api/audit"


def set_up(root: Root) -> None:
    """Evolve step."""
    root.system["audit"] = OOBTree()
    root["api"]["audit"] = Audit()


def fold_entries(root: Root) -> None:
    """Evolve step: entries that hung in a tree of their own a writer come into logs."""
    for writer, tree in list(root.system["audit"].items()):
        log = root.system["audit"][writer] = Log()
        for entry in tree.values():
            log.append(entry)


def record(
    root: Root,
    *,
    username: str | None,
    ip: str | None,
    action: str,
    target: str,
    result: str = OK,
    reason: str | None = None,
    before: Any = None,
    after: Any = None,
) -> None:
    """Write down what was done, in the transaction that does it. `reason` is the code of a refusal."""
    node = node_of(root._p_jar)
    logs = root.system["audit"]
    log = logs.get(node.writer())
    if log is None:
        log = logs[node.writer()] = Log()
    log.append(
        {
            "id": new_id(),
            "time": node.clock.now(),
            "username": username,
            "ip": ip,
            "action": action,
            "target": target,
            "result": result,
            "reason": reason,
            "before": without_secrets(before),
            "after": without_secrets(after),
        }
    )


def read(root: Root, wanted: dict[str, Any]) -> tuple[list[dict[str, Any]], int]:
    """A page of the entries asked for, newest first, and how many there are."""
    page, total = reading.read(list(root.system["audit"].values()), wanted)
    return [entry | {"time": int(entry["time"])} for entry in page], total


def retire(root: Root, before: float) -> bool:
    """Drop entries older than `before`, a page at a time; whether there may be more."""
    return sum(log.retire(before) for log in root.system["audit"].values()) > 0
