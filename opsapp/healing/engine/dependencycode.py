"""Dependencies as code (see `opsapp.runtime.ascode`), by target: what is declared, and what people have confirmed.
What the server's own file declares is changed there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from opsapp.healing.logic.graph import Dependency, mistakes
from opsapp.healing.resources import healing_of
from opsapp.lib.problems import Conflict
from opsapp.monitoring.resources import monitors_of
from opsapp.runtime.ascode.kinds import EntryChange, EntryMistake, StoredEntry
from opsapp.runtime.node import Node
from opsapp.tree.root import Root
from opsapp.wire.records import settings_of

from .dependencies import known_targets

SOURCE = "api"


def stored(_node: Node, root: Root) -> Iterator[StoredEntry]:
    dependencies = healing_of(root).dependencies
    confirmed: dict[str, list[str]] = defaultdict(list)
    for target, parent in dependencies.confirmed:
        confirmed[target].append(parent)
    nodes = dependencies.nodes()
    for target, node in nodes.items():
        parents = tuple(dict.fromkeys((*node.depends_on, *confirmed.get(target, ()))))
        said = Dependency(target, node.type, node.site, parents)
        yield StoredEntry(target, settings_of(said), node.source == SOURCE)
    for target in sorted(confirmed.keys() - nodes.keys()):
        yield StoredEntry(target, settings_of(Dependency(target, depends_on=tuple(confirmed[target]))))


def create(_node: Node, root: Root, entry: Dependency) -> str:
    healing_of(root).dependencies.put(entry, SOURCE)
    return entry.target


def update(node: Node, root: Root, target: str, entry: Dependency) -> None:
    _refuse_declared(root, target)
    create(node, root, entry)
    _forget(root, target, entry.depends_on)


def delete(_node: Node, root: Root, target: str) -> None:
    healing_of(root).dependencies.drop(target)
    _forget(root, target, ())


def settled(_node: Node, root: Root, changes: Sequence[EntryChange]) -> dict[str, EntryMistake]:
    """Return the mistakes of the whole graph, once all of the document is in it."""
    declared = healing_of(root).dependencies.declared(SOURCE)
    monitors = {monitor.name for monitor in monitors_of(root).values()}
    changed = {change.key for change in changes}
    wrong = mistakes(declared, known_targets(root) | monitors)
    first = next(iter(changed))
    return {
        mistake.target if mistake.target in changed else first: EntryMistake("depends_on", mistake.error)
        for mistake in wrong
    }


def _refuse_declared(root: Root, target: str) -> None:
    node = healing_of(root).dependencies.nodes().get(target)
    if node is not None and node.source != SOURCE:
        raise Conflict("The server's own file declares it: change it there.", code="declared_in_file")


def _forget(root: Root, target: str, parents: Sequence[str]) -> None:
    healing = healing_of(root)
    gone = [edge for edge in healing.dependencies.confirmed if edge[0] == target and edge[1] not in parents]
    for edge in gone:
        healing.edges.forget(edge)
    healing.dependencies.confirmed = tuple(edge for edge in healing.dependencies.confirmed if edge not in set(gone))
