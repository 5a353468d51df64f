"""Queries and smaller answers of /api/notifications; `opsapp.notify.records` declares the channels."""

from __future__ import annotations

from opsapp.web.fields import Body, Paging, choice, text, whole

from .logic import STATUSES


class Tested(Body):
    status = choice("sent")
    delivery_id = text()


class ChannelList(Paging):
    q = text(0, 200, default=None)


class DeliveryQuery(Paging):
    limit = whole(1, 1000, default=100)
    status = choice(*STATUSES, default=None)
    channel_id = text(1, 64, default=None)
