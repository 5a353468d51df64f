"""How a document is made true: what is stored is compared with it, and made, changed or deleted.

All in one transaction. Of two documents that change something at once, one meets a conflict and runs again.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Conflict, Invalid
from opsapp.lib.references import Place
from opsapp.tree.root import Root
from opsapp.wire.records import settings_of

from .kinds import CREATE, DELETE, UPDATE, Awaited, Document, EntryChange, Kind, MadeEntry, StoredEntry
from .references import Held, KindReferences, book_of, presentable, rows_for, stamped, value_at, with_references

T = TypeVar("T")
NOTHING: Mapping[Any, Any] = MappingProxyType({})
MOST_NAMED = 20  # of what has changed meanwhile
SEEN_BY_ALL = "{{secret:NAME}} may stand only where values are hidden: headers, bodies, the user or query of an address"


class Wanted(NamedTuple):
    """`mistakes`: of the schemas. `references`: what was written where a value was read. `secrets`: the values that
    were filled in, by place. `seen`: stamps of the changes that were shown before; what has changed since is refused.
    """

    document: Document
    mistakes: Mapping[str, str] = NOTHING
    references: Mapping[Place, str] = NOTHING
    secrets: Mapping[Place, tuple[str, ...]] = NOTHING
    prune: bool = False
    seen: Sequence[str] | None = None


class ApplyingActor(NamedTuple):
    """`confirm` raises where the actor may not change what is guarded."""

    actor: Any
    confirm: Callable[[], None]


class WaitingEntry(NamedTuple):
    """What the document names and only somebody else can make."""

    kind: str
    key: str
    why: str


class AppliedDocument(NamedTuple):
    changes: list[EntryChange]
    unchanged: int
    waiting: list[WaitingEntry]


def apply(root: Root, node: Any, kinds: Iterable[Kind], wanted: Wanted, asker: ApplyingActor) -> AppliedDocument:
    """Transaction function. All mistakes are in one Invalid, after which the caller aborts. `prune` deletes what is
    owned and not in the document, of the kinds that it names."""
    work = [_OfKind(root, node, kind, wanted, asker) for kind in kinds if kind.name in wanted.document]
    wrong = dict(wanted.mistakes)
    for of_kind in work:
        of_kind.bring(wrong)
    if wrong:
        raise Invalid(wrong)
    if wanted.prune:
        for of_kind in reversed(work):
            of_kind.prune()
    for of_kind in work:
        wrong |= of_kind.settle()
    if wrong:
        raise Invalid(wrong)
    changes = [change for of_kind in work for change in of_kind.changes]
    changes += [gone for of_kind in reversed(work) for gone in of_kind.gone]
    if wanted.seen is not None:
        _refuse_unseen(changes, frozenset(wanted.seen))
    if any([of_kind.remember() for of_kind in work]) or changes:
        book_of(root).applies += 1
    return AppliedDocument(
        changes,
        sum(of_kind.unchanged for of_kind in work),
        [waiting for of_kind in work for waiting in of_kind.waiting],
    )


def _refuse_unseen(changes: Iterable[EntryChange], seen: frozenset[str]) -> None:
    unseen = [_what_is_now(change) for change in changes if change.stamp not in seen]
    if unseen:
        more = f" and {len(unseen) - MOST_NAMED} more" if len(unseen) > MOST_NAMED else ""
        told = "; ".join(unseen[:MOST_NAMED])
        raise Conflict(f"This has changed since you looked: {told}{more}. Nothing was changed.", code="changed_since")


def _what_is_now(change: EntryChange) -> str:
    name = f"{change.kind} {change.key}"
    if change.change == CREATE:
        return f"{name} is not there"
    fields = [f"{field} is {value!r} now" for field, value in change.before.items()] if change.change == UPDATE else []
    return f"{name}: {', '.join(fields)}" if fields else f"{name} is another now"


class _OfKind:
    def __init__(self, root: Root, node: Any, kind: Kind, wanted: Wanted, asker: ApplyingActor):
        self._root, self._node, self._kind, self._asker = root, node, kind, asker
        self._do: Any = kind.actions
        self._more = (asker.actor,) if kind.guarded else ()
        self._entries = wanted.document[kind.name]
        self._given = _by_entry(kind.name, wanted.references)
        self._secrets = _by_entry(kind.name, wanted.secrets)
        self._known: KindReferences = book_of(root).rows_of(root, kind.name)
        self._held: dict[str, list[tuple[JsonObject, Held]]] = defaultdict(list)
        self._places: dict[str, int] = {}
        self._leftovers: list[StoredEntry] = []
        self.changes: list[EntryChange] = []
        self.gone: list[EntryChange] = []
        self.waiting: list[WaitingEntry] = []
        self.unchanged = 0

    def bring(self, wrong: dict[str, str]) -> None:
        """What is in the document; mistakes go to `wrong`, by their place."""
        present: dict[str, deque[StoredEntry]] = defaultdict(deque)
        for stored in list(self._do.stored(self._node, self._root)):
            present[self._kind.called(stored.fields)].append(stored)
        for number, entry in enumerate(self._entries):
            if entry is None:
                continue
            called = self._kind.called(entry)
            self._places[called] = number
            same_name = present[called]
            with _Told(wrong, f"{self._kind.name}.{number}", self._kind.key_field):
                self._bring(number, called, entry, same_name.popleft() if same_name else None)
        self._leftovers = [stored for rest in present.values() for stored in rest if stored.owned]

    def _bring(self, number: int, called: str, entry: JsonObject, present: StoredEntry | None) -> None:
        secrets = self._secrets.get(str(number), {})
        fields = self._complete(entry, present)
        held = presentable(self._kind.shown, fields, self._given.get(str(number), {}))
        self._refuse_seen(fields, secrets)
        self._held[called].append((fields, held))
        if present is not None and fields == present.fields:
            self.unchanged += 1
            return
        if self._kind.guarded or secrets:
            self._asker.confirm()
        after = with_references(self._kind.shown(fields), held)
        if present is not None:
            self._update(called, present, fields, after)
            return
        try:
            answered = self._do.create(self._node, self._root, self._kind.record(fields), *self._more)
        except Awaited as awaited:
            self._held[called].pop()
            self.waiting.append(WaitingEntry(self._kind.name, called, awaited.message))
            return
        made = answered if isinstance(answered, MadeEntry) else MadeEntry(answered, {})
        self.changes.append(self._change(CREATE, called, made.id, None, {}, after)._replace(once=made.once))

    def _complete(self, entry: JsonObject, present: StoredEntry | None) -> JsonObject:
        complete = getattr(self._do, "complete", None)
        if complete is None:
            return settings_of(self._kind.record(entry))
        fields: JsonObject = complete(self._node, self._root, entry, present and present.fields)
        return fields

    def _update(self, called: str, present: StoredEntry, fields: JsonObject, after: JsonObject) -> None:
        before = self._before(called, present)
        differing = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        hidden = fields.keys() | present.fields.keys()
        secrets = any(fields.get(name) != present.fields.get(name) for name in hidden if name not in differing)
        self._do.update(self._node, self._root, present.id, self._kind.record(fields), *self._more)
        was, is_now = ({name: shown.get(name) for name in differing} for shown in (before, after))
        change = self._change(UPDATE, called, present.id, present, was, is_now)
        self.changes.append(change._replace(secrets=secrets))

    def _before(self, called: str, present: StoredEntry) -> JsonObject:
        held = self._known.of(called).holding(present.fields)
        return with_references(self._kind.shown(present.fields), held)

    def _change(
        self, change: str, called: str, entry_id: str, was: StoredEntry | None, before: JsonObject, after: JsonObject
    ) -> EntryChange:
        name = self._kind.name
        stamp = stamped(self._root, name, change, called, None if was is None else (was.id, was.fields))
        action = f"{self._kind.audit or name.removesuffix('s')}.{change}"
        return EntryChange(name, change, called, entry_id, before, after, False, action, stamp)

    def _refuse_seen(self, fields: JsonObject, secrets: Mapping[Place, tuple[str, ...]]) -> None:
        """A secret is nowhere where everybody may read it."""
        shown = self._kind.shown(fields) if secrets else {}
        for place, values in secrets.items():
            text = str(value_at(shown, place) or "")
            if any(value in text for value in values):
                raise Invalid({".".join(place): SEEN_BY_ALL})

    def prune(self) -> None:
        if self._leftovers and self._kind.guarded:
            self._asker.confirm()
        for stored in reversed(self._leftovers):
            called = self._kind.called(stored.fields)
            shown = self._before(called, stored)
            try:
                self._do.delete(self._node, self._root, stored.id, *self._more)
            except Conflict as problem:
                message = f"{self._kind.name} {called} cannot be deleted: {problem.message}"
                raise Conflict(message, code=problem.code) from None
            self.gone.append(self._change(DELETE, called, stored.id, stored, shown, {}))
            if called not in self._held:
                self._held[called] = []

    def settle(self) -> dict[str, str]:
        settled = getattr(self._do, "settled", None)
        wrong = {} if settled is None or not self.changes else settled(self._node, self._root, self.changes)
        return {f"{self._kind.name}.{self._places[called]}.{field}": text for called, (field, text) in wrong.items()}

    def remember(self) -> bool:
        """Which fields were read from references; whether that is news."""
        book, kind = book_of(self._root), self._kind.name
        rows = {
            called: rows_for(self._root, kind, entries)
            for called, entries in self._held.items()
            if called in self._known.rows or any(held for _, held in entries)
        }
        return any([book.keep(kind, called, row) for called, row in rows.items()])


def _by_entry(kind: str, given: Mapping[Place, T]) -> dict[str, dict[Place, T]]:
    """What concerns this kind, by the number of the entry."""
    of_kind: dict[str, dict[Place, T]] = defaultdict(dict)
    for place, told in given.items():
        if len(place) > 2 and place[0] == kind:
            of_kind[place[1]][place[2:]] = told
    return of_kind


class _Told:
    """What goes wrong with an entry is told under its place, and the next entries are looked at too."""

    def __init__(self, wrong: dict[str, str], place: str, key_field: str):
        self.wrong, self.place, self.key_field = wrong, place, key_field

    def __enter__(self) -> None: ...

    def __exit__(self, _type: Any, problem: BaseException | None, _trace: Any) -> bool:
        if isinstance(problem, Invalid):
            self.wrong |= {f"{self.place}.{field}": text for field, text in problem.fields.items()}
            return True
        if isinstance(problem, Conflict):
            self.wrong[f"{self.place}.{self.key_field}"] = problem.message
            return True
        return False
