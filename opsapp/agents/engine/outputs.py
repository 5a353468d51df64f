"""What running commands write, for whoever watches them on this node: each piece as (seq, text), on the hub."""

from __future__ import annotations

from opsapp.runtime.node import Node
from opsapp.runtime.watchers import Watchers

KEY = "opsapp.agents.outputs"


def outputs_of(node: Node) -> Watchers:
    return node.registry[KEY]


def prepare(node: Node) -> None:
    """Called before anything is served."""
    node.registry[KEY] = Watchers()
