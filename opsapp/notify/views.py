"""/api/notifications: channels, and what became of every message. For admins: a channel leads out of the house."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.web import api
from opsapp.web.answers import later
from opsapp.web.deletions import undoable
from opsapp.web.fields import Paging
from opsapp.web.listpages import counted, page_of
from opsapp.web.schemas import Deleted
from opsapp.wire.records import changed, extended, made, plain

from .engine import channels as engine
from .engine.dispatch import begin_test
from .engine.workers import sender_of
from .logic.addresses import TYPES, ChannelDescription
from .records import (
    ChannelAddress,
    ChannelQuery,
    ChannelRecord,
    ChannelUpdated,
    DeliveryQuery,
    DeliveryRecord,
    GivenChannel,
    Tested,
)
from .resources import Channel, Channels, Deliveries, Delivery, Notifications


@api.get(Notifications, "types", role="admin", query=Paging, returns=[ChannelDescription])
def types(context: Notifications, request: Request) -> Any:
    """The types of channels that have fields of their own, for `type` and `address`."""
    return page_of(request, [plain(kind, ChannelDescription) for kind in TYPES])


@api.get(Channels, role="admin", query=ChannelQuery, returns=[ChannelRecord])
def listing(context: Channels, request: Request) -> Any:
    """All channels, or those with these letters in their name; by name, or those that failed last first (`sort`:
    `failed`). Their URLs are never shown."""
    query = made(ChannelQuery, request.valid_query)
    named = (channel.record for channel in context.values() if query.has(channel.record.name))
    return page_of(request, sorted(named, key=query.place))


@api.create(
    Channels,
    role="admin",
    body=GivenChannel,
    also=lambda context, request, sound: engine.wrong(request.root, sound, None),
    returns=ChannelRecord,
    audit="channel.create",
)
def create(context: Channels, request: Request) -> Any:
    """A new channel: a type with its fields, or any URL that Apprise knows."""
    given = request.valid_body
    channel = engine.create(request.root, made(ChannelRecord, given), made(ChannelAddress, given).full)
    request.audit("channel.create", channel.id, after=channel.fields)
    return channel.record


@api.get(Channel, role="admin", returns=ChannelRecord)
def show(context: Channel, request: Request) -> Any:
    """One channel, without its secret."""
    return context.record


@api.update(
    Channel,
    role="admin",
    body=GivenChannel,
    also=lambda context, request, sound: engine.wrong(request.root, sound, context),
    read_only=ChannelRecord,
    returns=ChannelUpdated,
    audit="channel.update",
)
def update(context: Channel, request: Request) -> Any:
    """Changes what is given, and leaves the rest."""
    before, given = context.fields, request.valid_body
    engine.change(request.root, context, changed(context.record, given), made(ChannelAddress, given).full)
    request.audit("channel.update", context.id, before=before, after=context.fields)
    return extended(ChannelUpdated, context.record)


@api.delete(Channel, role="admin", returns=Deleted, audit="channel.delete", undoes=True)
def delete(context: Channel, request: Request) -> Deleted:
    """What waits for the channel is dropped; the log of its deliveries stays."""
    request.audit("channel.delete", context.id, before=context.fields)
    engine.delete(request.root, context)
    undoable(request, "channel", context.record.name, context.id, context)
    return Deleted()


@api.act(Channel, "test", role="admin", returns=Tested, errors=(502,), audit="channel.test")
def test(context: Channel, request: Request) -> Any:
    """Sends a message now, whatever the channel's hours, and answers with what became of it."""
    letter = begin_test(request.root, context, request.caller.name, request.now)
    sender = sender_of(request.node)
    request.audit("channel.test", context.id, after={"name": context.record.name})

    def sent() -> Any:
        sender.test(letter)
        return plain(Tested("sent", letter.delivery_id))

    return later(sent)


@api.get(Deliveries, role="admin", query=DeliveryQuery, returns=[DeliveryRecord])
def log(context: Deliveries, request: Request) -> Any:
    """What became of every message, newest first."""
    query = made(DeliveryQuery, request.valid_query)
    page, total = context.page(query.status, query.channel_id, query.limit, query.offset)
    return counted(request, [delivery.record for delivery in page], total)


@api.get(Delivery, role="admin", returns=DeliveryRecord)
def delivery(context: Delivery, request: Request) -> Any:
    """One message and its attempts."""
    return context.record
