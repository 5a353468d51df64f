"""What can be written as code (`opsapp apply`, `export`, `import`): kinds of things, and the way from what is stored to
what a document says.

A room adds a kind with `config.add_kind("monitors", "opsapp.monitoring.engine.ascode", schema=NewMonitor)`; the
module has the functions of `Kind`. Must not: know any kind, parse anything, or talk to people.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from opsapp.lib.addresses import shown_settings
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Conflict, Invalid
from opsapp.tree.root import Root

CREATE, UPDATE, DELETE = "create", "update", "delete"


class StoredEntry(NamedTuple):
    """One thing as it is stored. `fields` as the document would write them, defaults filled in, secrets included: they
    are compared and never shown. What is not `owned` is declared elsewhere (a rule of the YAML): it can be changed,
    but is neither exported nor pruned."""

    id: str
    fields: JsonObject
    owned: bool = True


class Actions(Protocol):
    """A kind's functions. All run inside the one transaction; fields are plain values."""

    def stored(self, node: Any, root: Root) -> Iterable[StoredEntry]:
        """All there are, in the order in which they were made."""

    def complete(self, node: Any, root: Root, given: JsonObject, present: JsonObject | None) -> JsonObject:
        """What was given (valid by the schema), defaults filled in, hidden secrets from `present`; or Invalid."""

    def shown(self, fields: JsonObject) -> JsonObject:
        """The fields without secrets, HIDDEN in their place. Left out: those that a declared record seals are."""

    def exported(self, node: Any, root: Root) -> Iterable[JsonObject]:
        """`shown` of all that is stored and owned. A module may leave it out, if there are never thousands."""

    def create(self, node: Any, root: Root, fields: JsonObject) -> str:
        """Make it as the API would, and answer its id."""

    def update(self, node: Any, root: Root, entry_id: str, fields: JsonObject) -> None: ...

    def delete(self, node: Any, root: Root, entry_id: str) -> None: ...


Document = dict[str, list[JsonObject | None]]
"""By kind the entries, defaults filled in; None where one is known to be wrong."""


class Kind(NamedTuple):
    """`key` is the field by which an entry of the document is the same thing as one that is stored. One that `names`
    things of other kinds comes after them, so that what it names may be made by the same document."""

    name: str
    actions: Actions
    schema: Any
    key: str = "name"
    names: bool = False

    def shown(self, fields: JsonObject) -> JsonObject:
        """Without secrets."""
        shown: JsonObject = getattr(self.actions, "shown", partial(shown_settings, self.schema))(fields)
        return shown


class EntryChange(NamedTuple):
    """One thing that a document makes different: for an update `before` and `after` hold only what differs, and
    `secrets` says that a secret does."""

    kind: str
    change: str
    key: str
    id: str
    before: JsonObject
    after: JsonObject
    secrets: bool = False

    @property
    def action(self) -> str:
        """As the audit names it: `rules` `update` is `rule.update`."""
        return f"{self.kind.removesuffix('s')}.{self.change}"


def apply(
    root: Root,
    node: Any,
    kinds: Iterable[Kind],
    document: Document,
    mistakes: Mapping[str, str] = MappingProxyType({}),
    *,
    prune: bool = False,
) -> tuple[list[EntryChange], int]:
    """Transaction function: make what the document says true. What changed, and how many were as they should be.
    Everything that cannot be done is told in one Invalid, with the `mistakes` that the schemas found; the caller's
    transaction is then to be aborted. With `prune`, what is owned and not in the document goes, for the kinds that the
    document names."""
    wrong = dict(mistakes)
    changes: list[EntryChange] = []
    leftovers: list[tuple[Kind, StoredEntry]] = []
    unchanged = 0
    for kind in kinds:
        if kind.name not in document:
            continue
        present: dict[str, deque[StoredEntry]] = defaultdict(deque)
        for stored in list(kind.actions.stored(node, root)):
            present[stored.fields[kind.key]].append(stored)
        for number, entry in enumerate(document[kind.name]):
            if entry is None:
                continue
            same_name = present[entry[kind.key]]
            with _Told(wrong, f"{kind.name}.{number}"):
                change = _bring(root, node, kind, entry, same_name.popleft() if same_name else None)
                unchanged += change is None
                changes += [change] if change else []
        leftovers += [(kind, stored) for rest in present.values() for stored in rest if stored.owned]
    if wrong:
        raise Invalid(wrong)
    if prune:
        for kind, stored in reversed(leftovers):
            kind.actions.delete(node, root, stored.id)
            shown = kind.shown(stored.fields)
            changes.append(EntryChange(kind.name, DELETE, stored.fields[kind.key], stored.id, shown, {}))
    return changes, unchanged


class _Told:
    """What goes wrong with one entry is told under its place, and the others are looked at too."""

    def __init__(self, wrong: dict[str, str], place: str):
        self.wrong, self.place = wrong, place

    def __enter__(self) -> None: ...

    def __exit__(self, _type: Any, problem: BaseException | None, _trace: Any) -> bool:
        if isinstance(problem, Invalid):
            self.wrong |= {f"{self.place}.{field}": text for field, text in problem.fields.items()}
            return True
        if isinstance(problem, Conflict):
            self.wrong[self.place] = problem.message
            return True
        return False


def _bring(root: Root, node: Any, kind: Kind, entry: JsonObject, present: StoredEntry | None) -> EntryChange | None:
    do: Any = kind.actions
    fields = do.complete(node, root, entry, present and present.fields)
    after = kind.shown(fields)
    if present is None:
        return EntryChange(kind.name, CREATE, entry[kind.key], do.create(node, root, fields), {}, after)
    if fields == present.fields:
        return None
    before = kind.shown(present.fields)
    differing = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    hidden = fields.keys() | present.fields.keys()
    secrets = any(fields.get(name) != present.fields.get(name) for name in hidden if name not in differing)
    do.update(node, root, present.id, fields)
    return EntryChange(
        kind.name,
        UPDATE,
        entry[kind.key],
        present.id,
        {name: before.get(name) for name in differing},
        {name: after.get(name) for name in differing},
        secrets,
    )


def export(root: Root, node: Any, kinds: Iterable[Kind]) -> dict[str, list[JsonObject]]:
    """Everything that can be written as code, as a document that `apply` takes. Without ids and secrets."""
    return {kind.name: list(getattr(kind.actions, "exported", partial(_shown, kind))(node, root)) for kind in kinds}


def _shown(kind: Kind, node: Any, root: Root) -> Iterator[JsonObject]:
    return (kind.shown(stored.fields) for stored in kind.actions.stored(node, root) if stored.owned)
