"""Bodies and answers of /api/status, and the status page as code."""

from __future__ import annotations

from opsapp.lib.jsontypes import JsonObject
from opsapp.web.fields import Body, Paging, choice, field, flag, list_of, map_of, name_text, text, whole, with_settings
from opsapp.wire.urls import web_problem

from .logic.addresses import KINDS, address_problem
from .logic.colours import colour_problem
from .logic.dates import LANGUAGES
from .logic.mailserver import server_problem
from .logic.settings import PUBLIC, groups_problem

ID = text(1, 64)
COLOUR = text(7, 7, pattern="#[0-9a-f]{6}", example="a colour like #1a5fb4")


def _groups_across(sound: JsonObject) -> dict[str, str]:
    message = groups_problem(sound["groups"]) if "groups" in sound else None
    return {"groups": message} if message else {}


def _subscription_across(sound: JsonObject) -> dict[str, str]:
    message = address_problem(sound["kind"], sound["address"]) if {"kind", "address"} <= sound.keys() else None
    return {"address": message} if message else {}


def _server_problem(url: str) -> str | None:
    return None if url == "***" else server_problem(url)


class NewGroup(Body):
    id = text(1, 64, optional=True)
    name = name_text(80)
    collapsed = flag(default=False)
    monitors = list_of(ID, 2000, unique=True, default=())


@with_settings(NewGroup)
class GroupRecord(Body):
    """A group as it is stored."""


class PageFields(Body):
    across = _groups_across
    name = name_text(80, default="Status")
    description = text(0, 500, default="")
    site_url = text(1, 300, null=True, default=None, check=lambda url: web_problem(url, credentials=False))
    public_url = text(1, 300, null=True, default=None, check=lambda url: web_problem(url, credentials=False))
    footer = text(0, 500, default="")
    language = choice(*LANGUAGES, default="en")
    accent_light = field(COLOUR, null=True, default=None, check=lambda colour: colour_problem(colour, dark=False))
    accent_dark = field(COLOUR, null=True, default=None, check=lambda colour: colour_problem(colour, dark=True))
    subscribe_by = list_of(choice(*KINDS), 2, unique=True, default=())
    mail_from = text(3, 254, null=True, default=None, check=lambda address: address_problem("mail", address))
    mail_server = text(3, 500, null=True, default=None, check=_server_problem)


class NewPage(PageFields):
    groups = list_of(NewGroup, 200, default=())


class CodeGroup(Body):
    name = name_text(80)
    collapsed = flag(default=False)
    monitors = list_of(text(1, 255), 2000, unique=True, default=())


class PageAsCode(PageFields):
    """The one page of a service; its groups name monitors."""

    page = choice("public", default="public")
    groups = list_of(CodeGroup, 200, default=())


class LogoRecord(Body):
    kind = choice("image/png", "image/jpeg")
    bytes = whole(1)
    digest = text()


@with_settings(PageFields)
class PageRecord(Body):
    groups = list_of(GroupRecord)
    mail_server = text(null=True)  # hidden
    logo = field(LogoRecord, null=True)
    offered = list_of(choice(*KINDS))
    lacking = list_of(text())


class PageUpdated(PageRecord):
    status = choice("updated")


class NewLogo(Body):
    image = text(1, 300_000, pattern=r"[A-Za-z0-9+/]+={0,2}", must="be a picture in base64")


class NewSubscription(Body):
    sample = {"kind": "mail", "address": "you@example.org"}
    across = _subscription_across
    kind = choice(*KINDS)
    address = text(3, 500)
    groups = list_of(ID, 200, unique=True, default=())


class SubscriptionAsked(Body):
    status = choice("asked")
    message = text()


class SubscriptionQuery(Paging):
    limit = whole(1, 1000, default=100)
    state = choice("pending", "confirmed", default=None)


class SubscriptionRecord(Body):
    id = text()
    kind = choice(*KINDS)
    address = text()
    groups = list_of(text())
    state = choice("pending", "confirmed")
    asked_at = whole(0)
    confirmed_at = whole(0, null=True)
    failures = whole(0)


class SubscriptionCounts(Body):
    confirmed = map_of(whole(0))
    pending = whole(0)
    waiting = whole(0)


@with_settings(PageFields, *PUBLIC)
class PublicPage(Body):
    logo = text(null=True)
    timezone = text()
    groups = list_of(GroupRecord)
    offered = list_of(choice(*KINDS))
