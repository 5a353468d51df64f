"""Steps of the machines' clocks: people are told of each one once, by the node that has noticed it."""

from __future__ import annotations

from functools import partial

from opsapp.runtime.clocks.steps import DAY_S, WAKE, ClockStep
from opsapp.runtime.node import Node, node_of
from opsapp.tree.root import Root

from . import tell

EVERY_S = 10.0


def start(node: Node) -> None:
    node.supervisor.add("notify-clock", partial(step, node), every=EVERY_S, wake=(WAKE,))


def step(node: Node) -> bool:
    """Runs on every node: each has a clock of its own."""
    untold = node.clock_steps.untold
    while untold:
        node.transact(tell_of, untold[0], node.clock.now())
        untold.popleft()
    return False


def tell_of(root: Root, clock_step: ClockStep, now: float) -> None:
    node = node_of(root)
    tell(
        root,
        now,
        key=f"clock:{node.owner}:{clock_step.number}",
        kind="clock.set",
        severity="warning",
        title=f"The clock of {node.name} was {clock_step}",
        text=f"The clock of the machine of {node.name} was {clock_step}{_what_follows(clock_step.by)} "
        "Monitors, rules and heals go on as before, and records keep their times. "
        "See whether the time service of the machine works.",
    )


def _what_follows(by: float) -> str:
    if by < 0:
        return ". Daily runs are not repeated for times that come again."
    missed = ", or the machine slept for so long. Runs whose time was jumped over are missed."
    return f"{missed} For a day nothing that is old is deleted." if by > DAY_S else missed
