"""Channels made, changed and dropped: by the API, by the YAML, as code. Transactions; plain values in and out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Invalid
from opsapp.notify.logic.settings import NotificationSettings
from opsapp.notify.resources import Channel, channels_of, deliveries_of
from opsapp.notify.resources.channels import SHOWN, add_channel, change_channel, readdress
from opsapp.runtime.config import Configuration
from opsapp.runtime.node import node_of
from opsapp.runtime.sealing import seal_of
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


def wrong_url(given: JsonObject) -> dict[str, str]:
    """What Apprise says of the URL, if one is given."""
    try:
        if "url" in given:
            service_of(given["url"])
    except Invalid as wrong:
        return dict(wrong.fields)
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
    for channel in list(channels_of(root).values()):
        if channel.source == "yaml" and channel.fields["name"] not in wanted:
            delete(root, channel)
    for name, given in wanted.items():
        present = channels_of(root).named(name)
        if present is None:
            create(root, given, "yaml")
        elif present.source == "yaml":
            change(root, present, given, "yaml")
