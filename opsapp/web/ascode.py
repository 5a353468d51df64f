"""What can be written as code: the directive by which a room adds a kind, and the schema of the whole document.

A room's `includeme` says `config.add_kind("monitors", "opsapp.monitoring.engine.ascode", schema=NewMonitor)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass, replace
from typing import Any, NamedTuple

from pyramid.config import Configurator

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.references import Place
from opsapp.runtime.ascode import kinds, references
from opsapp.runtime.ascode.apply import AppliedDocument, ApplyingActor, Wanted
from opsapp.runtime.ascode.apply import apply as make_true
from opsapp.runtime.ascode.kinds import Document, EntryChange, Kind
from opsapp.runtime.ascode.resolve import resolve
from opsapp.tree.root import Root
from opsapp.wire.kinds import DeclaredField, ListOf
from opsapp.wire.records import DeclaredObject, made

from .fields import Body, anything, flag, list_of, map_of, text
from .records import Applied, ChangeRecord, WaitingRecord

MOST = 20_000  # entries of one kind in one document
MOST_BYTES = 16 << 20  # of a body with a document: 5,000 monitors with four months of history


class Reference(Body):
    """Where the sender has read a value (`["monitors", "0", "url"]`), and what the document says there."""

    place = list_of(text(1, 1000), 50)
    text = text(1, 20_000)


class Apply(Body):
    """`document` is checked by the kinds' own schemas. `seen`: the `stamp` of each change that a dry run has told;
    should another change be due by now, nothing is done (409)."""

    sample = {"document": {"monitors": [{"name": "shop", "type": "http", "url": "https://shop.example.org/"}]}}

    document = map_of(anything())
    dry_run = flag(default=False)
    prune = flag(default=False)
    references = list_of(Reference, 100_000, default=())
    seen = list_of(text(1, 64), 200_000, default=None, null=True)


def judged(registry: Any, document: Any) -> tuple[Document, dict[str, str]]:
    """The document as the kinds' schemas want it (None for a wrong entry), and all that is wrong by its path."""
    wrong: dict[str, str] = {}
    lists = {kind.name: ListOf(_entry_of(kind.schema), MOST) for kind in registry.opsapp_kinds}
    sound = {
        name: lists[name].read(given, name, wrong)
        for name, given in document.items()
        if name in lists and given is not None
    }
    return sound, wrong | {name: "is not known here" for name in document if name not in lists}


def _entry_of(schema: Any) -> DeclaredField:
    return DeclaredField("", DeclaredObject(schema)) if is_dataclass(schema) else schema()


class AskedFor(NamedTuple):
    document: JsonObject
    dry_run: bool
    prune: bool
    references: Mapping[Place, str]
    seen: Sequence[str] | None = None

    @classmethod
    def of_body(cls, body: JsonObject) -> AskedFor:
        places = {tuple(given["place"]): given["text"] for given in body["references"]}
        return cls(body["document"], body["dry_run"], body["prune"], places, body["seen"])


def apply(root: Root, node: Any, registry: Any, asked: AskedFor, asker: ApplyingActor) -> AppliedDocument:
    """Transaction function: see `opsapp.runtime.ascode.apply`. After a dry run the caller's transaction is to be
    aborted."""
    declared = registry.opsapp_kinds
    resolved = resolve(root, node, declared, asked.document, asked.references)
    document, mistakes = judged(registry, resolved.document)
    mistakes |= resolved.wrong
    wanted = Wanted(document, mistakes, resolved.held, resolved.secrets, asked.prune, asked.seen)
    return make_true(root, node, declared, wanted, asker)


def answer(outcome: AppliedDocument, *, dry_run: bool) -> Applied:
    changes = tuple(_record(change, dry_run=dry_run) for change in outcome.changes)
    waiting = tuple(WaitingRecord(*entry) for entry in outcome.waiting)
    return Applied(changes, outcome.unchanged, waiting, dry_run)


def _record(change: EntryChange, *, dry_run: bool) -> ChangeRecord:
    record = made(ChangeRecord, {**change._asdict(), "once": dict(change.once)})
    return replace(record, id=None, once={}) if dry_run and change.change == kinds.CREATE else record


def add_kind(config: Configurator, name: str, actions: Any, *, schema: type, **more: Any) -> None:
    kind = Kind(name, config.maybe_dotted(actions), schema, **more)
    if any(other.name == name for other in config.registry.opsapp_kinds):
        raise ValueError(f"kind {name!r} is declared twice")
    config.registry.opsapp_kinds.append(kind)
    config.registry.opsapp_kinds.sort(key=lambda known: known.names)


def includeme(config: Configurator) -> None:
    config.registry.opsapp_kinds = []
    config.add_body_limit("POST", "/api/apply", MOST_BYTES)
    config.add_directive("add_kind", add_kind)
    config.add_evolve_step("runtime-8-as-code", references.set_up, reversible=True)
