"""The public page and its subscribers, declared for bodies, answers, code and forms. Other rooms may import them. Must
not: know what is stored."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any, ClassVar, Literal

from opsapp.lib.addresses import HIDDEN
from opsapp.lib.pagenames import MAIN
from opsapp.lib.visible import name_kind
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import CheckedBy, Choice, Text
from opsapp.wire.records import Between, FormField, InAnswers, Most, Sealed, Since, Told, made
from opsapp.wire.urls import web_problem

from .logic.addresses import KINDS, MAIL, address_problem
from .logic.colours import colour_problem
from .logic.dates import LANGUAGES
from .logic.groups import MONITORS, GroupAsCode, GroupRecord, Id, groups_problem
from .logic.mailserver import server_problem

TAKEN = frozenset(  # parts of the page of all
    ("badge", "calendar", "confirm", "history", "incidents", "logo", "monitors", "public", "status", "subscribe",
     "theme", "unsubscribe")
)  # fmt: skip
SLUG = Text(1, 50, "[a-z0-9]+(-[a-z0-9]+)*", "customers: small letters, digits and - between them")
IN_ADDRESS = CheckedBy(lambda slug: "is the name of a part of the page of all" if slug in TAKEN else None)
Kind = Annotated[str, Choice(*KINDS)]
Count = Annotated[int, Between(0)]
MOST_GROUPS = Most(200)
COLOUR = Text(7, 7, pattern="#[0-9a-f]{6}", example="a colour like #1a5fb4")
WEB = CheckedBy(lambda url: web_problem(url, credentials=False))
SENDER = CheckedBy(lambda address: address_problem(MAIL, address))
SERVER = CheckedBy(lambda url: None if url == HIDDEN else server_problem(url))
ON_LIGHT = CheckedBy(lambda colour: colour_problem(colour, dark=False))
ON_DARK = CheckedBy(lambda colour: colour_problem(colour, dark=True))


SubscribeBy = Annotated[tuple[Kind, ...], Most(2, unique=True), FormField("Visitors may subscribe by", "picks")]


def _wrong_groups(sound: dict[str, Any]) -> dict[str, str]:
    message = groups_problem([made(GroupRecord, row) for row in sound.get("groups", ())])
    return {"groups": message} if message else {}


@frozen
class PageLooks:
    name: Annotated[str, name_kind(80), FormField("Name", hint="What visitors see at the top")] = "Status"
    description: Annotated[str, Text(0, 500), FormField("Description", "area")] = ""
    site_url: Annotated[
        str | None,
        Text(1, 300),
        WEB,
        FormField("Your own site", hint="Where the name leads, like https://example.org", clears=True),
    ] = None
    footer: Annotated[str, Text(0, 500), FormField("Text at the foot", "area")] = ""
    language: Annotated[str, Choice(*LANGUAGES), FormField("Language of dates", "choice", unsaid="as usual")] = "en"
    accent_light: Annotated[
        str | None,
        COLOUR,
        ON_LIGHT,
        FormField("Colour of the button, light page", "colour", "Like #1a5fb4. It must be readable", clears=True),
    ] = None
    accent_dark: Annotated[
        str | None, COLOUR, ON_DARK, FormField("The same, dark page", "colour", "Like #99c1f1", clears=True)
    ] = None


@frozen
class LogoRecord:
    kind: Annotated[str, Choice("image/png", "image/jpeg")]
    bytes: Annotated[int, Between(1)]
    digest: str


@frozen
class PageRecord(PageLooks):
    """The page as an admin sets it."""

    public_url: Annotated[
        str | None,
        Text(1, 300),
        WEB,
        FormField("Where visitors see the page", hint="Links in messages begin so: https://status.example.org"),
    ] = None
    subscribe_by: SubscribeBy = ()
    mail_from: Annotated[
        str | None, Text(3, 254), SENDER, FormField("Mail comes from", hint="Like status@example.org")
    ] = None
    mail_server: Annotated[
        str | None,
        Text(3, 500),
        SERVER,
        Sealed(),
        InAnswers(Text(), null=True),
        FormField("Mail leaves by", "password", hint="smtps://user:password@mail.example.org. Never shown again"),
    ] = None
    groups: Annotated[
        tuple[GroupRecord, ...], MOST_GROUPS, FormField("Groups, in their order", "rows", spare=True)
    ] = ()

    logo: Told[LogoRecord | None] = None
    offered: Told[tuple[Kind, ...]] = ()
    lacking: Told[tuple[str, ...]] = ()

    across = staticmethod(_wrong_groups)


@frozen
class PageUpdated(PageRecord):
    status: Told[Literal["updated"]] = "updated"


@frozen
class PageAsCode(PageRecord):
    page: Literal["public"] = "public"
    groups: Annotated[tuple[GroupAsCode, ...], MOST_GROUPS] = ()


@frozen
class PublicPage(PageLooks):
    """What is shown besides the status document. `logo` is a mark of it."""

    logo: Told[str | None] = None
    timezone: Told[str] = "UTC"
    groups: Told[tuple[GroupRecord, ...]] = ()
    offered: Told[tuple[Kind, ...]] = ()


@frozen(kw_only=True)
class ShownGroup(GroupRecord):
    monitors: Annotated[
        tuple[Id, ...],
        MONITORS,
        FormField("Monitors", "names", of="monitor", hint="Names with commas. The page shows these and no others"),
    ] = ()


@frozen(kw_only=True)
class OwnPageRecord(PageLooks):
    """It shows the monitors of its groups, whatever their tags are, and nothing else. `protected`: visitors have to say
    its password; until it has one, nobody sees it."""

    sample: ClassVar[dict[str, str]] = {"slug": "customers", "name": "Customers"}

    slug: Annotated[str, SLUG, IN_ADDRESS, FormField("Path", hint="Its address ends in it: /status/…")]
    name: Annotated[str, name_kind(80), FormField("Name", hint="What visitors see at the top")] = field()
    public_url: Annotated[
        str | None,
        Text(1, 300),
        WEB,
        FormField("Its own domain", hint="Where visitors see it, like https://status.example.org", clears=True),
    ] = None
    groups: Annotated[tuple[ShownGroup, ...], MOST_GROUPS, FormField("Groups", "rows")] = ()
    subscribe_by: SubscribeBy = ()
    protected: Annotated[bool, FormField("Only for who says its password", "flag", unsaid="no")] = False

    id: Told[str] = ""
    has_password: Told[bool] = False
    offered: Told[tuple[Kind, ...]] = ()
    lacking: Told[tuple[str, ...]] = ()

    across = staticmethod(_wrong_groups)


@frozen(kw_only=True)
class OwnPageDone(OwnPageRecord):
    status: Told[Literal["created", "updated"]] = "updated"


@frozen(kw_only=True)
class ShownGroupAsCode(GroupAsCode, ShownGroup):
    """As code: it names monitors, and is known by its name."""


@frozen(kw_only=True)
class OwnPageAsCode(OwnPageRecord):
    groups: Annotated[tuple[ShownGroupAsCode, ...], MOST_GROUPS] = ()


@frozen
class SubscriptionRecord:
    """`page`: the path of a page of its own, or `public`, the page of all."""

    sample: ClassVar[dict[str, str]] = {"kind": "mail", "address": "you@example.org"}

    kind: Kind
    address: Annotated[str, Text(3, 500), InAnswers(Text())]
    groups: Annotated[tuple[Id, ...], Most(200, unique=True)] = ()
    page: Annotated[str, Text(1, 50), InAnswers(Text())] = MAIN

    id: Told[str] = ""
    state: Told[Literal["pending", "confirmed"]] = "pending"
    asked_at: Told[Since] = 0
    confirmed_at: Told[Since | None] = None
    failures: Told[Annotated[int, Between(0)]] = 0

    @staticmethod
    def across(sound: dict[str, Any]) -> dict[str, str]:
        message = address_problem(sound["kind"], sound["address"]) if {"kind", "address"} <= sound.keys() else None
        return {"address": message} if message else {}


@frozen
class SubscriptionAsked:
    status: Literal["asked"]
    message: str


@frozen
class SubscriptionCounts:
    confirmed: dict[str, Count]
    pending: Count
    waiting: Count
