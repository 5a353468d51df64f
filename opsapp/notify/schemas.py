"""Bodies, queries and answers of /api/notifications, and the YAML section `notifications`."""

from __future__ import annotations

from opsapp.lib.zones import zone_problem
from opsapp.web.fields import Body, Paging, choice, field, flag, list_of, map_of, name_text, text, whole, with_settings

from .logic import SEVERITIES, addresses
from .logic.destinations import KINDS, STATUSES
from .logic.quiet import DAYS

TAG = text(1, 64, pattern=r"[A-Za-z0-9][A-Za-z0-9_.:-]*", example="a word like database")
CLOCK = text(5, 5, pattern=r"([01][0-9]|2[0-3]):[0-5][0-9]", example="a time like 22:00")
CAN_WAIT = ("info", "warning")


class QuietHours(Body):
    start = CLOCK
    end = CLOCK
    timezone = text(1, 60, default=None, check=zone_problem, null=True)
    days = list_of(choice(*DAYS), 7, low=1, unique=True, default=DAYS)
    severities = list_of(choice(*SEVERITIES), 3, low=1, unique=True, default=CAN_WAIT)


class ChannelFields(Body):
    name = name_text(100)
    enabled = flag(default=True)
    severities = list_of(choice(*SEVERITIES), 3, low=1, unique=True, default=SEVERITIES)
    tags = list_of(TAG, 50, unique=True, default=())
    quiet_hours = field(QuietHours, null=True, default=None)
    digest_s = whole(0, 86400, default=0)


class NewChannel(ChannelFields):
    """As code: a channel by its Apprise address."""

    url = text(3, 4000)


class GivenChannel(ChannelFields):
    """By its Apprise address (`url`), or by `type` and the fields of that type (`address`)."""

    url = text(3, 4000, optional=True)
    type = choice(*addresses.BY_NAME, optional=True)
    address = map_of(text(0, 4000), 20, optional=True)


class AddressFieldShown(Body):
    name = text()
    label = text()
    kind = choice("text", "secret", "port", "web", "choice")
    required = flag()
    hint = text()
    choices = list_of(text())


class ChannelTypeShown(Body):
    name = text()
    title = text()
    hint = text()
    fields = list_of(AddressFieldShown)


@with_settings(ChannelFields)
class ChannelRecord(Body):
    id = text()
    service = text()
    type = choice(*addresses.BY_NAME)
    source = choice("api", "yaml")
    created_at = whole(0)
    last_sent_at = whole(0, null=True)
    last_failed_at = whole(0, null=True)
    last_error = text(null=True)


class ChannelUpdated(ChannelRecord):
    status = choice("updated")


class Tested(Body):
    status = choice("sent")
    delivery_id = text()


class ChannelList(Paging):
    q = text(0, 200, default=None)


class DeliveryQuery(Paging):
    limit = whole(1, 1000, default=100)
    status = choice(*STATUSES, default=None)
    channel_id = text(1, 64, default=None)


class MessageShown(Body):
    id = text()
    key = text()
    kind = text()
    severity = choice(*SEVERITIES)
    title = text()
    body = text(0, 4000, name="text")
    target = text(null=True)
    ids = map_of(text(), 20)
    cause = text(null=True)
    events = whole(1)
    tags = list_of(text())
    first_at = whole(0)
    last_at = whole(0)


class DeliveryRecord(Body):
    id = text()
    channel_id = text()
    channel = text()
    kind = choice(*KINDS)
    status = choice(*STATUSES)
    held = choice("quiet_hours", "digest", null=True)
    attempts = whole(0)
    error = text(null=True)
    created_at = whole(0)
    due_at = whole(0)
    finished_at = whole(0, null=True)
    messages = list_of(MessageShown)
