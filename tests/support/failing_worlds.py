"""Simulated worlds of services that hang on each other, and what their checks see of a month: by seed, for discovery.

A service fails by itself now and then; its failure reaches each service that depends on it with some probability and
delay, and so on. Each service is checked at a cadence of its own, so that who failed first is seen with an error.
"""

from __future__ import annotations

import random
from typing import NamedTuple

DAY = 86400.0


class World(NamedTuple):
    """`edges` are (child, parent); `failures` the sorted times at which each service was seen to fail."""

    edges: frozenset[tuple[str, str]]
    failures: dict[str, list[float]]
    span: float

    def hangs(self, child: str, parent: str) -> bool:
        """Whether the child hangs on the parent, through others too."""
        above = {higher for low, higher in self.edges if low == child}
        return parent in above or any(self.hangs(higher, parent) for higher in above)


def world(
    seed: int,
    *,
    services: int = 50,
    days: int = 30,
    parents: tuple[int, ...] = (1, 1, 1, 2),
    roots: int = 6,
    own: tuple[float, float] = (3.0, 9.0),
    reaches: tuple[float, float] = (0.75, 1.0),
    delay_s: tuple[float, float] = (1.0, 40.0),
    cadence_s: tuple[float, ...] = (15.0, 30.0, 60.0),
    outages: int = 0,
) -> World:
    """`own` failures a service and month; `outages` of everything at once."""
    dice = random.Random(seed)
    names = [f"s{at:02}" for at in range(services)]
    above = {
        name: [] if at < roots else dice.sample(names[:at], min(at, dice.choice(parents)))
        for at, name in enumerate(names)
    }
    edges = {(name, parent): dice.uniform(*reaches) for name in names for parent in above[name]}
    cadence = {name: dice.choice(cadence_s) for name in names}
    phase = {name: dice.uniform(0, cadence[name]) for name in names}
    seen: dict[str, list[float]] = {name: [] for name in names}
    span = days * DAY
    begun: list[dict[str, float]] = []
    for name in names:
        for _ in range(round(dice.uniform(*own))):
            begun.append(_spread(name, dice.uniform(0, span), edges, delay_s, dice))
    for _ in range(outages):
        at = dice.uniform(0, span)
        begun.append({name: at + dice.uniform(0, 5) for name in names})
    for spread in begun:
        for name, at in spread.items():
            checked = at + (phase[name] - at) % cadence[name] + dice.uniform(0, 1)
            if all(abs(checked - other) > 600 for other in seen[name]):  # it is down already
                seen[name].append(checked)
    return World(frozenset(edges), {name: sorted(times) for name, times in seen.items()}, span)


def _spread(
    name: str, at: float, edges: dict[tuple[str, str], float], delay_s: tuple[float, float], dice: random.Random
) -> dict[str, float]:
    """When each service fails because of one."""
    times, queue = {name: at}, [name]
    while queue:
        parent = queue.pop(0)
        for (child, above), chance in edges.items():
            if above == parent and child not in times and dice.random() < chance:
                times[child] = times[parent] + dice.uniform(*delay_s)
                queue.append(child)
    return times
