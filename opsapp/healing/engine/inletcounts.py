"""How many events this node has taken and refused since its start, by inlet: for /metrics. In memory only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from prometheus_client.core import CounterMetricFamily

from opsapp.healing.resources.inlets import Inlet
from opsapp.runtime.node import Node, node_of
from opsapp.runtime.wakes import after_commit
from opsapp.tree.root import Root

KEY = "opsapp.healing.inlet_counts"

Counts = Counter[tuple[str, str, str]]  # by the inlet's id and name, and what became of the event


def prepare(node: Node) -> None:
    node.registry[KEY] = Counts()


def count_after_commit(root: Root, inlet: Inlet, taken: int, refused: int) -> None:
    counts: Counts = node_of(root).registry[KEY]
    about = inlet.__name__, inlet.name
    after_commit(root, counts.update, {(*about, "taken"): taken, (*about, "refused"): refused})


def figures(node: Node) -> Iterable[Any]:
    events = CounterMetricFamily(
        "opsapp_inlet_events", "Events from elsewhere since the start.", labels=["inlet", "name", "result"]
    )
    for about, count in sorted(node.registry[KEY].items()):
        events.add_metric(about, count)
    yield events
