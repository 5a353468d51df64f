"""What one transaction of the pipeline works with."""

from __future__ import annotations

from typing import NamedTuple

from opsapp.healing.resources import healing_of
from opsapp.healing.stages.world import World
from opsapp.tree.root import Root

from .alerts import Past
from .inventory import FleetAccess, Inventory


class StepResult(NamedTuple):
    """`pasts`: what became of (rule, target). To be measured after the commit: `rechecks` whatever is asked already,
    `above` only what is not."""

    done: int
    pasts: dict[tuple[str, str], Past]
    rechecks: list[str]
    above: list[str]


class PipelineContext:
    def __init__(self, root: Root, world: World, fleet: FleetAccess, token: int, inventory: Inventory):
        self.root = root
        self.world = world
        self.fleet = fleet
        self.token = token
        self.inventory = inventory
        self.now = world.now
        self.healing = healing_of(root)
        self.book = self.healing.book
        self.ledger = self.healing.ledger
        self.trials = self.healing.trials
        self.edges = self.healing.edges
        self.settings = world.settings
        self.pasts: dict[tuple[str, str], Past] = {}
        self.rechecks: list[str] = []  # monitors to be checked once this is committed
        self.deeds: set[str] = set()  # of which something was learned in this transaction
        self.asking: set[str] = set()  # deeds that people are asked about just now
        self.asked = 0  # cases that people will be asked about, of those that this transaction has looked at
        self.above: list[str] = []  # monitors and agents that something depends on, to be measured then

    def measure_above(self, names: tuple[str, ...]) -> None:
        """What the target depends on may have failed with it, and be measured only in a minute."""
        for name in names:
            self.above.extend(self.inventory.measuring(name))
