"""/status and what hangs below it: public, no cookie, complete without script."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyramid.request import Request
from pyramid.response import Response
from webob.etag import ETagMatcher

from opsapp.lib.problems import NotFound
from opsapp.monitoring.engine import (
    KeptText,
    LatestStatus,
    PageScope,
    has_earlier_incidents,
    latest_status,
    published,
    published_incident,
    published_incidents,
    status_document,
)
from opsapp.monitoring.records import StatusComponent, StatusDocument
from opsapp.statuspages import engine
from opsapp.statuspages.records import PublicPage
from opsapp.tree.folder import Facet, NamedFacets, add_facet, facet_of
from opsapp.tree.root import Root, root_above
from opsapp.ui import statuspage, statusshape
from opsapp.web import api
from opsapp.web.answers import Deferred
from opsapp.web.asked import Asked
from opsapp.web.compression import takes_gzip
from opsapp.web.config import WebSettings
from opsapp.web.fields import Query, text
from opsapp.web.jsontext import dumps

AT_ONCE = 200  # incidents of a month

Render = Callable[[StatusDocument], str]


class StatusPage(Facet):
    """/status, and below it the pages of their own."""

    def __getitem__(self, name: str) -> Facet:
        try:
            return facet_of(self, name)
        except KeyError:
            if not engine.is_own_page(root_above(self), name):
                raise
            return OwnStatusPage(self, name)


class OwnStatusPage(Facet):
    url = "/status/{slug}"


OWN: dict[type, Any] = {StatusPage: OwnStatusPage}  # of the page of all -> the same of a page of its own


class MonthsFacet(Facet):
    """/status/history"""


class PublicIncidentPage(Facet):
    url = "/status/incidents/{incident_id}"


class PublicIncidents(NamedFacets):
    """/status/incidents: `{id}` of an incident of a published monitor."""

    of = PublicIncidentPage


class PublicMonitorPage(Facet):
    url = "/status/monitors/{monitor_id}"


class PublicMonitors(NamedFacets):
    """/status/monitors: `{id}` of a published monitor."""

    of = PublicMonitorPage


class Badge(Facet):
    url = "/status/badge/{id}.svg"


class Badges(NamedFacets):
    """/status/badge: `{id}.svg` of a published monitor."""

    of = Badge

    def __getitem__(self, name: str) -> Facet:
        monitor_id, dot, kind = name.partition(".")
        if dot + kind != ".svg":
            raise KeyError(name)
        return super().__getitem__(monitor_id)


def add_to_pages(name: str, facet: type[Facet]) -> None:
    """Adds it to the page of all, and one like it, with addresses of its own, to the pages of their own."""
    add_facet(StatusPage, name, facet)
    add_facet(OwnStatusPage, name, own_of(facet))
    if issubclass(facet, NamedFacets):
        OWN[facet].of = own_of(facet.of)
        OWN[facet.of].url = f"{OWN[facet].url}/{facet.of.url.rpartition('/')[2]}"


def own_of(facet: type[Facet]) -> type[Facet]:
    OWN[facet] = type(f"Own{facet.__name__}", (facet,), {})
    return OWN[facet]


add_facet(Root, "status", StatusPage)
add_to_pages("badge", Badges)
add_to_pages("history", MonthsFacet)
add_to_pages("incidents", PublicIncidents)
add_to_pages("monitors", PublicMonitors)


def public(context: type, name: str = "", returns: str = "text/html", by: Any = api.get, **options: Any) -> Any:
    """A view that anybody may ask for, of the page of all and of those of their own."""

    def declared(view: Any) -> Any:
        for place in (context, OWN[context]):  # as if each decorator stood where this one does
            view = by(place, name, role="public", returns=returns, _depth=1, **options)(view)
        return view

    return declared


class Month(Query):
    month = text(7, 7, pattern="[12][0-9]{3}-(0[1-9]|1[0-2])", example="a month like 2026-11", default=None)


@public(StatusPage)
def page(context: Facet, request: Request) -> Deferred:
    looks, place = about(request), place_of(request)
    return kept(request, f"page {looks!r}", lambda document: statuspage.page(looks, document, place), "text/html")


@public(MonthsFacet, query=Month)
def history(context: MonthsFacet, request: Request) -> Response:
    """Incidents and maintenance of a month of the page's zone."""
    looks, now, scope = about(request), request.now, scope_of(request)
    month = request.valid_query["month"] or statusshape.month_of(now, looks.timezone)
    start, end = statusshape.month_edges(month, looks.timezone)
    incidents, count = published_incidents(request.node, request.root, start, end, AT_ONCE, scope)
    planned = occurrences(request)
    over = [window for window in planned if start <= window.start < end and statusshape.is_over(window, now)]
    earlier = any(window.start < start for window in planned) or has_earlier_incidents(
        request.node, request.root, start, scope
    )
    shown = statuspage.PastMonth(month, incidents, count, over, earlier)
    text = statuspage.history(looks, shown, now, place_of(request))
    return tagged(request, text, "text/html")


@public(PublicIncidentPage)
def incident_page(context: PublicIncidentPage, request: Request) -> Response:
    incident = published_incident(request.node, request.root, context.__name__, scope_of(request))
    if incident is None:
        raise NotFound("There is nothing here.")
    return tagged(request, statuspage.incident_page(about(request), incident, place_of(request)), "text/html")


