"""Channels made, changed and dropped: by the API, by the YAML, as code. Transactions."""

from __future__ import annotations

from opsapp.auth.resources import find_enabled
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Invalid
from opsapp.notify.logic import addresses
from opsapp.notify.logic.settings import NotificationSettings
from opsapp.notify.records import ChannelAddress, ChannelRecord
from opsapp.notify.resources import Channel, channels_of, deliveries_of
from opsapp.notify.resources.channels import add_channel, change_channel, place_channel, readdress
from opsapp.runtime.config import Configuration
from opsapp.runtime.node import now_of
from opsapp.runtime.secrets.seals import seal_of
from opsapp.runtime.wakes import wake_after_commit
from opsapp.tree.root import Root
from opsapp.wire.records import made

from .courier import service_of
from .settings import SENDING


def create(root: Root, record: ChannelRecord, url: str, source: str = "api") -> Channel:
    """Invalid when Apprise does not know the URL."""
    return add_channel(root, record, url, service_of(url), source, now_of(root))


def change(root: Root, channel: Channel, record: ChannelRecord, url: str, source: str = "api") -> None:
    """`url` empty: it stays where it is."""
    if url and url != channel.address(seal_of(root)):
        readdress(root, channel, url, service_of(url))
        for delivery in deliveries_of(root).waiting_for(channel.id):
            delivery.taken = ()  # others are asked now
    change_channel(root, channel, record, source)
    wake_after_commit(root, SENDING)


def delete(root: Root, channel: Channel) -> None:
    """What waits for it goes nowhere."""
    log_of, now = deliveries_of(root), now_of(root)
    for delivery in log_of.waiting_for(channel.id):
        log_of.end(delivery, "dropped", now, "the channel is gone")
    del channels_of(root)[channel.id]


def put_back(root: Root, channel: Channel) -> None:
    """What waited for it was dropped, and stays so."""
    place_channel(root, channel, channel.id)


def wrong(root: Root, sound: JsonObject, channel: Channel | None) -> dict[str, str]:
    """What no field shows alone."""
    named, wrong = sound.get("answers_as"), wrong_address(made(ChannelAddress, sound), needed=channel is None)
    stays = channel is not None and named == channel.record.answers_as
    if named and not stays and find_enabled(root, named) is None:
        wrong["answers_as"] = "there is no such user"
    return wrong


def wrong_address(given: ChannelAddress, *, needed: bool = False) -> dict[str, str]:
    """Problems by field. Apprise has the last word about an address. A type alone is what an answer shows, and changes
    nothing."""
    if given.address is not None:
        return _wrong_fields(given, given.address)
    if given.url:
        return _unknown(given, "url")
    if needed:
        return {"address": "is required too"} if given.type else {"url": "is required, or type and address"}
    return {}


def _wrong_fields(given: ChannelAddress, fields: dict[str, str]) -> dict[str, str]:
    if given.url:
        return {"address": "must be left out when there is a url"}
    if not given.type:
        return {"type": "is required too"}
    wrong = addresses.wrong_fields(given.type, fields)
    return {f"address.{name}": message for name, message in wrong.items()} or _unknown(given, "address")


def _unknown(given: ChannelAddress, field: str) -> dict[str, str]:
    try:
        service_of(given.full)
    except Invalid as wrong:
        return {field: "makes no address that this service takes: look at it again"} if field != "url" else wrong.fields
    return {}


def declare(root: Root, config: Configuration) -> None:
    """The channels of the YAML, by name. One that the API has changed stays changed; one that is in the file no more
    goes."""
    wanted = {record.name: record for record in config[NotificationSettings].channels}
    for channel in channels_of(root).values():
        if channel.source == "yaml" and channel.record.name not in wanted:
            delete(root, channel)
    for name, record in wanted.items():
        present = channels_of(root).named(name)
        if present is None:
            create(root, record, record.url, "yaml")
        elif present.source == "yaml":
            change(root, present, record, record.url, "yaml")
