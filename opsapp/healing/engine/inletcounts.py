"""How many events this node has taken and refused since its start, by inlet: for /metrics. In memory only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from prometheus_client.core import CounterMetricFamily

from opsapp.healing.resources import healing_of
from opsapp.healing.resources.inlets import Inlet
from opsapp.runtime.node import Node, node_of
from opsapp.runtime.projection import readable
from opsapp.runtime.wakes import after_commit
from opsapp.tree.root import Root

KEY = "opsapp.healing.inlet_counts"
RESULTS = ("taken", "refused")

Counts = Counter[tuple[str, str]]  # by the inlet's id, and what became of the event


def prepare(node: Node) -> None:
    node.registry[KEY] = Counts()


def count_after_commit(root: Root, inlet: Inlet, taken: int, refused: int) -> None:
    counts: Counts = node_of(root).registry[KEY]
    became = dict(zip(RESULTS, (taken, refused), strict=True))
    after_commit(root, counts.update, {(inlet.__name__, result): count for result, count in became.items()})


def figures(root: Root) -> Iterable[Any]:
    """Of the inlets that there are, under the names that they have now."""
    told = "Events from elsewhere since the start."
    events = CounterMetricFamily("opsapp_inlet_events", told, labels=["inlet", "name", "result"])
    counts: Counts = node_of(root).registry[KEY]
    for inlet_id, inlet in readable(healing_of(root)["inlets"], "inlet"):
        for result in RESULTS:
            events.add_metric([inlet_id, inlet.name, result], counts[inlet_id, result])
    yield events
