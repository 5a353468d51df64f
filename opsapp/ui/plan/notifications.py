"""Channels, made of the fields of their type; what goes where; what became of every message."""

from __future__ import annotations

from opsapp.notify.interfaces import STATUSES, TYPES, AddressField, ChannelDescription
from opsapp.notify.records import ChannelRecord, QuietHours
from opsapp.ui import parts
from opsapp.ui.shapes import notifications as shapes

from .shape import Act, Field, Page, Part, delete, inputs, save, switches, told

CHANGE = "PUT /api/notifications/channels/{id}"
KINDS = {"secret": "password", "port": "text", "web": "text"}
NAME, *WHAT = inputs(ChannelRecord)
QUIET = inputs(QuietHours, within="quiet_hours")


def input_of(field: AddressField) -> Field:
    kind = KINDS.get(field.kind, field.kind)
    return Field(f"address.{field.name}", field.label, kind, field.choices, field.required, hint=field.hint)


def making(kind: ChannelDescription) -> Act:
    fields = (NAME, *map(input_of, kind.fields), *WHAT)
    return Act(
        f"create-{kind.name}",
        "Add this channel",
        "POST /api/notifications/channels",
        fields,
        body={"type": kind.name},
        goes="/notifications/channels/{id}",
        here=True,
    )


def moving(kind: ChannelDescription) -> Act:
    """Whole, for the address that it has is never shown."""
    fields = tuple(map(input_of, kind.fields))
    return Act(
        f"move-{kind.name}",
        "Save the new address",
        CHANGE,
        fields,
        when={"type": (kind.name,)},
        body={"type": kind.name},
        here=True,
        done="The new address is saved. Send a test.",
    )


def cloning(kind: ChannelDescription, *, quiet: bool) -> Act:
    """The copy has every setting of the first but its address, which is shown to nobody."""
    made = making(kind)
    name = f"clone-{kind.name}" + ("-quiet" if quiet else "")
    fields = made.fields + (QUIET if quiet else ())
    return made._replace(name=name, label="Make the copy", fields=fields, done="The copy is created. Send a test.")


TEST = Act("test", "Send a test", "POST /api/notifications/channels/{id}/test", here=True,
           done="The test message was accepted. Look whether it has arrived.")  # fmt: skip
CHANNELS = told(parts.CHANNELS, "/api/notifications/channels?sort=failed", acts=(TEST,), paged=True,
                begins="offset-channels")  # fmt: skip

NOTIFICATIONS = (
    Page(
        "/notifications",
        "Notifications",
        (
            CHANNELS,
            told(parts.CHANNELS_ALL, "/api/notifications/channels"),
            Part(
                "Deliveries",
                "/api/notifications/deliveries",
                name=parts.DELIVERIES,
                paged=True,
                filters=(Field("status", "Status", "choice", STATUSES),),
            ),
            told(parts.FAILED, "/api/notifications/deliveries?status=failed&limit=10"),
            told(parts.WAITING, "/api/notifications/deliveries?status=queued&limit=50"),
            told(parts.CONFIGURED, "/api/settings"),
        ),
        menu="Notifications",
        template="notifications.jinja2",
        shape=shapes.overview,
    ),
    Page(
        "/notifications/new",
        "Add a channel",
        (told(parts.TYPES, "/api/notifications/types"),),
        forms=tuple(making(kind) for kind in TYPES),
        template="channel_new.jinja2",
        shape=shapes.new_channel,
    ),
    Page(
        "/notifications/channels/{id}",
        "Channel",
        (
            told(
                parts.CHANNEL,
                "/api/notifications/channels/{id}",
                acts=(
                    TEST,
                    save(CHANGE, (NAME, *WHAT)),
                    *(moving(kind) for kind in TYPES),
                    Act("quiet", "Save the quiet hours", CHANGE, QUIET, here=True, done="Saved."),
                    Act("loud", "No quiet hours", CHANGE,
                        body={"quiet_hours": None}),
                    *switches(CHANGE),
                    delete("/api/notifications/channels/{id}", goes="/notifications"),
                ),
            ),
            told(parts.DELIVERIES, "/api/notifications/deliveries?channel_id={id}&limit=50"),
            told(parts.AUTOMATIONS, "/api/automations?uses={channel.name}"),
        ),
        template="channel.jinja2",
        shape=shapes.one_channel,
    ),
    Page(
        "/notifications/channels/{id}/clone",
        "Clone",
        (told(parts.CHANNEL, "/api/notifications/channels/{id}"),),
        forms=tuple(cloning(kind, quiet=quiet) for kind in TYPES for quiet in (False, True)),
        template="channel_clone.jinja2",
        shape=shapes.cloned,
        needs="POST /api/notifications/channels",
    ),
    Page(
        "/notifications/deliveries/{id}",
        "Message",
        (told(parts.DELIVERY, "/api/notifications/deliveries/{id}"),),
        template="delivery.jinja2",
        shape=shapes.one_delivery,
    ),
)  # fmt: skip
