"""Declared dependencies between targets: /api/healing/dependencies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from opsapp.healing.logic.graph import Dependency, Graph, GraphNode
from opsapp.lib.jsontypes import JsonObject
from opsapp.tree.folder import Folder
from opsapp.wire.records import made, plain


class Dependencies(Folder):
    """/api/healing/dependencies: plain entries by target."""

    url = "/api/healing/dependencies"
    confirmed: tuple[tuple[str, str], ...] = ()  # (target, parent) that a person confirmed: no declaration drops it

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[str, JsonObject] = {}

    def declare(self, entries: Iterable[Dependency], source: str) -> None:
        """Replace this source's; a target of another source keeps its entry."""
        kept = {target: entry for target, entry in self.entries.items() if entry["source"] != source}
        fresh = {entry.target: {**plain(entry, Dependency), "source": source} for entry in entries}
        self.entries = {**fresh, **kept}

    def put(self, entry: Dependency, source: str) -> None:
        self.entries = {**self.entries, entry.target: {**plain(entry, Dependency), "source": source}}

    def drop(self, target: str) -> None:
        self.entries = {name: entry for name, entry in self.entries.items() if name != target}

    def nodes(self) -> dict[str, GraphNode]:
        return {target: made(GraphNode, entry) for target, entry in self.entries.items()}

    def declared(self, source: str) -> tuple[GraphNode, ...]:
        return tuple(node for node in self.nodes().values() if node.source == source)

    def add_edge(self, target: str, parent: str) -> None:
        self.confirmed = tuple(dict.fromkeys((*self.confirmed, (target, parent))))

    def remove_edge(self, target: str, parent: str) -> bool:
        """False: a configuration file declares it."""
        node = self.nodes().get(target)
        if node is not None and parent in node.depends_on:
            if node.source != "api":
                return False
            parents = [name for name in node.depends_on if name != parent]
            self.entries = {**self.entries, target: {**self.entries[target], "depends_on": parents}}
        self.confirmed = tuple(edge for edge in self.confirmed if edge != (target, parent))
        return True

    def graph(self) -> Graph:
        """Made once per process and change."""
        if self._p_jar is None or self._p_changed:
            return self._graph()
        self._p_activate()  # a ghost has no serial
        db, serial = self._p_jar.db(), self._p_serial
        kept = getattr(db, "opsapp_graphs", {})
        if serial not in kept:
            kept = {**dict(list(kept.items())[-1:]), serial: self._graph()}  # the last one, for who still reads it
            db.opsapp_graphs = kept
        return kept[serial]

    def _graph(self) -> Graph:
        nodes = self.nodes()
        for target, parent in self.confirmed:
            node = nodes.get(target) or GraphNode(target, source="confirmed")
            nodes[target] = replace(node, depends_on=tuple(dict.fromkeys((*node.depends_on, parent))))
        return Graph(nodes.values())
