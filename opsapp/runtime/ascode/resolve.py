"""What references in a document stand for, as far as the store knows: its secrets, and values that were read from the
same reference before. The environment and files are read by whoever sends the document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from opsapp.lib import references
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.placeholders import places
from opsapp.lib.references import Place
from opsapp.tree.root import Root

from .kinds import ISecretReader, Kind, StoredEntry
from .references import book_of, value_at

ELSEWHERE = "is not known here: only `opsapp apply` reads the environment and files, of whoever runs it"


class Resolved(NamedTuple):
    """All by place: `held` is what was written where a value was read, `secrets` the values that were filled in,
    `wrong` what stands for nothing."""

    document: JsonObject
    held: dict[Place, str]
    secrets: dict[Place, tuple[str, ...]]
    wrong: dict[str, str]


def resolve(root: Root, node: Any, kinds: Iterable[Kind], document: JsonObject, given: Mapping[Place, str]) -> Resolved:
    """`given`: what was written where the sender has read a value."""
    resolved = Resolved(dict(document), dict(given), {}, {})
    for kind in kinds:
        entries = document.get(kind.name)
        if isinstance(entries, list):
            work = _OfKind(root, node, kind, resolved)
            resolved.document[kind.name] = [
                references.rewritten(entry, work.filler(entry), (kind.name, str(number)))
                for number, entry in enumerate(entries)
            ]
    return resolved


class _OfKind:
    """The texts of one kind's entries."""

    def __init__(self, root: Root, node: Any, kind: Kind, resolved: Resolved):
        self._root, self._node, self._kind, self._resolved = root, node, kind, resolved
        self._stored: list[StoredEntry] | None = None

    def filler(self, entry: Any) -> references.Seen:
        return lambda place, text: self._filled(entry, place, text)

    def _filled(self, entry: Any, place: Place, text: str) -> str:
        unread = list(references.names_in(text))
        if unread:
            return self._read_before(entry, place, text, unread)
        meant = references.plain(text)
        names = sorted(name for kind, name in places(meant) if kind == "secret")
        return self._with_secrets(place, meant, names) if names and not self._kind.placeholders else meant

    def _with_secrets(self, place: Place, text: str, names: list[str]) -> str:
        read = self._node.registry.queryUtility(ISecretReader)
        values: dict[str, str] = {} if read is None else read(self._root, names)
        missing = [name for name in names if name not in values]
        if missing:
            self._resolved.wrong[".".join(place)] = "there is no secret " + ", ".join(missing)
            return text
        self._resolved.secrets[place] = tuple(values.values())
        self._resolved.held.setdefault(place, references.escaped(text))
        return references.with_secrets(text, values)

    def _read_before(self, entry: Any, place: Place, text: str, unread: list[str]) -> str:
        """The value that is stored, if it was read from the same text."""
        for fields, held in self._holding(entry):
            if held.get(place[2:]) == text:
                self._resolved.held[place] = text
                return str(value_at(fields, place[2:]))
        self._resolved.wrong[".".join(place)] = f"${{{unread[0]}}} {ELSEWHERE}"
        return text

    def _holding(self, entry: Any) -> Iterable[tuple[JsonObject, Mapping[Place, str]]]:
        known = book_of(self._root).rows_of(self._root, self._kind.name)
        try:
            called = self._kind.called(entry)
        except (KeyError, TypeError):
            return
        if called not in known.rows:
            return
        if self._stored is None:
            self._stored = list(self._kind.actions.stored(self._node, self._root))
        for stored in self._stored:
            if self._kind.called(stored.fields) == called:
                yield stored.fields, known.of(called).holding(stored.fields)
