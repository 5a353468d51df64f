"""Inlets as code (see `opsapp.runtime.ascode`), by name. A document may give the token, best as a reference; without
one the service makes it and shows the address once. Only the digest is known, and none is exported."""

from __future__ import annotations

from collections.abc import Iterator

from opsapp.healing.records import InletAsCode
from opsapp.healing.resources import healing_of
from opsapp.lib.ids import digest
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Conflict
from opsapp.runtime.ascode.kinds import MadeEntry, StoredEntry
from opsapp.runtime.node import Node
from opsapp.tree.root import Root
from opsapp.wire.records import made, settings_of

from . import inlets

BY = "code"
TOKEN = "token"


def stored(_node: Node, root: Root) -> Iterator[StoredEntry]:
    for inlet in sorted(healing_of(root).inlets.whole(), key=lambda inlet: (inlet.created_at, inlet.__name__)):
        mapping = {**inlets.MAPPING, **inlet.mapping}
        yield StoredEntry(inlet.__name__, {"name": inlet.name, "mapping": mapping, TOKEN: inlet.token_digest})


def complete(_node: Node, _root: Root, given: JsonObject, present: JsonObject | None) -> JsonObject:
    fields = settings_of(made(InletAsCode, given))
    token = fields[TOKEN]
    known = None if present is None else present[TOKEN]
    return {**fields, TOKEN: known if token is None else digest(str(token))}


def shown(fields: JsonObject) -> JsonObject:
    return {name: value for name, value in fields.items() if name != TOKEN}


def create(node: Node, root: Root, entry: InletAsCode) -> MadeEntry:
    now, mapping = node.clock.now(), _labels(entry)
    if entry.token is not None:
        return MadeEntry(inlets.create_for(root, entry.name, mapping, _free(root, entry.token), BY, now).__name__, {})
    new = inlets.create(root, entry.name, mapping, BY, now)
    return MadeEntry(new.inlet.__name__, {"url": f"/api/healing/events/{new.token}"})


def update(_node: Node, root: Root, inlet_id: str, entry: InletAsCode) -> None:
    inlet = healing_of(root).inlets[inlet_id]
    inlets.change(root, inlet, entry.name, _labels(entry))
    if entry.token is not None and inlet.token_digest != entry.token:
        inlets.change_token(root, inlet, _free(root, entry.token))


def delete(_node: Node, root: Root, inlet_id: str) -> None:
    inlets.remove(root, healing_of(root).inlets[inlet_id])


def _labels(entry: InletAsCode) -> dict[str, str]:
    return {name: str(label) for name, label in settings_of(entry.mapping).items()}


def _free(root: Root, token_digest: str) -> str:
    if healing_of(root).inlets.of_token(token_digest) is not None:
        raise Conflict("Another inlet has this token.", code="name_taken")
    return token_digest
