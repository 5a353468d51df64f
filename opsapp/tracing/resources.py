"""How far the outbox was read for spans. Until the collector has taken a page it is read again."""

from __future__ import annotations

from persistent import Persistent

from opsapp.runtime.events import Positions, positions
from opsapp.tree.places import SystemPlace
from opsapp.tree.root import Root


class Traced(Persistent):
    """`read`: writer -> the key of its last batch whose spans have arrived. None: nobody wants spans."""

    def __init__(self) -> None:
        self.read: dict[str, int] | None = None


traced_of = SystemPlace[Traced]("traced")


def set_up(root: Root) -> None:
    """Evolve step: nothing was read."""
    traced_of.put(root, Traced())


def begin(root: Root) -> Positions:
    """From where to go on; the first time from here on."""
    traced = traced_of(root)
    if traced.read is None:
        traced.read = dict(positions(root))
    return traced.read


def arrived(root: Root, read: Positions) -> None:
    traced_of(root).read = dict(read)


def forget(root: Root) -> None:
    if traced_of(root).read is not None:
        traced_of(root).read = None
