"""Trees that came with a later version: stores of an older one have none until something is put in. Their classes have
`NO_TREE` in the place, which reads as an empty one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from BTrees.OOBTree import OOBTree
from persistent import Persistent


class _NoTree(Mapping[Any, Any]):
    """All stores share it, so nothing can come into it, or into what keeps it."""

    __slots__ = ()

    def __getitem__(self, key: Any) -> NoReturn:
        raise KeyError(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def pop(self, key: Any, *default: Any) -> Any:
        """As of a tree without that key."""
        return {}.pop(key, *default)

    def _refuse(self, *_given: Any, **_named: Any) -> NoReturn:
        raise TypeError("there is no tree yet: `grown` makes it")

    __setitem__ = __delitem__ = __ior__ = setdefault = update = insert = popitem = clear = _refuse

    def __reduce__(self) -> str:
        """Whoever is copied with it keeps this one."""
        return "NO_TREE"


NO_TREE: Any = _NoTree()


def grown(owner: Persistent, name: str) -> OOBTree:
    """The tree, to put something in."""
    tree = getattr(owner, name)
    if tree is NO_TREE:
        tree = OOBTree()
        setattr(owner, name, tree)
    return tree
