"""What can be written as code: the directive by which a room adds a kind, and the schema of the whole document.

A room's `includeme` says `config.add_kind("monitors", "opsapp.monitoring.engine.ascode", schema=schemas.NewMonitor)`;
the module has the functions that `opsapp.runtime.ascode.Actions` names.
"""

from __future__ import annotations

from typing import Any

import colander
from pyramid.config import Configurator

from opsapp.runtime import ascode
from opsapp.runtime.ascode import Document, EntryChange, Kind

from .fields import Body, anything, choice, flag, list_of, map_of, text, whole
from .strict import ListOf, fields_of

MOST = 20_000  # entries of one kind in one document


class Apply(Body):
    """`document` is checked by the kinds' own schemas."""

    document = map_of(anything())
    dry_run = flag(default=False)
    prune = flag(default=False)


class ChangeRecord(Body):
    kind = text()
    change = choice(ascode.CREATE, ascode.UPDATE, ascode.DELETE)
    key = text()
    id = text(null=True)
    before = map_of(anything())
    after = map_of(anything())
    secrets = flag()


class Applied(Body):
    changes = list_of(ChangeRecord)
    unchanged = whole(0)
    dry_run = flag()


def judged(registry: Any, document: Any) -> tuple[Document, dict[str, str]]:
    """The document with every entry as its kind's schema wants it, and all that is wrong by its path; None stands for
    an entry that is wrong."""
    schema = Body()
    for kind in registry.opsapp_kinds:
        schema.add(colander.SchemaNode(ListOf(kind.schema(), MOST), name=kind.name, missing=colander.drop))
    try:
        return schema.deserialize(document), {}
    except colander.Invalid as problem:
        named = document if isinstance(document, dict) else {}
        listed = {kind.name: (kind.schema(), named.get(kind.name)) for kind in registry.opsapp_kinds}
        sound = {name: [_sound(of_kind, entry) for entry in given] for name, (of_kind, given) in listed.items()
                 if isinstance(given, list)}  # fmt: skip
        return sound, fields_of(problem)


def _sound(schema: Body, entry: Any) -> dict[str, Any] | None:
    try:
        return schema.deserialize(entry)
    except colander.Invalid:
        return None


def record(change: EntryChange, *, dry_run: bool) -> dict[str, Any]:
    """As it is answered. What was made only to be undone has no id."""
    made_up = dry_run and change.change == ascode.CREATE
    return change._asdict() | ({"id": None} if made_up else {})


def add_kind(
    config: Configurator, name: str, actions: Any, *, schema: type[Body], key: str = "name", names: bool = False
) -> None:
    """Directive: things of this kind can be written as code."""
    kind = Kind(name, config.maybe_dotted(actions), schema, key, names)
    if any(other.name == name for other in config.registry.opsapp_kinds):
        raise ValueError(f"kind {name!r} is declared twice")
    config.registry.opsapp_kinds.append(kind)
    config.registry.opsapp_kinds.sort(key=lambda known: known.names)


def includeme(config: Configurator) -> None:
    config.registry.opsapp_kinds = []
    config.add_directive("add_kind", add_kind)
