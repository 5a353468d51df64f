"""Declared dependencies between targets: /api/healing/dependencies."""

from __future__ import annotations

from opsapp.healing.logic.graph import Graph, GraphNode, node_from
from opsapp.lib.jsontypes import JsonObject
from opsapp.tree.folder import Folder


class Dependencies(Folder):
    """/api/healing/dependencies: plain entries by target, from the YAML and from the API."""

    url = "/api/healing/dependencies"
    confirmed: tuple[tuple[str, str], ...] = ()  # (target, parent) that a person confirmed: no declaration drops it

    def __init__(self) -> None:
        super().__init__()
        self.entries: dict[str, JsonObject] = {}

    def declare(self, entries: list[JsonObject], source: str) -> None:
        """Replace all entries of this source; a target of another source keeps its entry."""
        kept = {target: entry for target, entry in self.entries.items() if entry["source"] != source}
        fresh = {entry["target"]: {**entry, "source": source} for entry in entries}
        self.entries = {**fresh, **kept}

    def declared(self, source: str) -> list[JsonObject]:
        """The entries of this source, whole: what was left out has its default."""
        nodes = [node_from(entry) for entry in self.entries.values() if entry["source"] == source]
        return [
            {"target": node.target, "type": node.type, "site": node.site, "depends_on": list(node.depends_on)}
            for node in nodes
        ]

    def add_edge(self, target: str, parent: str) -> None:
        self.confirmed = tuple(dict.fromkeys((*self.confirmed, (target, parent))))

    def remove_edge(self, target: str, parent: str) -> bool:
        """Whether it is gone: what a configuration file declares stays."""
        entry = self.entries.get(target)
        declared = entry is not None and parent in (entry.get("depends_on") or ())
        if entry is not None and declared:
            if entry["source"] != "api":
                return False
            parents = [name for name in entry["depends_on"] if name != parent]
            self.entries = {**self.entries, target: {**entry, "depends_on": parents}}
        self.confirmed = tuple(edge for edge in self.confirmed if edge != (target, parent))
        return True

    def graph(self) -> Graph:
        """The graph of the present entries; made once per process and change: a large one takes its time."""
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
        nodes = {target: node_from(entry) for target, entry in self.entries.items()}
        for target, parent in self.confirmed:
            node = nodes.get(target) or GraphNode(target, source="confirmed")
            nodes[target] = node._replace(depends_on=tuple(dict.fromkeys((*node.depends_on, parent))))
        return Graph(nodes.values())
