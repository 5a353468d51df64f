"""Who on this node follows the output of which run."""

from __future__ import annotations

from opsapp.runtime.node import Node
from opsapp.runtime.watchers import Watchers

KEY = "opsapp.automations.watchers"


def watchers_of(node: Node) -> Watchers:
    return node.registry[KEY]


def changed(node: Node, run_id: str) -> None:
    """Called from any thread, after a commit: wakes on the hub, or in the committing thread where none runs."""
    if run_id in watchers_of(node):
        node.post(watchers_of(node).call, run_id)
