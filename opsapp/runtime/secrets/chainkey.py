"""The key of the store's chains (ledger, audit): made once, kept in the store, sealed with the master key.

So it outlives a change of the master key, and whoever has the store alone cannot make a link.
"""

from __future__ import annotations

import hmac
import secrets
from typing import Any

from opsapp.lib.problems import Problem
from opsapp.runtime.base import NodeBase, base_of
from opsapp.tree.root import Root

from .seals import REGISTRY_KEY, Reseal

NAME, PURPOSE = "chain_key", "chain key"
OPENED = "opsapp.chain_key"


def prepare(node: NodeBase) -> None:
    node.transact(_make)


def _make(root: Root) -> None:
    """Make the key, and sign with it what is there in the same transaction."""
    registry = base_of(root).registry
    seal = registry[REGISTRY_KEY]
    if root.system.get(NAME) is None and seal.present is not None:
        root.system[NAME] = seal.seal(secrets.token_hex(32), PURPOSE)
        for begin in registry.opsapp_chains:
            begin(root, chain_key(root))


def chain_key(root: Any) -> bytes:
    """The key of the chains, None where it cannot be opened: what is linked then fails `verify` later."""
    node = base_of(root)
    sealed = root.system.get(NAME)
    if sealed is None:
        return b""
    known, key = node.registry.get(OPENED, (None, b""))
    if known != sealed:
        try:
            key = bytes.fromhex(node.registry[REGISTRY_KEY].open(sealed, PURPOSE))
        except Problem:
            return b""
        node.registry[OPENED] = (sealed, key)
    return key


def is_shut(root: Any) -> bool:
    """Whether there is a key, and this node cannot open it."""
    return root.system.get(NAME) is not None and not chain_key(root)


def keyed_draw(key: bytes, what: str) -> float | None:
    """A number between 0 and 1, the same each time. None without the key: everybody could foresee it."""
    if not key:
        return None
    drawn = hmac.digest(key, what.encode(), "sha256")
    return int.from_bytes(drawn[:7], "big") / 2**56


def reseal(root: Root, again: Reseal) -> None:
    if root.system.get(NAME) is not None:
        root.system[NAME] = again(root.system[NAME], PURPOSE)


def add_chain(config: Any, fn: Any) -> None:
    """Directive: `fn(root, key)` signs a chain when the store gets the key."""
    config.registry.opsapp_chains.append(config.maybe_dotted(fn))


def includeme(config: Any) -> None:
    config.registry.opsapp_chains = []
    config.add_directive("add_chain", add_chain)
    config.add_sealed(reseal)
