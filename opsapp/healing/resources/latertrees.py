"""Trees that came with a later version: stores of an older one have none until something is put in. Their classes have
`NO_TREE` in the place, which reads as an empty one."""

from __future__ import annotations

from typing import Any

from BTrees.OOBTree import OOBTree
from persistent import Persistent


class _NoTree(dict[Any, Any]):
    """All stores share it, so nothing may come into it."""

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError("there is no tree yet: `grown` makes it")


NO_TREE: Any = _NoTree()


def grown(owner: Persistent, name: str) -> OOBTree:
    """The tree, to put something in."""
    tree = getattr(owner, name)
    if tree is NO_TREE:
        tree = OOBTree()
        setattr(owner, name, tree)
    return tree
