"""What can be written as code: the directive by which a room adds a kind, and the schema of the whole document.

A room's `includeme` says `config.add_kind("monitors", "opsapp.monitoring.engine.ascode", schema=NewMonitor)`;
the module has the functions that `opsapp.runtime.ascode.Actions` names.
"""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any

from pyramid.config import Configurator

from opsapp.runtime import ascode
from opsapp.runtime.ascode import Document, EntryChange, Kind
from opsapp.wire.kinds import DeclaredField, ListOf
from opsapp.wire.records import DeclaredObject

from .fields import Body, anything, choice, flag, list_of, map_of, text, whole

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


def record(change: EntryChange, *, dry_run: bool) -> dict[str, Any]:
    """As it is answered. What was made only to be undone has no id."""
    made_up = dry_run and change.change == ascode.CREATE
    return change._asdict() | ({"id": None} if made_up else {})


def add_kind(
    config: Configurator, name: str, actions: Any, *, schema: type, key: str = "name", names: bool = False
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
