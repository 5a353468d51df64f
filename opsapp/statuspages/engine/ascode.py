"""The page as code (see `opsapp.runtime.ascode`): one entry, whose groups name monitors. The logo is no part of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from opsapp.lib.addresses import HIDDEN, restored
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Invalid
from opsapp.monitoring.resources import monitors_of
from opsapp.runtime.ascode import StoredEntry
from opsapp.runtime.node import Node
from opsapp.runtime.seals import seal_of
from opsapp.statuspages.logic.settings import DEFAULTS
from opsapp.statuspages.resources import MAIL_SERVER, store_of
from opsapp.tree.root import Root

from . import settings

PAGE = "public"


def stored(_node: Node, root: Root) -> Iterator[StoredEntry]:
    """Nothing, as long as nobody has said anything of the page."""
    store, fields = store_of(root), settings.settings_of(root)
    server = store.mail_server and seal_of(root).open(store.mail_server, MAIL_SERVER)
    if fields == DEFAULTS and server is None:
        return
    names = _names(root)
    groups = [
        {"name": group["name"], "collapsed": group["collapsed"],
         "monitors": [names.get(monitor_id, monitor_id) for monitor_id in group["monitors"]]}
        for group in fields["groups"]
    ]  # fmt: skip
    yield StoredEntry(PAGE, {"page": PAGE, **fields, "groups": groups, "mail_server": server})


def complete(_node: Node, root: Root, given: JsonObject, present: JsonObject | None) -> JsonObject:
    groups = [{**group, "monitors": list(group["monitors"])} for group in given["groups"]]
    named = {name for group in groups for name in group["monitors"]}
    missing = sorted(named - _ids(root).keys())
    if missing:
        raise Invalid({"groups": "no monitor, or several, of this name: " + ", ".join(missing[:10])})
    server = restored(given["mail_server"], present["mail_server"] if present else None, "mail_server")
    return {**given, "groups": groups, "subscribe_by": sorted(given["subscribe_by"]), "mail_server": server}


def shown(fields: JsonObject) -> JsonObject:
    return {**fields, "mail_server": HIDDEN if fields["mail_server"] else None}


def create(_node: Node, root: Root, fields: JsonObject) -> str:
    ids = _ids(root)
    groups = [{**group, "monitors": [ids[name] for name in group["monitors"]]} for group in fields["groups"]]
    settings.change(root, {**fields, "groups": groups})
    return PAGE


def update(node: Node, root: Root, _page: str, fields: JsonObject) -> None:
    create(node, root, fields)


def delete(_node: Node, root: Root, _page: str) -> None:
    settings.change(root, {**DEFAULTS, "mail_server": None})


def _names(root: Root) -> dict[str, str]:
    """By id; where several monitors share a name, its id is the name."""
    names = {monitor.id: monitor.settings["name"] for monitor in monitors_of(root).values()}
    called = Counter(names.values())
    return {monitor_id: name if called[name] == 1 else monitor_id for monitor_id, name in names.items()}


def _ids(root: Root) -> dict[str, str]:
    """The way back: by name, and by id."""
    names = _names(root)
    return {**{name: monitor_id for monitor_id, name in names.items()}, **{known_id: known_id for known_id in names}}
