"""Damaged objects of the store: people are told of each one once."""

from __future__ import annotations

from BTrees.OOBTree import OOTreeSet

from opsapp.runtime.node import Node
from opsapp.tree.damage import Damage
from opsapp.tree.root import Root

from . import tell

EVERY_S = 10.0
TOLD = "damage-told"


def set_up(root: Root) -> None:
    """Evolve step: nothing told yet."""
    root.system[TOLD] = OOTreeSet()


def step(node: Node) -> bool:
    """Runs on every node: what one node cannot read another may not even have asked for."""
    damaged = node.projections.damaged()
    if damaged and node.transact(untold, damaged):
        node.transact(tell_of, damaged, node.clock.now())
    return False


def untold(root: Root, damaged: list[Damage]) -> list[Damage]:
    return [damage for damage in damaged if not damage.shut and _key(damage) not in root.system[TOLD]]


def tell_of(root: Root, damaged: list[Damage], now: float) -> None:
    for damage in untold(root, damaged):
        root.system[TOLD].insert(_key(damage))
        tell(
            root,
            now,
            key=f"damage:{_key(damage)}",
            kind="damage.found",
            severity="critical",
            title=f"Damaged in the store: {damage}",
            text=f"The {damage} cannot be read: {damage.said}. Everything else works. "
            "Look at the disk. `opsapp doctor` names all damaged objects, and `opsapp backup` makes no copies "
            "until they are gone. `opsapp restore` brings back a backup from before.",
        )


def _key(damage: Damage) -> str:
    return f"{damage.kind}:{damage.id}"
