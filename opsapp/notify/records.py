"""Channels and deliveries, each declared once. Must not: know what is stored (`resources`), or Apprise."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from opsapp.lib.queries import LongQuery, NameQuery
from opsapp.lib.visible import name_kind
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Choice, DeclaredField, MapOf, Text
from opsapp.wire.records import Between, FormField, Most, Sealed, Since, Told

from .logic import KINDS, SEVERITIES, STATUSES
from .logic.addresses import BY_NAME, address_of
from .logic.quiet import QuietHours, Severities
from .logic.texts import MessageShown

Url = Annotated[str, Text(3, 4000), Sealed()]
Tag = Annotated[str, Text(1, 64, pattern=r"[A-Za-z0-9][A-Za-z0-9_.:-]*", example="a word like database")]
FIELDS = MapOf(DeclaredField("", Text(0, 4000)), 20)


@frozen
class ChannelRecord:
    """Its address is shown to nobody."""

    name: Annotated[str, name_kind(100), FormField("Name", hint="What you call it, like on-call or team chat")]
    enabled: bool = True
    severities: Annotated[Severities, FormField("Which messages", "picks", hint="Critical: something is down")] = (
        SEVERITIES
    )
    tags: Annotated[
        tuple[Tag, ...],
        Most(50, unique=True),
        FormField("Only about these tags", "names", "Empty: about all", of="tag", by="name", clears=True),
    ] = ()
    quiet_hours: QuietHours | None = None
    digest_s: Annotated[
        int,
        Between(0, 86400),
        FormField("Collect for", "duration", hint="Like 5 min. 0: at once. Critical messages never wait", preset="0"),
    ] = 0
    answers_as: Annotated[
        str,
        Text(0, 64),
        FormField(
            "Answers as", hint="A username. Links in messages approve, reject and acknowledge as this user", clears=True
        ),
    ] = ""

    id: Told[str] = ""
    service: Told[str] = ""
    type: Told[Annotated[str, Choice(*BY_NAME)]] = ""
    source: Told[Literal["api", "yaml"]] = "api"
    created_at: Told[Since] = 0
    last_sent_at: Told[Since | None] = None
    last_failed_at: Told[Since | None] = None
    last_error: Told[str | None] = None


@frozen
class ChannelUpdated(ChannelRecord):
    status: Told[Literal["updated"]] = "updated"


@frozen(kw_only=True)
class ChannelAsCode(ChannelRecord):
    """A channel as code: by its Apprise address."""

    url: Url


@frozen
class ChannelAddress:
    """An Apprise address (`url`), or a `type` and the fields of that type (`address`)."""

    url: Url = ""
    type: Annotated[str, Choice(*BY_NAME)] = ""
    address: Annotated[dict[str, str] | None, FIELDS, Sealed()] = None

    @property
    def full(self) -> str:
        """The address as Apprise takes it, from fields that are sound; empty when none was given."""
        return self.url if self.address is None else address_of(self.type, self.address)


@frozen
class GivenChannel(ChannelAddress, ChannelRecord):
    """What people send of it."""

    component: ClassVar[str] = "Channel"
    sample: ClassVar[dict[str, str]] = {"name": "On call", "url": "ntfy://ntfy.example.org/alerts"}


@frozen
class DeliveryRecord:
    id: str
    channel_id: str
    channel: str
    kind: Annotated[str, Choice(*KINDS)]
    status: Annotated[str, Choice(*STATUSES)]
    held: Literal["quiet_hours", "digest"] | None
    attempts: Annotated[int, Between(0)]
    error: str | None
    created_at: Since
    due_at: Since
    finished_at: Since | None
    messages: tuple[MessageShown, ...]


@frozen
class Tested:
    status: Literal["sent"]
    delivery_id: str


@frozen
class ChannelQuery(NameQuery):
    sort: Annotated[str | None, Choice("failed")] = None

    def place(self, channel: ChannelRecord) -> tuple[bool, str]:
        return self.sort is None or not channel.last_error, channel.name


@frozen
class DeliveryQuery(LongQuery):
    status: Annotated[str | None, Choice(*STATUSES)] = None
    channel_id: Annotated[str | None, Text(1, 64)] = None
