"""The page as code: one entry, whose groups name monitors. The logo is no part of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from opsapp.lib.addresses import restored_settings
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Invalid
from opsapp.monitoring.names import ids_by_name, names_by_id
from opsapp.monitoring.resources import monitors_of
from opsapp.runtime.ascode.kinds import StoredEntry, looked_up
from opsapp.runtime.node import Node
from opsapp.statuspages.logic.groups import GroupRecord
from opsapp.statuspages.records import OwnPageAsCode, PageAsCode, PageRecord
from opsapp.statuspages.resources import store_of
from opsapp.tree.root import Root
from opsapp.wire.records import made, settings_of

from . import settings

PAGE = "public"
P = TypeVar("P", PageAsCode, OwnPageAsCode)


def stored(_node: Node, root: Root) -> Iterator[StoredEntry]:
    store = store_of(root)
    fields = settings_of(store.page)
    if fields != settings_of(PageRecord()):
        page = renamed(made(PageAsCode, fields), names_by_id(root))
        yield StoredEntry(PAGE, settings_of(replace(page, mail_server=store.mail_address(root))))


def complete(_node: Node, root: Root, given: JsonObject, present: JsonObject | None) -> JsonObject:
    page = made(PageAsCode, given)
    refuse_unknown(root, page.groups)
    fields = settings_of(replace(page, subscribe_by=tuple(sorted(page.subscribe_by))))
    return restored_settings(PageAsCode, fields, present)


def refuse_unknown(root: Root, groups: Iterable[GroupRecord]) -> None:
    named = {name for group in groups for name in group.monitors if name not in monitors_of(root)}
    missing = sorted(named - looked_up(root, ids_by_name).keys()) if named else []
    if missing:
        raise Invalid({"groups": "no monitor, or several, of this name: " + ", ".join(missing[:10])})


def create(_node: Node, root: Root, entry: PageAsCode) -> str:
    settings.change(root, settings_of(renamed(entry, looked_up(root, ids_by_name))))
    return PAGE


def update(node: Node, root: Root, _page: str, entry: PageAsCode) -> None:
    create(node, root, entry)


def delete(_node: Node, root: Root, _page: str) -> None:
    settings.change(root, settings_of(PageRecord()))


def renamed(page: P, names: dict[str, str]) -> P:
    """Names of monitors in place of ids, or the other way round; what has none stays."""
    groups = (
        replace(group, id="", monitors=tuple(names.get(monitor, monitor) for monitor in group.monitors))
        for group in page.groups
    )
    return replace(page, groups=tuple(groups))
