"""Which node checks which monitor: rendezvous hashing, so that a lost node moves only its own monitors."""

from __future__ import annotations

import hashlib
from collections.abc import Collection


def owns(name: str, key: str, nodes: Collection[str]) -> bool:
    """All nodes agree without talking. Most keys are another's, and the first few nodes show it: among a hundred nodes
    a tenth of the work of looking for the highest score."""
    mine = score(key, name), name
    return name in nodes and not any((score(key, node), node) > mine for node in nodes if node != name)


def score(key: str, node: str) -> bytes:
    return hashlib.blake2s(f"{node}\0{key}".encode(), digest_size=8).digest()
