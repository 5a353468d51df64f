"""What can be written as code (`opsapp apply`, `export`, `import`): kinds of things, and what is stored of them as a
document says it. How a document is made true: `apply`.

A room adds a kind with `config.add_kind`; its module has the functions of `Actions`. Must not: know any kind, parse
anything, or talk to people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

from zope.interface import Interface

from opsapp.lib import references
from opsapp.lib.addresses import shown_settings
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Problem
from opsapp.tree.root import Root
from opsapp.wire.records import made

from .references import book_of, with_references

T = TypeVar("T")
CREATE, UPDATE, DELETE = "create", "update", "delete"


class ISecretReader(Interface):
    """Utility, `fn(root, names)`: the values of those secrets that there are, by name."""


class StoredEntry(NamedTuple):
    """`fields` as the document would write them, with defaults and secrets: they are compared and never shown. What is
    not `owned` is declared elsewhere (a rule of the YAML): it can be changed, but is neither exported nor pruned."""

    id: str
    fields: JsonObject
    owned: bool = True


class MadeEntry(NamedTuple):
    """`once`: shown this once, to whoever made it (an address with its token)."""

    id: str
    once: Mapping[str, str]


class EntryMistake(NamedTuple):
    field: str
    text: str


class Awaited(Problem):
    """What a document names can only come about otherwise; no mistake of the document."""


class Actions(Protocol):
    """All run inside the one transaction. The changing functions of a `guarded` kind get the actor as their last
    argument."""

    def stored(self, node: Any, root: Root) -> Iterable[StoredEntry]:
        """All there are, in the order in which they were made."""

    def complete(self, node: Any, root: Root, given: JsonObject, present: JsonObject | None) -> JsonObject:
        """What was given (valid by the schema), with defaults and with hidden secrets from `present`; or Invalid. May
        be left out where the record's defaults are all there is to fill in."""

    def shown(self, fields: JsonObject) -> JsonObject:
        """HIDDEN in the place of secrets. May be left out where the record declares what is sealed."""

    def exported(self, node: Any, root: Root) -> Iterable[JsonObject]:
        """`shown` of all that is stored and owned. May be left out where there are never thousands."""

    def create(self, node: Any, root: Root, entry: Any) -> str | MadeEntry:
        """Create the entry; its id, or Awaited."""

    def update(self, node: Any, root: Root, entry_id: str, entry: Any) -> None: ...

    def delete(self, node: Any, root: Root, entry_id: str) -> None: ...

    def settled(self, node: Any, root: Root, changes: Sequence[EntryChange]) -> Mapping[str, EntryMistake]:
        """What is wrong, after all else of the document, with entries made or changed, by the key of the entry. May be
        left out."""


Document = dict[str, list[JsonObject | None]]
"""By kind the entries, defaults filled in; None where one is known to be wrong."""


class Kind(NamedTuple):
    """`key`: by which an entry of the document is the same thing as a stored one. A kind that `names` things of other
    kinds comes after them; 2: after such kinds too. `audit`: what the audit calls one. `guarded`: changing it takes a
    person who has proved who they are. `placeholders`: it keeps `{{secret:...}}` and fills it in at use."""

    name: str
    actions: Actions
    schema: Any
    key: str | tuple[str, ...] = "name"
    names: int = False
    audit: str = ""
    guarded: bool = False
    placeholders: bool = False

    def called(self, fields: JsonObject) -> str:
        key = self.key
        return fields[key] if isinstance(key, str) else "/".join(fields[name] for name in key)

    @property
    def key_field(self) -> str:
        """Where a mistake is told that is of the entry as a whole."""
        return self.key if isinstance(self.key, str) else self.key[0]

    def record(self, fields: JsonObject) -> Any:
        """The fields as a record of the kind's schema, or of what the module calls `RECORD`."""
        return made(getattr(self.actions, "RECORD", self.schema), fields)

    def shown(self, fields: JsonObject) -> JsonObject:
        """Without secrets."""
        shown: JsonObject = getattr(self.actions, "shown", partial(shown_settings, self.schema))(fields)
        return shown


class EntryChange(NamedTuple):
    """For an update, `before` and `after` hold only what differs, and `secrets` says that a secret differs. `stamp` is
    made of what was there before and what becomes of it. `once` is shown only to who makes the change."""

    kind: str
    change: str
    key: str
    id: str
    before: JsonObject
    after: JsonObject
    secrets: bool
    action: str
    stamp: str
    once: Mapping[str, str] = {}


def looked_up(root: Root, look: Callable[[Root], T]) -> T:
    """What each entry of a kind asks for, read once in a transaction: after what it names was made."""
    transaction = root._p_jar.transaction_manager.get()
    try:
        answer: T = transaction.data(look)
    except KeyError:
        answer = look(root)
        transaction.set_data(look, answer)
    return answer


def export(root: Root, node: Any, kinds: Iterable[Kind]) -> dict[str, list[JsonObject]]:
    """A document that `apply` takes, without ids and secrets, with the references that were applied."""
    return {kind.name: list(_exported(root, node, kind)) for kind in kinds}


def _exported(root: Root, node: Any, kind: Kind) -> Iterator[JsonObject]:
    rows = book_of(root).rows_of(root, kind.name)
    if not rows:
        plain = getattr(kind.actions, "exported", partial(_shown, kind))(node, root)
        yield from map(references.escaped_in, plain)
        return
    for stored in kind.actions.stored(node, root):
        if stored.owned:
            row = rows.of(kind.called(stored.fields))
            shown = references.escaped_in(kind.shown(stored.fields))
            yield with_references(shown, row.holding(stored.fields))


def _shown(kind: Kind, node: Any, root: Root) -> Iterator[JsonObject]:
    return (kind.shown(stored.fields) for stored in kind.actions.stored(node, root) if stored.owned)
