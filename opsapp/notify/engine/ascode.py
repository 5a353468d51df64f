"""Channels as code (see `opsapp.runtime.ascode`), by name. A URL is a secret: it is never exported."""

from __future__ import annotations

from collections.abc import Iterator

from opsapp.lib.addresses import restored_settings
from opsapp.lib.jsontypes import JsonObject
from opsapp.notify.records import ChannelAsCode, ChannelRecord
from opsapp.notify.resources import channels_of
from opsapp.runtime.ascode.kinds import StoredEntry
from opsapp.runtime.node import Node
from opsapp.runtime.secrets.seals import seal_of
from opsapp.tree.root import Root
from opsapp.wire.records import made, settings_of

from . import channels
from .courier import service_of


def stored(_node: Node, root: Root) -> Iterator[StoredEntry]:
    for channel in sorted(channels_of(root).whole(), key=lambda channel: (channel.created_at, channel.id)):
        fields = {**settings_of(channel.record), "url": channel.address(seal_of(root))}
        yield StoredEntry(channel.id, fields, channel.source == "api")


def complete(_node: Node, _root: Root, given: JsonObject, present: JsonObject | None) -> JsonObject:
    fields = restored_settings(ChannelAsCode, settings_of(made(ChannelAsCode, given)), present)
    if present is None or fields["url"] != present["url"]:
        service_of(fields["url"])
    return fields


def create(_node: Node, root: Root, entry: ChannelAsCode) -> str:
    return channels.create(root, _settings(entry), entry.url).id


def update(_node: Node, root: Root, channel_id: str, entry: ChannelAsCode) -> None:
    channels.change(root, channels_of(root)[channel_id], _settings(entry), entry.url)


def _settings(entry: ChannelAsCode) -> ChannelRecord:
    return made(ChannelRecord, settings_of(entry))


def delete(_node: Node, root: Root, channel_id: str) -> None:
    channels.delete(root, channels_of(root)[channel_id])