@public(PublicMonitorPage)
def monitor_page(context: PublicMonitorPage, request: Request) -> Deferred:
    looks, monitor_id, place = about(request), context.__name__, place_of(request)

    def render(document: StatusDocument) -> str:
        return statuspage.monitor_page(looks, monitor_in(document, monitor_id), place)

    return kept(request, f"monitor {monitor_id} {looks!r}", render, "text/html")


@api.get(Root, "status.css", role="public", returns="text/css")
def stylesheet(context: Root, request: Request) -> Response:
    """Where older copies of the page look for it."""
    return tagged(request, statuspage.file_text("status.css"), "text/css")


@public(StatusPage, name="theme.css", returns="text/css")
def theme(context: Facet, request: Request) -> Response:
    return tagged(request, statuspage.theme(about(request)), "text/css")


@api.get(StatusPage, "logo", role="public", returns="image/png")
def logo(context: StatusPage, request: Request) -> Response:
    """Whatever is in the picture, a browser runs nothing of it."""
    known = engine.logo(request.root)
    if known is None:
        raise NotFound("There is nothing here.")
    response = Response(known[0], content_type=known[1], conditional_response=True, etag=known[2])
    response.cache_control = "no-cache"
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response


@api.get(Root, "status.rss", role="public", returns="application/rss+xml")
@api.get(OwnStatusPage, "feed.rss", role="public", returns="application/rss+xml")
def feed(context: Root | Facet, request: Request) -> Deferred:
    base, home = base_of(request), place_of(request).home
    return kept(request, f"feed {base}", lambda document: statuspage.feed(document, base, home), "application/rss+xml")


@api.get(OwnStatusPage, "status.json", role="public", returns="application/json")
def document(context: OwnStatusPage, request: Request) -> Deferred:
    """What the page says, as /api/monitoring/status-page has it of the page of all."""
    return kept(request, "json", dumps, "application/json")


@public(StatusPage, name="calendar.ics", returns="text/calendar")
def calendar(context: Facet, request: Request) -> Response:
    """Maintenance, for programs that follow a calendar; what was cancelled says so."""
    names = published(request.node, request.root, scope_of(request))
    link, shown = base_of(request) + place_of(request).home, occurrences(request)
    title = f"{about(request).name}: maintenance"
    return tagged(request, engine.calendar_text(title, shown, names, link), "text/calendar")


@public(Badge, returns="image/svg+xml")
def badge(context: Badge, request: Request) -> Deferred:
    monitor_id = context.__name__

    def render(document: StatusDocument) -> str:
        return statuspage.badge(monitor_in(document, monitor_id))

    return kept(request, f"badge {monitor_id}", render, "image/svg+xml")


def monitor_in(document: StatusDocument, monitor_id: str) -> StatusComponent:
    for monitor in document.monitors:
        if monitor.id == monitor_id:
            return monitor
    raise NotFound("There is nothing here.")


def slug_of(request: Request) -> str | None:
    """Of the own page below which this is; None: it is the page of all."""
    place = request.context
    while place is not None and not isinstance(place, OwnStatusPage):
        place = getattr(place, "__parent__", None)
    return None if place is None else place.__name__


def about(request: Request) -> PublicPage:
    slug = slug_of(request)
    return engine.public_page(request.root) if slug is None else engine.own_looks(request.root, slug)


def place_of(request: Request) -> statuspage.PagePlace:
    slug = slug_of(request)
    return statuspage.LIVE if slug is None else statuspage.own_place(slug)


def scope_of(request: Request) -> PageScope | None:
    slug = slug_of(request)
    return None if slug is None else engine.scope(request.root, slug)


def occurrences(request: Request) -> list[engine.PlannedTime]:
    names = published(request.node, request.root, scope_of(request))
    known = engine.calendar(request.root, slug_of(request))
    return [entry for entry in known if not names.keys().isdisjoint(entry.monitors)]


def base_of(request: Request) -> str:
    """Where visitors see the page."""
    slug = slug_of(request)
    page = engine.page_of(request.root) if slug is None else engine.own_page(request.root, slug)
    return (page.public_url or request.node.config[WebSettings].base_url or request.host_url).rstrip("/")


def kept(request: Request, key: str, render: Render, kind: str) -> Deferred:
    """Made of the latest document once for all visitors. `key`: what else goes into it."""
    latest, asked = latest_of(request), Asked.of(request.environ)
    return Deferred(lambda: answer(asked, latest.text(key, render), kind))


def latest_of(request: Request) -> LatestStatus:
    node, slug = request.node, slug_of(request)
    latest = latest_status(node)
    if slug is None:
        return latest
    return latest.of_page(
        engine.scope(request.root, slug).page, lambda root: status_document(node, root, engine.scope(root, slug))
    )


def tagged(request: Request, text: str, kind: str) -> Response:
    """The same for what is not kept."""
    return answer(Asked.of(request.environ), KeptText.of(text), kind)


def answer(asked: Asked, text: KeptText, kind: str) -> Response:
    """With an ETag. Packed for whoever can unpack: there is no secret on these pages."""
    response = Response(content_type=kind, charset="utf-8")
    response.etag, response.cache_control, response.vary = text.mark, "no-cache", ("Accept-Encoding",)
    if asked.known and text.mark in ETagMatcher.parse(asked.known, strong=False):
        response.status_int = 304
        del response.content_type
    elif text.packed is not None and takes_gzip(asked.encodings):
        response.body = text.packed
        response.headers["Content-Encoding"] = "gzip"
    else:
        response.body = text.body
    return response
