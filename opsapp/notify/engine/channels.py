"""Channels made, changed and dropped: by the API, by the YAML, as code. Transactions; plain values in and out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Invalid
from opsapp.notify.logic import addresses
from opsapp.notify.logic.settings import NotificationSettings
from opsapp.notify.resources import Channel, channels_of, deliveries_of
from opsapp.notify.resources.channels import SHOWN, add_channel, change_channel, readdress
from opsapp.runtime.config import Configuration
from opsapp.runtime.node import node_of
from opsapp.runtime.seals import seal_of
from opsapp.runtime.wakes import wake_after_commit
from opsapp.tree.root import Root

from .courier import service_of
from .settings import SENDING


def create(root: Root, given: JsonObject, source: str = "api") -> Channel:
    """`given` as the schema makes it, the URL included. Invalid when Apprise does not know the URL."""
    now = node_of(root).clock.now()
    return add_channel(root, fields_of(given), given["url"], service_of(given["url"]), source, now)


def change(root: Root, channel: Channel, given: JsonObject, source: str = "api") -> None:
    """What is given over what is stored."""
    if "url" in given and given["url"] != channel.address(seal_of(root)):
        readdress(root, channel, given["url"], service_of(given["url"]))
        for delivery in deliveries_of(root).waiting_for(channel.id):
            delivery.taken = ()  # others are asked now
    change_channel(root, channel, fields_of(given), source)
    wake_after_commit(root, SENDING)


def delete(root: Root, channel: Channel) -> None:
    """It goes, and what waits for it goes nowhere."""
    log_of, now = deliveries_of(root), node_of(root).clock.now()
    for delivery in log_of.waiting_for(channel.id):
        log_of.end(delivery, "dropped", now, "the channel is gone")
    del channels_of(root)[channel.id]


def with_url(given: JsonObject) -> JsonObject:
    """The same with the URL in place of a type and its fields, which `wrong_address` has found sound."""
    rest = {name: value for name, value in given.items() if name not in ("type", "address")}
    typed = "address" in given
    return {**rest, "url": addresses.address_of(given["type"], given["address"])} if typed else rest


def wrong_address(given: JsonObject, *, needed: bool = False) -> dict[str, str]:
    """What is wrong with where the messages are to go, if that is given; Apprise has the last word. A type alone is
    what an answer shows, and says nothing."""
    if "address" in given:
        return _wrong_fields(given)
    if "url" in given:
        return _unknown(given["url"], "url")
    if needed:
        return {"address": "is required too"} if "type" in given else {"url": "is required, or type and address"}
    return {}


def _wrong_fields(given: JsonObject) -> dict[str, str]:
    if "url" in given:
        return {"address": "must be left out when there is a url"}
    if "type" not in given:
        return {"type": "is required too"}
    wrong = addresses.wrong_fields(given["type"], given["address"])
    return {f"address.{name}": message for name, message in wrong.items()} or _unknown(
        with_url(given)["url"], "address"
    )


def _unknown(url: str, field: str) -> dict[str, str]:
    try:
        service_of(url)
    except Invalid as wrong:
        return {field: "makes no address that this service takes: look at it again"} if field != "url" else wrong.fields
    return {}


def fields_of(given: JsonObject) -> JsonObject:
    """Everything but the URL, in one form whether it came from JSON, YAML or a schema's default."""
    return {name: _plain(given[name]) for name in SHOWN if name in given}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    return list(value) if isinstance(value, list | tuple) else value


def declare(root: Root, config: Configuration) -> None:
    """Applier: the channels of the YAML, by name. One that the API has changed stays changed; one that is in the file
    no more goes."""
    wanted = {given["name"]: given for given in config[NotificationSettings].channels}
    for channel in channels_of(root).readable():
        if channel.source == "yaml" and channel.fields["name"] not in wanted:
            delete(root, channel)
    for name, given in wanted.items():
        present = channels_of(root).named(name)
        if present is None:
            create(root, given, "yaml")
        elif present.source == "yaml":
            change(root, present, given, "yaml")
