"""/api/notifications: channels, and what became of every message. For admins: a channel leads out of the house."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request

from opsapp.lib.jsontypes import JsonObject
from opsapp.web import api
from opsapp.web.answers import Deferred
from opsapp.web.fields import Paging
from opsapp.web.listpages import page_of
from opsapp.web.schemas import Deleted

from . import schemas
from .engine import channels as engine
from .engine.dispatch import begin_test
from .engine.workers import sender_of
from .logic.addresses import TYPES, AddressField
from .resources import Channel, Channels, Deliveries, Delivery, Notifications


@api.get(Notifications, "types", role="admin", query=Paging, returns=[schemas.ChannelTypeShown])
def types(context: Notifications, request: Request) -> Any:
    """The types of channels that have fields of their own, for `type` and `address`."""
    rows = [
        {"name": kind.name, "title": kind.title, "hint": kind.hint, "fields": [_plain(field) for field in kind.fields]}
        for kind in TYPES
    ]
    return page_of(request, rows)


def _plain(field: AddressField) -> JsonObject:
    return field._asdict() | {"choices": list(field.choices)}


@api.get(Channels, role="admin", query=schemas.ChannelList, returns=[schemas.ChannelRecord])
def listing(context: Channels, request: Request) -> Any:
    """All channels, or those with these letters in their name; by name. Their URLs are never shown."""
    letters = (request.valid_query["q"] or "").casefold()
    records = [channel.plain() for channel in context.readable() if letters in channel.fields["name"].casefold()]
    return page_of(request, sorted(records, key=lambda record: record["name"]))


@api.create(
    Channels,
    role="admin",
    body=schemas.GivenChannel,
    also=lambda context, request, sound: engine.wrong_address(sound, needed=True),
    returns=schemas.ChannelRecord,
    audit="channel.create",
)
def create(context: Channels, request: Request) -> Any:
    """A new channel: a type with its fields, or any URL that Apprise knows."""
    channel = engine.create(request.root, engine.with_url(request.valid_body))
    request.audit("channel.create", channel.id, after=channel.fields)
    return channel.plain()


@api.get(Channel, role="admin", returns=schemas.ChannelRecord)
def show(context: Channel, request: Request) -> Any:
    """One channel, without its secret."""
    return context.plain()


@api.update(
    Channel,
    role="admin",
    body=schemas.GivenChannel,
    also=lambda context, request, sound: engine.wrong_address(sound),
    read_only=schemas.ChannelRecord,
    returns=schemas.ChannelUpdated,
    audit="channel.update",
)
def update(context: Channel, request: Request) -> Any:
    """Changes what is given, and leaves the rest."""
    before = context.fields
    engine.change(request.root, context, engine.with_url(request.valid_body))
    request.audit("channel.update", context.id, before=before, after=context.fields)
    return {**context.plain(), "status": "updated"}


@api.delete(Channel, role="admin", returns=Deleted, audit="channel.delete")
def delete(context: Channel, request: Request) -> Any:
    """What waits for the channel is dropped; the log of its deliveries stays."""
    request.audit("channel.delete", context.id, before=context.fields)
    engine.delete(request.root, context)
    return {"status": "deleted"}


@api.act(Channel, "test", role="admin", returns=schemas.Tested, errors=(502,), audit="channel.test")
def test(context: Channel, request: Request) -> Any:
    """Sends a message now, whatever the channel's hours, and answers with what became of it."""
    letter = begin_test(request.root, context, request.caller.name, request.node.clock.now())
    sender = sender_of(request.node)
    request.audit("channel.test", context.id, after={"name": context.fields["name"]})
    return Deferred(lambda: (200, {}, sender.test(letter)))


@api.get(Deliveries, role="admin", query=schemas.DeliveryQuery, returns=[schemas.DeliveryRecord])
def log(context: Deliveries, request: Request) -> Any:
    """What became of every message, newest first."""
    query = request.valid_query
    wanted = {name: query[name] for name in ("status", "channel_id") if query[name] is not None}
    page, total = context.page(wanted, query["limit"], query["offset"])
    request.response.headers["X-Total-Count"] = str(total)
    return [delivery.plain() for delivery in page]


@api.get(Delivery, role="admin", returns=schemas.DeliveryRecord)
def delivery(context: Delivery, request: Request) -> Any:
    """One message and its attempts."""
    return context.plain()
