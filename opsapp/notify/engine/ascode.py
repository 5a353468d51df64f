"""Channels as code (see `opsapp.runtime.ascode`), by name. A URL is a secret: it is never exported."""

from __future__ import annotations

from collections.abc import Iterator

from opsapp.lib.addresses import HIDDEN, restored
from opsapp.lib.jsontypes import JsonObject
from opsapp.notify.resources import channels_of
from opsapp.runtime.ascode import StoredEntry
from opsapp.runtime.node import Node
from opsapp.runtime.seals import seal_of
from opsapp.tree.root import Root

from . import channels
from .courier import service_of


def stored(_node: Node, root: Root) -> Iterator[StoredEntry]:
    for channel in sorted(channels_of(root).values(), key=lambda channel: (channel.created_at, channel.id)):
        fields = {**channel.fields, "url": channel.address(seal_of(root))}
        yield StoredEntry(channel.id, fields, channel.source == "api")


def complete(_node: Node, _root: Root, given: JsonObject, present: JsonObject | None) -> JsonObject:
    url = restored(given["url"], present["url"] if present else None, "url")
    if present is None or url != present["url"]:
        service_of(url)
    return {**channels.fields_of(given), "url": url}


def shown(fields: JsonObject) -> JsonObject:
    return {**fields, "url": HIDDEN}


def create(_node: Node, root: Root, fields: JsonObject) -> str:
    return channels.create(root, fields).id


def update(_node: Node, root: Root, channel_id: str, fields: JsonObject) -> None:
    channels.change(root, channels_of(root)[channel_id], fields)


def delete(_node: Node, root: Root, channel_id: str) -> None:
    channels.delete(root, channels_of(root)[channel_id])
