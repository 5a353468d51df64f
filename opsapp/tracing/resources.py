"""How far the outbox was read for spans: writer -> the key of its last batch whose spans have arrived. Empty while
nobody wants spans.

A plain value among the store's own: no object that could be damaged alone.
"""

from __future__ import annotations

from opsapp.runtime.events import Positions, positions
from opsapp.tree.root import Root

PLACE = "traced"


def read_so_far(root: Root) -> Positions | None:
    return root.system.get(PLACE)


def begin(root: Root) -> Positions:
    """The positions from which to go on. The first time these are the present ones."""
    read = read_so_far(root)
    if read is None:
        read = root.system[PLACE] = dict(positions(root))
    return read


def arrived(root: Root, read: Positions) -> None:
    root.system[PLACE] = dict(read)


def forget(root: Root) -> None:
    root.system.pop(PLACE, None)
