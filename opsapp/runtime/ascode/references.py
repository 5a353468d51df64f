"""Which stored fields were read from a reference (`lib.references`), so that an export writes the reference. Of a value
only a keyed digest is kept: a field that has another value by now has no reference.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from BTrees.OOBTree import OOBTree
from persistent import Persistent

from opsapp.lib.addresses import HIDDEN
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.references import Place, is_only, masked
from opsapp.runtime.secrets.chainkey import chain_key
from opsapp.tree.root import Root

NAME = "as_code"
Shown = Callable[[JsonObject], JsonObject]
Held = Mapping[Place, str]  # by the place in an entry, what the document says there
Rows = tuple[tuple[Place, str, str], ...]  # place, text, digest of the value


class ReferenceBook(Persistent):
    """`rows`: (kind, what people call the entry) -> Rows. `applies` counts documents that changed something: of two at
    once one meets a conflict."""

    applies = 0

    def __init__(self) -> None:
        self.rows = OOBTree()

    def rows_of(self, root: Root, kind: str) -> KindReferences:
        rows = {key[1]: row for key, row in self.rows.items((kind,), (kind + "\0",))}
        return KindReferences(chain_key(root) if rows else b"", kind, rows)

    def keep(self, kind: str, key: str, rows: Rows) -> bool:
        """Whether that is news."""
        if self.rows.get((kind, key), ()) == rows:
            return False
        if rows:
            self.rows[kind, key] = rows
        else:
            del self.rows[kind, key]
        return True


class KindReferences(NamedTuple):
    """Those of one kind."""

    key: bytes
    kind: str
    rows: Mapping[str, Rows]

    def __bool__(self) -> bool:
        return bool(self.rows)

    def of(self, called: str) -> EntryReferences:
        return EntryReferences(self.key, self.kind, self.rows.get(called, ()))


class EntryReferences(NamedTuple):
    key: bytes
    kind: str
    rows: Rows

    def holding(self, fields: JsonObject) -> dict[Place, str]:
        """Those whose field still has the value that was read."""
        return {
            place: text
            for place, text, digest in self.rows
            if hmac.compare_digest(digest, _digest(self.key, self.kind, place, value_at(fields, place)))
        }


def set_up(root: Root) -> None:
    """Evolve step."""
    root.system[NAME] = ReferenceBook()


def book_of(root: Root) -> ReferenceBook:
    return root.system[NAME]


def rows_for(root: Root, kind: str, entries: Iterable[tuple[JsonObject, Held]]) -> Rows:
    """Rows of all entries that have the same name."""
    key = chain_key(root)
    rows: dict[tuple[Place, str, str], None] = {}
    for fields, held in entries:
        for place, text in held.items():
            value = value_at(fields, place)
            if value is not None:
                rows[place, text, _digest(key, kind, place, value)] = None
    return tuple(rows)


def stamped(root: Root, *facts: Any) -> str:
    """A mark of these facts from which nobody can guess them; there are secrets among them."""
    return _mark(chain_key(root), facts)[:16]


def _digest(key: bytes, kind: str, place: Place, value: Any) -> str:
    return _mark(key, (kind, place, value))


def _mark(key: bytes, facts: Any) -> str:
    text = json.dumps(facts, sort_keys=True, default=list)
    return hmac.new(key, b"as code\0" + text.encode("utf-8", "backslashreplace"), "sha256").hexdigest()


def value_at(value: Any, place: Place) -> Any:
    for step in place:
        try:
            value = value[int(step)] if isinstance(value, list | tuple) else value[step]
        except (LookupError, TypeError, ValueError):
            return None
    return value


def presentable(shown: Shown, fields: JsonObject, held: Held) -> dict[Place, str]:
    """What was written, as far as it may be shown: what stands beside a reference may be a secret itself."""
    texts = {place: _presentable(shown, fields, place, text) for place, text in held.items()}
    return {place: text for place, text in texts.items() if text is not None}


def _presentable(shown: Shown, fields: JsonObject, place: Place, text: str) -> str | None:
    if is_only(text):
        return text
    if value_at(fields, place) is None:
        return None
    mask = masked(text)
    seen = mask.unmasked(str(value_at(shown(_put(fields, place, mask.text)), place)))
    return None if seen == HIDDEN else seen


def with_references(shown: JsonObject, held: Held) -> JsonObject:
    for place, text in held.items():
        if value_at(shown, place) is not None:
            shown = _put(shown, place, text)
    return shown


def _put(value: Any, place: Place, text: str) -> Any:
    if not place:
        return text
    step, *rest = place
    if isinstance(value, Mapping):
        return {**value, step: _put(value[step], tuple(rest), text)}
    items = list(value)
    items[int(step)] = _put(items[int(step)], tuple(rest), text)
    return items
