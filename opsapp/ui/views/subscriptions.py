"""/status/subscribe and the links in messages, for visitors without a session. Opening a link changes nothing, because
programs that look into mail open links; its button does, and the one POST that a mail program sends for its reader
(RFC 8058)."""

from __future__ import annotations

from pyramid.request import Request
from pyramid.response import Response

from opsapp.lib.pagenames import MAIN
from opsapp.lib.problems import NotFound, Problem
from opsapp.runtime.node import Node
from opsapp.statuspages import engine
from opsapp.statuspages.records import PublicPage, SubscriptionRecord
from opsapp.tree.folder import Facet, NamedFacets
from opsapp.ui import statuspage
from opsapp.web import api
from opsapp.web.answers import Deferred
from opsapp.web.errors import headers_of, status_of
from opsapp.web.forms import read_form

from .statuspage import about, add_to_pages, place_of, public, slug_of

ASKED = {  # by kind: what to do now
    "mail": ("Look into your inbox", "If this address can be told, it now has a message. Open the link in it within 24 "
             "hours."),
    "webhook": ("The webhook is asked", "If this address can be told, it now has a challenge. It confirms by saying it "
                "back in its answer."),
}  # fmt: skip
GONE = ("That link is not valid any more", "It was used already, or it is older than a day. You can subscribe again.")


class SubscribeForm(Facet):
    """/status/subscribe"""


class ConfirmLink(Facet):
    open_to_all = True
    url = "/status/confirm/{token}"


class ConfirmLinks(NamedFacets):
    """/status/confirm"""

    open_to_all = True
    of = ConfirmLink


class LeaveLink(Facet):
    open_to_all = True
    url = "/status/unsubscribe/{token}"


class LeaveLinks(NamedFacets):
    """/status/unsubscribe"""

    of = LeaveLink


add_to_pages("subscribe", SubscribeForm)
add_to_pages("confirm", ConfirmLinks)
add_to_pages("unsubscribe", LeaveLinks)


@public(SubscribeForm)
def subscribe_page(context: SubscribeForm, request: Request) -> Response:
    """Where a form that came back with a mistake stands: opened again, it is empty."""
    place = place_of(request)
    return html(statuspage.asked_again(about(request), {"kind": "", "address": ""}, wrong="", place=place))


@public(SubscribeForm, by=api.submit)
def subscribe(context: SubscribeForm, request: Request) -> Response | Deferred:
    form, looks, node, ip = read_form(request), about(request), request.node, request.client_ip
    place, page = place_of(request), slug_of(request) or MAIN
    given = {name: form.get(name, "").strip() for name in ("kind", "address")}
    wrong = engine.wrong_address(given["kind"], given["address"])
    if wrong:
        return html(statuspage.asked_again(looks, given, wrong, place), 422)
    groups = tuple(group.id for group in looks.groups if f"group-{group.id}" in form)
    wanted = SubscriptionRecord(kind=given["kind"], address=given["address"], groups=groups, page=page)
    return Deferred(lambda: asked(node, ip, looks, wanted, place))


def asked(node: Node, ip: str, looks: PublicPage, wanted: SubscriptionRecord, place: statuspage.PagePlace) -> Response:
    try:
        engine.ask(node, ip, wanted, by_form=True)
    except Problem as problem:
        given = {"kind": wanted.kind, "address": wanted.address}
        response = html(statuspage.asked_again(looks, given, problem.message, place), status_of(problem))
        response.headers.update(headers_of(problem))
        return response
    return html(statuspage.note(looks, "ok", *ASKED[wanted.kind], place=place))


@public(ConfirmLink)
def confirm_page(context: ConfirmLink, request: Request) -> Response:
    if not engine.waits(request.root, context.__name__, slug_of(request)):
        return said(request, "warn", *GONE, status=404)
    words = f"You get a message when something at {about(request).name} begins, changes or is over."
    return said(request, "off", "Confirm your subscription", words, "Confirm")


@public(ConfirmLink, by=api.submit)
def confirm(context: ConfirmLink, request: Request) -> Response:
    try:
        engine.confirm(request.root, context.__name__, request.client_ip, slug_of(request))
    except NotFound:
        return said(request, "warn", *GONE, status=404)
    return said(request, "ok", "You are subscribed", "Every message has a link to leave.")


@public(LeaveLink)
def leave_page(context: LeaveLink, request: Request) -> Response:
    if not engine.belongs(request.root, context.__name__, slug_of(request)):
        return left(request)
    return said(request, "off", "Leave the list?", "You get no more messages then.", "Leave")


@public(LeaveLink, by=api.submit)
def leave(context: LeaveLink, request: Request) -> Response:
    engine.leave(request.root, context.__name__, request.client_ip, slug_of(request))
    return left(request)


def left(request: Request) -> Response:
    """The same for a link that was used before, and for one that nobody has."""
    return said(request, "ok", "You are not on the list", "No message comes to this address.")


def said(request: Request, kind: str, title: str, words: str, button: str = "", *, status: int = 200) -> Response:
    return html(statuspage.note(about(request), kind, title, words, button, place_of(request)), status)


def html(text: str, status: int = 200) -> Response:
    body = text.encode("utf-8", "replace")
    return Response(body, status, content_type="text/html", charset="utf-8", cache_control="no-store")
