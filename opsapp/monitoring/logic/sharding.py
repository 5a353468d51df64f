"""Which node checks which monitor: rendezvous hashing, so that a lost node moves only its own monitors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def owner(key: str, nodes: Iterable[str]) -> str | None:
    """The node with the highest score for this key; nobody when there are no nodes. All nodes agree without talking."""
    return max(nodes, key=lambda node: (_score(key, node), node), default=None)


def _score(key: str, node: str) -> bytes:
    return hashlib.blake2s(f"{node}\0{key}".encode(), digest_size=8).digest()
