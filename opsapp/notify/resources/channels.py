"""Channels: where messages go. A channel's URL is sealed and never shown again."""

from __future__ import annotations

from typing import Any

from opsapp.lib.ids import new_id
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Conflict
from opsapp.notify.logic.addresses import type_of
from opsapp.runtime.projection import readable
from opsapp.runtime.seals import Seal, seal_of
from opsapp.tree.folder import Folder, Record
from opsapp.tree.root import Root

PURPOSE = "notification channel"
MOST = 200
SHOWN = ("name", "enabled", "severities", "tags", "quiet_hours", "digest_s")


class Channels(Folder):
    """/api/notifications/channels"""

    url = "/api/notifications/channels"

    def named(self, name: str) -> Channel | None:
        return next((channel for channel in self.readable() if channel.fields["name"] == name), None)

    def readable(self) -> list[Channel]:
        return [channel for _, channel in readable(self, "channel")]


class Channel(Record):
    """/api/notifications/channels/{id}. `fields` is replaced whole; `source` is `api` or `yaml`."""

    url = "/api/notifications/channels/{channel_id}"
    rests_for = "critical"  # how severe that was which failed last; in older stores nobody knows

    def __init__(self, fields: JsonObject, sealed: str, service: str, source: str, now: float):
        self.fields = fields
        self.sealed = sealed
        self.service = service
        self.source = source
        self.created_at = now
        self.last: JsonObject = {}  # how the last attempts went: sent_at, failed_at, error
        self.rests_until = 0.0  # after a failed attempt

    @property
    def id(self) -> str:
        return self.__name__

    def plain(self) -> JsonObject:
        return {
            "id": self.id,
            **{name: self.fields[name] for name in SHOWN},
            "service": self.service,
            "type": type_of(self.service),
            "source": self.source,
            "created_at": int(self.created_at),
            "last_sent_at": self.last.get("sent_at"),
            "last_failed_at": self.last.get("failed_at"),
            "last_error": self.last.get("error"),
        }

    def address(self, seal: Seal) -> str:
        return seal.open(self.sealed, PURPOSE)


def channels_of(root: Root) -> Channels:
    return root["api"]["notifications"]["channels"]


def add_channel(root: Root, fields: JsonObject, url: str, service: str, source: str, now: float) -> Channel:
    folder = channels_of(root)
    if folder.named(fields["name"]) is not None:
        raise Conflict(f"There is a channel {fields['name']!r} already.", code="name_taken")
    if len(folder.keys()) >= MOST:
        raise Conflict(f"There are {MOST} channels already.", code="too_many_channels")
    channel = Channel(fields, seal_of(root).seal(url, PURPOSE), service, source, now)
    folder[new_id()] = channel
    return channel


def change_channel(root: Root, channel: Channel, fields: JsonObject, source: str) -> None:
    """Fields over those that are stored."""
    other = channels_of(root).named(fields.get("name") or channel.fields["name"])
    if other is not None and other.id != channel.id:
        raise Conflict(f"There is a channel {fields['name']!r} already.", code="name_taken")
    channel.fields = {**channel.fields, **fields}
    channel.source = source


def readdress(root: Root, channel: Channel, url: str, service: str) -> None:
    channel.sealed, channel.service, channel.last = seal_of(root).seal(url, PURPOSE), service, {}
    channel.rests_until = 0.0


def reseal(root: Root, anew: Any) -> None:
    """For `opsapp rekey`: every sealed URL once more."""
    for channel in channels_of(root).readable():
        channel.sealed = anew(channel.sealed, PURPOSE)
