"""/api/notifications: channels, and what became of every message. For admins: a channel leads out of the house."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request
from pyramid.view import view_config

from opsapp.tree.acl import Permission
from opsapp.web.answers import Deferred
from opsapp.web.fields import Paging
from opsapp.web.paging import page_of

from . import schemas
from .engine import channels as engine
from .engine.running import sender_of
from .engine.sending import begin_test
from .resources import Channel, Channels, Deliveries, Delivery


@view_config(
    context=Channels,
    request_method="GET",
    permission=Permission.administer,
    query=Paging,
    returns=[schemas.ChannelRecord],
    renderer="json",
)
def listing(context: Channels, request: Request) -> Any:
    """All channels, by name. Their URLs are never shown."""
    return page_of(request, sorted((one.plain() for one in context.values()), key=lambda one: one["name"]))


@view_config(
    context=Channels,
    request_method="POST",
    permission=Permission.administer,
    body=schemas.NewChannel,
    also=lambda context, request, sound: engine.wrong_url(sound),
    creates=True,
    returns=schemas.ChannelRecord,
    renderer="json",
    audit="channel.create",
)
def create(context: Channels, request: Request) -> Any:
    """A new channel: any URL that Apprise knows."""
    channel = engine.create(request.root, request.valid_body)
    request.audit("channel.create", channel.id, after=channel.fields)
    return channel.plain()


@view_config(
    context=Channel,
    request_method="GET",
    permission=Permission.administer,
    returns=schemas.ChannelRecord,
    renderer="json",
)
def show(context: Channel, request: Request) -> Any:
    """One channel, without its secret."""
    return context.plain()


@view_config(
    context=Channel,
    request_method="PUT",
    permission=Permission.administer,
    body=schemas.NewChannel,
    also=lambda context, request, sound: engine.wrong_url(sound),
    partial=True,
    read_only=schemas.READ_ONLY,
    returns=schemas.Done,
    renderer="json",
    audit="channel.update",
)
def update(context: Channel, request: Request) -> Any:
    """Changes what is given, and leaves the rest."""
    before = context.fields
    engine.change(request.root, context, request.valid_body)
    request.audit("channel.update", context.id, before=before, after=context.fields)
    return {"status": "updated"}


@view_config(
    context=Channel,
    request_method="DELETE",
    permission=Permission.administer,
    returns=schemas.Done,
    renderer="json",
    audit="channel.delete",
)
def delete(context: Channel, request: Request) -> Any:
    """What waits for the channel is dropped; the log of its deliveries stays."""
    request.audit("channel.delete", context.id, before=context.fields)
    engine.delete(request.root, context)
    return {"status": "deleted"}


@view_config(
    context=Channel,
    name="test",
    request_method="POST",
    permission=Permission.administer,
    returns=schemas.Tested,
    audit="channel.test",
)
def test(context: Channel, request: Request) -> Any:
    """Sends a message now, whatever the channel's hours, and answers with what became of it."""
    letter = begin_test(request.root, context, request.caller.name, request.node.clock.now())
    sender = sender_of(request.node)
    request.audit("channel.test", context.id)
    return Deferred(lambda: (200, {}, sender.test(letter)))


@view_config(
    context=Deliveries,
    request_method="GET",
    permission=Permission.administer,
    query=schemas.DeliveryQuery,
    returns=[schemas.DeliveryRecord],
    renderer="json",
)
def log(context: Deliveries, request: Request) -> Any:
    """What became of every message, newest first."""
    query = request.valid_query
    wanted = {name: query[name] for name in ("status", "channel_id") if query[name] is not None}
    page, total = context.page(wanted, query["limit"], query["offset"])
    request.response.headers["X-Total-Count"] = str(total)
    return [delivery.plain() for delivery in page]


@view_config(
    context=Delivery,
    request_method="GET",
    permission=Permission.administer,
    returns=schemas.DeliveryRecord,
    renderer="json",
)
def delivery(context: Delivery, request: Request) -> Any:
    """One message and its attempts."""
    return context.plain()
