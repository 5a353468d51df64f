"""Monitors as code (`opsapp.runtime.ascode`). A name twice means two monitors, in the order they were made."""

from __future__ import annotations

from collections.abc import Iterator

from opsapp.lib.addresses import public, public_text, restored_fields
from opsapp.lib.jsontypes import JsonObject
from opsapp.monitoring.logic.settings import MonitoringSettings, MonitorSettings, problems
from opsapp.monitoring.logic.settings import complete as with_defaults
from opsapp.monitoring.resources import monitors_of
from opsapp.runtime.ascode.kinds import StoredEntry
from opsapp.runtime.node import Node
from opsapp.tree.root import Root
from opsapp.wire.records import settings_of

from . import changes
from .watch import register_of

RECORD = MonitorSettings


def stored(_node: Node, root: Root) -> Iterator[StoredEntry]:
    for monitor in sorted(monitors_of(root).whole(), key=lambda monitor: (monitor.created_at, monitor.series)):
        yield StoredEntry(monitor.id, dict(monitor.settings))


def complete(node: Node, _root: Root, given: JsonObject, present: JsonObject | None) -> JsonObject:
    settings = with_defaults(restored_fields(given, present), node.config[MonitoringSettings].defaults)
    changes.refuse(problems(settings))
    return settings.stored()


shown = public


def exported(node: Node, root: Root) -> Iterator[JsonObject]:
    """The monitors as code, from memory where it has all. What is set alike is looked through once."""
    register = register_of(node)
    if not register.stands_for(root):
        yield from (shown(entry.fields) for entry in stored(node, root))
        return
    alike: dict[int, JsonObject] = {}
    for entry in sorted(register.entries.values(), key=lambda entry: (entry.created_at, entry.series)):
        fields = alike.get(id(entry.settings))
        if fields is None:
            fields = alike[id(entry.settings)] = shown(settings_of(entry.settings))
            del fields["type"]  # the last of all
        named = {"name": public_text(entry.name), "type": entry.settings.type}
        yield {"url": public_text(entry.target.url), **fields, **named}


def create(node: Node, root: Root, entry: MonitorSettings) -> str:
    return changes.create(root, entry, node.series.numbers.take()[0], node.clock.now())


def update(node: Node, root: Root, monitor_id: str, entry: MonitorSettings) -> None:
    changes.update(root, monitors_of(root)[monitor_id], entry, node.clock.now())


def delete(node: Node, root: Root, monitor_id: str) -> None:
    changes.delete(root, monitors_of(root)[monitor_id], node.clock.now())
