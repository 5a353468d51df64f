"""Rules as code (see `opsapp.runtime.ascode`). Those that come with opsapp or from the YAML can be changed by their
id; they are neither exported nor pruned."""

from __future__ import annotations

from collections.abc import Iterator

from opsapp.healing.records import DeclaredRule
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.rules import drop_rule, put_rule
from opsapp.lib.addresses import public, restored
from opsapp.lib.jsontypes import JsonObject
from opsapp.runtime.ascode.kinds import StoredEntry
from opsapp.runtime.node import Node
from opsapp.tree.root import Root
from opsapp.wire.records import made, settings_of


def stored(_node: Node, root: Root) -> Iterator[StoredEntry]:
    for rule in healing_of(root).rules.whole():
        yield StoredEntry(rule.__name__, {"id": rule.__name__, **rule.record.stored()}, rule.source == "api")


def complete(_node: Node, _root: Root, given: JsonObject, present: JsonObject | None) -> JsonObject:
    fields = settings_of(made(DeclaredRule, given))
    return {name: restored(value, (present or {}).get(name), name) for name, value in fields.items()}


shown = public


def create(node: Node, root: Root, entry: DeclaredRule) -> str:
    update(node, root, entry.id, entry)
    return entry.id


def update(node: Node, root: Root, rule_id: str, entry: DeclaredRule) -> None:
    put_rule(root, rule_id, entry, source="api", now=node.clock.now())


def delete(_node: Node, root: Root, rule_id: str) -> None:
    drop_rule(root, rule_id)
