"""Bodies, queries and answers of /api/notifications, and the YAML section `notifications`."""

from __future__ import annotations

from typing import Any

import colander

from opsapp.lib.zones import zone_problem
from opsapp.web.fields import (
    Body,
    Choice,
    Flag,
    ListOf,
    Nullable,
    Number,
    Paging,
    StrictMapping,
    Text,
    Whole,
    check,
    name_text,
)

from .logic import SEVERITIES
from .logic.delivering import KINDS, STATUSES
from .logic.quiet import DAYS

TAG = Text(1, 64, pattern=r"[A-Za-z0-9][A-Za-z0-9_.:-]*", example="a word like database")
CLOCK = Text(5, 5, pattern=r"([01][0-9]|2[0-3]):[0-5][0-9]", example="a time like 22:00")
CAN_WAIT = ("info", "warning")


class QuietHours(Body):
    start = colander.SchemaNode(CLOCK)
    end = colander.SchemaNode(CLOCK)
    timezone = colander.SchemaNode(Nullable(Text(1, 60)), missing=None, validator=check(zone_problem))
    days = colander.SchemaNode(ListOf(Choice(*DAYS), 7, low=1, unique=True), missing=DAYS)
    severities = colander.SchemaNode(ListOf(Choice(*SEVERITIES), 3, low=1, unique=True), missing=CAN_WAIT)


def _quiet_hours(**options: Any) -> colander.SchemaNode:
    return colander.SchemaNode(Nullable(StrictMapping()), *QuietHours().children, **options)


class ChannelFields(Body):
    name = colander.SchemaNode(name_text(100))
    enabled = colander.SchemaNode(Flag(), missing=True)
    severities = colander.SchemaNode(ListOf(Choice(*SEVERITIES), 3, low=1, unique=True), missing=SEVERITIES)
    tags = colander.SchemaNode(ListOf(TAG, 50, unique=True), missing=())
    quiet_hours = _quiet_hours(missing=None)
    digest_s = colander.SchemaNode(Whole(0, 86400), missing=0)


class NewChannel(ChannelFields):
    url = colander.SchemaNode(Text(3, 4000))


class ChannelRecord(Body):
    id = colander.SchemaNode(Text())
    name = colander.SchemaNode(Text())
    enabled = colander.SchemaNode(Flag())
    severities = colander.SchemaNode(ListOf(Choice(*SEVERITIES)))
    tags = colander.SchemaNode(ListOf(Text()))
    quiet_hours = _quiet_hours()
    digest_s = colander.SchemaNode(Whole(0))
    service = colander.SchemaNode(Text())
    source = colander.SchemaNode(Choice("api", "yaml"))
    created_at = colander.SchemaNode(Whole(0))
    last_sent_at = colander.SchemaNode(Nullable(Whole(0)))
    last_failed_at = colander.SchemaNode(Nullable(Whole(0)))
    last_error = colander.SchemaNode(Nullable(Text()))


READ_ONLY = ("id", "service", "source", "created_at", "last_sent_at", "last_failed_at", "last_error")


class Done(Body):
    status = colander.SchemaNode(Choice("updated", "deleted"))


class Tested(Body):
    status = colander.SchemaNode(Choice("sent"))
    delivery_id = colander.SchemaNode(Text())


class DeliveryQuery(Paging):
    limit = colander.SchemaNode(Whole(1, 1000), missing=100)
    status = colander.SchemaNode(Choice(*STATUSES), missing=None)
    channel_id = colander.SchemaNode(Text(1, 64), missing=None)


class MessageShown(Body):
    id = colander.SchemaNode(Text())
    key = colander.SchemaNode(Text())
    kind = colander.SchemaNode(Text())
    severity = colander.SchemaNode(Choice(*SEVERITIES))
    title = colander.SchemaNode(Text())
    text = colander.SchemaNode(Text(0, 4000))
    target = colander.SchemaNode(Nullable(Text()))
    cause = colander.SchemaNode(Nullable(Text()))
    events = colander.SchemaNode(Whole(1))
    tags = colander.SchemaNode(ListOf(Text()))
    first_at = colander.SchemaNode(Whole(0))
    last_at = colander.SchemaNode(Whole(0))


class DeliveryRecord(Body):
    id = colander.SchemaNode(Text())
    channel_id = colander.SchemaNode(Text())
    channel = colander.SchemaNode(Text())
    kind = colander.SchemaNode(Choice(*KINDS))
    status = colander.SchemaNode(Choice(*STATUSES))
    held = colander.SchemaNode(Nullable(Choice("quiet_hours", "digest")))
    attempts = colander.SchemaNode(Whole(0))
    error = colander.SchemaNode(Nullable(Text()))
    created_at = colander.SchemaNode(Whole(0))
    due_at = colander.SchemaNode(Whole(0))
    finished_at = colander.SchemaNode(Nullable(Whole(0)))
    messages = colander.SchemaNode(ListOf(MessageShown()))


class Retry(Body):
    first_s = colander.SchemaNode(Number(0.05, 3600), missing=5)
    longest_s = colander.SchemaNode(Number(0.05, 86400), missing=600)
    for_s = colander.SchemaNode(Number(0, 7 * 86400), missing=14400)


class NotificationsSection(Body):
    """`notifications` of the YAML file."""

    channels = colander.SchemaNode(ListOf(NewChannel(), 200), missing=())
    group_wait_s = colander.SchemaNode(Number(0, 600), missing=5)
    group_s = colander.SchemaNode(Number(0, 86400), missing=60)
    timeout_s = colander.SchemaNode(Number(0.1, 600), missing=30)
    max_sending = colander.SchemaNode(Whole(1, 100), missing=8)
    burst = colander.SchemaNode(Whole(1, 1000), missing=10)
    retry = Retry()
    keep_days = colander.SchemaNode(Number(0.001, 3650), missing=30)
