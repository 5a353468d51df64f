"""Monitors by the names that are theirs alone, as documents name them. Must not: know what names them."""

from __future__ import annotations

from collections import Counter

from opsapp.monitoring.resources import monitors_of
from opsapp.tree.root import Root


def names_by_id(root: Root) -> dict[str, str]:
    names = {monitor.id: monitor.name for monitor in monitors_of(root).whole()}
    called = Counter(names.values())
    return {monitor_id: name for monitor_id, name in names.items() if called[name] == 1}


def ids_by_name(root: Root) -> dict[str, str]:
    return {name: monitor_id for monitor_id, name in names_by_id(root).items()}
