"""Where messages go. A channel's URL is sealed and never shown again."""

from __future__ import annotations

from typing import Any

from opsapp.lib.ids import new_id
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Conflict
from opsapp.notify.logic.addresses import type_of
from opsapp.notify.records import ChannelRecord
from opsapp.runtime.secrets.seals import Seal, seal_of
from opsapp.tree.folder import Folder, Record
from opsapp.tree.places import ApiPlace
from opsapp.tree.root import Root
from opsapp.wire.records import made, unsealed

PURPOSE = "notification channel"
MOST = 200


class Channels(Folder):
    """/api/notifications/channels"""

    url = "/api/notifications/channels"
    holds = "channel"

    def named(self, name: str) -> Channel | None:
        return next((channel for channel in self.values() if channel.record.name == name), None)


class Channel(Record):
    """`fields` is replaced whole; `source` is `api` or `yaml`."""

    url = "/api/notifications/channels/{channel_id}"
    rests_for = "critical"  # how severe that was which failed last; in older stores nobody knows

    def __init__(self, fields: JsonObject, sealed: str, service: str, source: str, now: float):
        self.fields = fields
        self.sealed = sealed
        self.service = service
        self.source = source
        self.created_at = now
        self.last: dict[str, int | str | None] = {}  # how the last attempts went: sent_at, failed_at, error
        self.rests_until = 0.0  # after a failed attempt

    @property
    def id(self) -> str:
        return self.__name__

    @property
    def record(self) -> ChannelRecord:
        about = {name: getattr(self, name) for name in ("id", "service", "source", "created_at")}
        last = {f"last_{name}": value for name, value in self.last.items()}
        return made(ChannelRecord, {**self.fields, **about, **last, "type": type_of(self.service)})

    def address(self, seal: Seal) -> str:
        return seal.open(self.sealed, PURPOSE)


channels_of = ApiPlace[Channels]("notifications", "channels")


def add_channel(root: Root, record: ChannelRecord, url: str, service: str, source: str, now: float) -> Channel:
    channel = Channel(unsealed(record), seal_of(root).seal(url, PURPOSE), service, source, now)
    place_channel(root, channel, new_id())
    return channel


def place_channel(root: Root, channel: Channel, channel_id: str) -> None:
    folder, name = channels_of(root), channel.fields["name"]
    if folder.named(name) is not None:
        raise Conflict(f"There is a channel {name!r} already.", code="name_taken")
    if len(folder.keys()) >= MOST:
        raise Conflict(f"There are {MOST} channels already.", code="too_many_channels")
    folder[channel_id] = channel


def change_channel(root: Root, channel: Channel, record: ChannelRecord, source: str) -> None:
    other = channels_of(root).named(record.name)
    if other is not None and other.id != channel.id:
        raise Conflict(f"There is a channel {record.name!r} already.", code="name_taken")
    channel.fields = {**channel.fields, **unsealed(record)}
    channel.source = source


def readdress(root: Root, channel: Channel, url: str, service: str) -> None:
    channel.sealed, channel.service, channel.last = seal_of(root).seal(url, PURPOSE), service, {}
    channel.rests_until = 0.0


def reseal(root: Root, anew: Any) -> None:
    """Seal the addresses of channels with another key, for `opsapp rekey`."""
    for channel in channels_of(root).values():
        channel.sealed = anew(channel.sealed, PURPOSE)
