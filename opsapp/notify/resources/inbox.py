"""What rooms have told, until it is routed. A tree per writer, so that writers never conflict."""

from __future__ import annotations

from typing import Any

from BTrees.OOBTree import OOBTree
from persistent.mapping import PersistentMapping

from opsapp.notify.logic.messagegroups import Told
from opsapp.runtime.node import node_of
from opsapp.runtime.queue import Inbox
from opsapp.tree.root import Root

INBOX = "notify-inbox"


def set_up(root: Root) -> None:
    root.system[INBOX] = PersistentMapping(rows=OOBTree(), taken=PersistentMapping())


def inbox_of(root: Root) -> Inbox:
    stored = root.system[INBOX]
    return Inbox(stored["rows"], stored["taken"])


def put(root: Root, row: Told) -> None:
    """Put a row into the inbox of the writer whose transaction this is."""
    inbox_of(root).put(node_of(root).writer(), row._asdict())


def trees_of(root: Root) -> list[Any]:
    return list(root.system[INBOX]["rows"].values())


def waiting(root: Root) -> bool:
    return bool(inbox_of(root))


def take(root: Root, most: int) -> list[Told]:
    """The next rows in the order of time, as far as they could be read. The caller's transaction has to use them."""
    return sorted((Told(**row) for row in inbox_of(root).take(most)), key=lambda row: row.at)
