"""Windows as code (`opsapp.runtime.ascode`), by name; healing windows are of the moment, in no document.

A document names what a scope covers, because each server makes its own ids; an id stands where a name is not unique.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Invalid
from opsapp.maintenance.records import WindowAsCode, WindowRecord
from opsapp.maintenance.resources import Window, windows_of
from opsapp.runtime.ascode.kinds import StoredEntry, looked_up
from opsapp.runtime.node import Node, node_of
from opsapp.tree.root import Root
from opsapp.wire.records import changed, made, settings_of

from . import windows
from .reach import kinds_of

BY = "apply"


class Called:
    """Read when it is asked first."""

    def __init__(self, root: Root):
        self._node, self._root = node_of(root), root
        self._first: dict[str, str] | None = None
        self._ids: dict[str, set[str]] = defaultdict(set)

    def ids(self, scope: Iterable[str]) -> list[str]:
        """What nothing is called stays as it is, for whoever checks it."""
        ids_by_name = {name: self._ids_of(name) for name in scope}
        several = [name for name, ids in ids_by_name.items() if len(ids) > 1]
        if several:
            raise Invalid({"scope": "several things have this name, give the ids: " + ", ".join(several)})
        return list(dict.fromkeys(next(iter(ids), name) for name, ids in ids_by_name.items()))

    def names(self, ids: Iterable[str]) -> list[str]:
        return [self._name_of(item_id) for item_id in ids]

    def _ids_of(self, text: str) -> set[str]:
        return {text} if text in self._known() else self._ids.get(text, set())

    def _name_of(self, item_id: str) -> str:
        name = self._known().get(item_id)
        return name if name is not None and self._ids_of(name) == {item_id} else item_id

    def _known(self) -> dict[str, str]:
        if self._first is None:
            self._first = {}
            for kind in kinds_of(self._node):
                for item_id, names in kind.names(self._root):
                    self._first[item_id] = next(iter(names), item_id)
                    for name in names:
                        self._ids[name].add(item_id)
        return self._first


def stored(_node: Node, root: Root) -> Iterator[StoredEntry]:
    called = looked_up(root, Called)
    for window in windows_of(root).of_family(Window):
        scope = called.names(window.record.scope)
        yield StoredEntry(window.__name__, {**settings_of(window.record), "scope": scope}, window.source == "api")


def complete(_node: Node, root: Root, given: JsonObject, _present: JsonObject | None) -> JsonObject:
    called = looked_up(root, Called)
    return {**given, "scope": called.names(called.ids(given["scope"]))}


def create(_node: Node, root: Root, entry: WindowAsCode) -> str:
    return windows.create(root, made(WindowRecord, _with_ids(root, entry)), BY).__name__


def update(_node: Node, root: Root, window_id: str, entry: WindowAsCode) -> None:
    window = windows_of(root)[window_id]
    windows.change(root, window, changed(window.record, _with_ids(root, entry)))


def delete(_node: Node, root: Root, window_id: str) -> None:
    windows.delete(root, windows_of(root)[window_id])


def _with_ids(root: Root, entry: WindowAsCode) -> dict[str, object]:
    return {**settings_of(entry), "scope": looked_up(root, Called).ids(entry.scope)}
