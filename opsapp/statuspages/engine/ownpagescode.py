"""Pages of their own as code (see `opsapp.runtime.ascode`), by their path; groups name monitors."""

from __future__ import annotations

from collections.abc import Iterator

from opsapp.lib.jsontypes import JsonObject
from opsapp.monitoring.names import ids_by_name, names_by_id
from opsapp.runtime.ascode.kinds import StoredEntry, looked_up
from opsapp.runtime.node import Node
from opsapp.statuspages.records import OwnPageAsCode, OwnPageRecord
from opsapp.tree.root import Root
from opsapp.wire.records import made, settings_of

from . import ownpages
from .ascode import refuse_unknown, renamed


def stored(_node: Node, root: Root) -> Iterator[StoredEntry]:
    pages = ownpages.records(root)
    names = names_by_id(root) if pages else {}
    for page in pages:
        yield StoredEntry(page.slug, settings_of(renamed(made(OwnPageAsCode, settings_of(page)), names)))


def complete(_node: Node, root: Root, given: JsonObject, _present: JsonObject | None) -> JsonObject:
    page = made(OwnPageAsCode, given)
    refuse_unknown(root, page.groups)
    return settings_of(page)


def create(_node: Node, root: Root, entry: OwnPageAsCode) -> str:
    return ownpages.create(root, made(OwnPageRecord, _with_ids(root, entry))).slug


def update(_node: Node, root: Root, slug: str, entry: OwnPageAsCode) -> None:
    ownpages.change(root, slug, _with_ids(root, entry))


def delete(_node: Node, root: Root, slug: str) -> None:
    ownpages.let_go(root, ownpages.delete(root, slug))


def _with_ids(root: Root, entry: OwnPageAsCode) -> dict[str, object]:
    return settings_of(renamed(entry, looked_up(root, ids_by_name)))
