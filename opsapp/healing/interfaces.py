"""The one way into healing for other rooms. What healing needs of them it registers or calls by their interfaces."""

from __future__ import annotations

from opsapp.lib.jsontypes import JsonObject
from opsapp.tree.root import Root

from .config import HealingSettings
from .engine.trace import trace
from .resources import healing_of

__all__ = ["HealingSettings", "newest_heals", "trace"]


def newest_heals(root: Root, most: int) -> tuple[int, list[JsonObject]]:
    """(How many ledger entries there are, the newest of them as the API gives them)."""
    count, entries = healing_of(root)["ledger"].page(None, None, most, 0)
    return count, entries
