"""Whose a monitor is, from outside of all nodes."""

from opsapp.monitoring.logic.shards import score


def owner(key, nodes):
    """The node with the highest score; None when there are no nodes."""
    return max(nodes, key=lambda node: (score(key, node), node), default=None)
