"""The inbox: what rooms have told, until it is routed. A tree per writer, so that writers never conflict."""

from __future__ import annotations

from typing import Any

from BTrees.LOBTree import LOBTree
from BTrees.OOBTree import OOBTree
from persistent.mapping import PersistentMapping

from opsapp.runtime.wakes import node_of
from opsapp.tree.root import Root

INBOX = "notify-inbox"


def set_up(root: Root) -> None:
    root.system[INBOX] = PersistentMapping(rows=OOBTree(), taken=PersistentMapping())


def put(root: Root, row: dict[str, Any]) -> None:
    """One more row, of the writer whose transaction this is."""
    trees = root.system[INBOX]["rows"]
    writer = node_of(root).writer()
    tree = trees.get(writer)
    if tree is None:
        tree = trees[writer] = LOBTree()
    tree[tree.maxKey() + 1 if tree else 1] = row


def trees_of(root: Root) -> list[Any]:
    """The rows of each writer."""
    return list(root.system[INBOX]["rows"].values())


def waiting(root: Root) -> bool:
    """Whether there is anything to take: a look that costs nothing."""
    inbox = root.system[INBOX]
    return any(tree and tree.maxKey() > inbox["taken"].get(writer, 0) for writer, tree in inbox["rows"].items())


def take(root: Root, most: int) -> list[dict[str, Any]]:
    """Some rows, in the order of time as far as they were read, which are then the caller's in its transaction."""
    inbox = root.system[INBOX]
    found: list[dict[str, Any]] = []
    for writer, tree in inbox["rows"].items():
        last = inbox["taken"].get(writer, 0)
        keys = [key for key, _ in zip(tree.keys(last, excludemin=True), range(most - len(found)), strict=False)]
        found += [tree[key] for key in keys]
        if keys:
            inbox["taken"][writer] = keys[-1]
        # The newest stays: its key is where the writer's numbers go on, and no writer meets an empty bucket.
        for key in list(tree.keys(None, min(keys[-1] if keys else last, tree.maxKey() - 1))) if tree else ():
            del tree[key]
    return sorted(found, key=lambda row: row["at"])
