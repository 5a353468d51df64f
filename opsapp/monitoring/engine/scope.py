"""Monitors as what a maintenance window may cover (an `IScopeKind`)."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from opsapp.monitoring.engine.shownstates import is_down_in_window
from opsapp.monitoring.engine.watch import register_of, watch_of
from opsapp.monitoring.resources import monitors_of
from opsapp.runtime.node import Node, node_of
from opsapp.tree.root import Root


class MonitorScope:
    def exists(self, root: Root, monitor_id: str) -> bool:
        return monitor_id in monitors_of(root)

    def named(self, root: Root, name: str) -> set[str]:
        """Ids of monitors with this id or name. It reads no store."""
        entries = watch_of(node_of(root)).entries(root)
        return {entry.id for entry in tuple(entries.values()) if name in (entry.id, entry.name)}

    def standing(self, root: Root, ids: Collection[str] | None) -> tuple[int, list[str]]:
        node = node_of(root)
        watch, now = watch_of(node), node.clock.now()
        watch.register.catch_up(root)
        is_hidden = is_down_in_window(node, now)
        entries = [entry for entry in watch.states.look(now) if ids is None or entry.id in ids]
        return len(entries), [entry.name for entry in entries if entry.shown == "down" or is_hidden(entry)]

    def catch_up(self, root: Root) -> None:
        register_of(node_of(root)).catch_up(root)

    def tagged(self, node: Node) -> Iterator[tuple[str, Collection[str]]]:
        return ((entry.id, entry.settings.tags) for entry in tuple(register_of(node).entries.values()))

    def tags_of(self, node: Node, item_id: str) -> Collection[str] | None:
        entry = register_of(node).entries.get(item_id)
        return None if entry is None else entry.settings.tags

    def names(self, root: Root) -> Iterator[tuple[str, list[str]]]:
        register = register_of(node_of(root))
        if register.stands_for(root):
            yield from [(entry.id, [entry.name]) for entry in tuple(register.entries.values())]
            return
        for monitor_id, monitor in monitors_of(root).items():
            yield monitor_id, [monitor.name]
