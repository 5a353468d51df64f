"""/status and what hangs below it: public, no cookie, complete without script."""

from __future__ import annotations

from collections.abc import Callable

from pyramid.request import Request
from pyramid.response import Response
from webob.etag import ETagMatcher

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import NotFound
from opsapp.monitoring.engine import KeptText, latest_status, published, published_incident, published_incidents
from opsapp.statuspages import engine
from opsapp.statuspages.records import PublicPage
from opsapp.tree.folder import Facet, add_facet
from opsapp.tree.root import Root
from opsapp.ui import statuspage, statusshape
from opsapp.web import api
from opsapp.web.answers import Deferred
from opsapp.web.asked import Asked
from opsapp.web.compression import takes_gzip
from opsapp.web.config import WebSettings
from opsapp.web.fields import Query, text

AT_ONCE = 200  # incidents of a month

Render = Callable[[JsonObject], str]


class StatusPage(Facet):
    """/status"""


class MonthsFacet(Facet):
    """/status/history"""


class PublicIncidents(Facet):
    """/status/incidents: `{id}` of an incident of a published monitor."""

    def __getitem__(self, name: str) -> PublicIncidentPage:
        return PublicIncidentPage(self, name)


class PublicIncidentPage(Facet):
    url = "/status/incidents/{incident_id}"


class PublicMonitors(Facet):
    """/status/monitors: `{id}` of a published monitor."""

    def __getitem__(self, name: str) -> PublicMonitorPage:
        return PublicMonitorPage(self, name)


class PublicMonitorPage(Facet):
    url = "/status/monitors/{monitor_id}"


class Badges(Facet):
    """/status/badge: `{id}.svg` of a published monitor."""

    def __getitem__(self, name: str) -> Badge:
        monitor_id, dot, kind = name.partition(".")
        if dot + kind != ".svg":
            raise KeyError(name)
        return Badge(self, monitor_id)


class Badge(Facet):
    url = "/status/badge/{id}.svg"


add_facet(Root, "status", StatusPage)
add_facet(StatusPage, "badge", Badges)
add_facet(StatusPage, "history", MonthsFacet)
add_facet(StatusPage, "incidents", PublicIncidents)
add_facet(StatusPage, "monitors", PublicMonitors)


class Month(Query):
    month = text(7, 7, pattern="[12][0-9]{3}-(0[1-9]|1[0-2])", example="a month like 2026-11", default=None)


@api.get(StatusPage, role="public", returns="text/html")
def page(context: StatusPage, request: Request) -> Deferred:
    looks = about(request)
    return kept(request, f"page {looks!r}", lambda document: statuspage.page(looks, document), "text/html")


@api.get(MonthsFacet, role="public", query=Month, returns="text/html")
def history(context: MonthsFacet, request: Request) -> Response:
    """Incidents and maintenance of a month of the page's zone."""
    looks, now = about(request), request.node.clock.now()
    month = request.valid_query["month"] or statusshape.month_of(now, looks.timezone)
    start, end = statusshape.month_edges(month, looks.timezone)
    incidents, count = published_incidents(request.node, request.root, start, end, AT_ONCE)
    planned = [occurrence for occurrence in engine.calendar(request.root) if start <= occurrence.start < end]
    windows = [occurrence for occurrence in planned if statusshape.is_over(occurrence, now)]
    return tagged(request, statuspage.history(looks, month, incidents, count, windows, now), "text/html")


@api.get(PublicIncidentPage, role="public", returns="text/html")
def incident_page(context: PublicIncidentPage, request: Request) -> Response:
    incident = published_incident(request.node, request.root, context.__name__)
    if incident is None:
        raise NotFound("There is nothing here.")
    return tagged(request, statuspage.incident_page(about(request), incident), "text/html")


@api.get(PublicMonitorPage, role="public", returns="text/html")
def monitor_page(context: PublicMonitorPage, request: Request) -> Deferred:
    looks, monitor_id = about(request), context.__name__

    def render(document: JsonObject) -> str:
        return statuspage.monitor_page(looks, monitor_in(document, monitor_id))

    return kept(request, f"monitor {monitor_id} {looks!r}", render, "text/html")


@api.get(Root, "status.css", role="public", returns="text/css")
def stylesheet(context: Root, request: Request) -> Response:
    """Where older copies of the page look for it."""
    return tagged(request, statuspage.file_text("status.css"), "text/css")


@api.get(StatusPage, "theme.css", role="public", returns="text/css")
def theme(context: StatusPage, request: Request) -> Response:
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
def feed(context: Root, request: Request) -> Deferred:
    base = base_of(request)
    return kept(request, f"feed {base}", lambda document: statuspage.feed(document, base), "application/rss+xml")


@api.get(StatusPage, "calendar.ics", role="public", returns="text/calendar")
def calendar(context: StatusPage, request: Request) -> Response:
    """Maintenance, for programs that follow a calendar; what was cancelled says so."""
    names, link = published(request.node, request.root), f"{base_of(request)}/status"
    shown = [entry for entry in engine.calendar(request.root) if not names.keys().isdisjoint(entry.monitors)]
    title = f"{about(request).name}: maintenance"
    return tagged(request, engine.calendar_text(title, shown, names, link), "text/calendar")


@api.get(Badge, role="public", returns="image/svg+xml")
def badge(context: Badge, request: Request) -> Deferred:
    monitor_id = context.__name__

    def render(document: JsonObject) -> str:
        return statuspage.badge(monitor_in(document, monitor_id))

    return kept(request, f"badge {monitor_id}", render, "image/svg+xml")


def monitor_in(document: JsonObject, monitor_id: str) -> JsonObject:
    for monitor in document["monitors"]:
        if monitor["id"] == monitor_id:
            return monitor
    raise NotFound("There is nothing here.")


def about(request: Request) -> PublicPage:
    return engine.public_page(request.root)


def base_of(request: Request) -> str:
    """Where visitors see the page."""
    address = engine.page_of(request.root).public_url or request.node.config[WebSettings].base_url
    return (address or request.host_url).rstrip("/")


def kept(request: Request, key: str, render: Render, kind: str) -> Deferred:
    """What `render` makes of the latest document, once for all visitors. `key` says what else goes into it."""
    latest, asked = latest_status(request.node), Asked.of(request.environ)
    return Deferred(lambda: answer(asked, latest.text(key, render), kind))


def tagged(request: Request, text: str, kind: str) -> Response:
    """The same for what is not kept."""
    return answer(Asked.of(request.environ), KeptText.of(text), kind)


def answer(asked: Asked, text: KeptText, kind: str) -> Response:
    """With an ETag; 304 to whoever has it already. Packed for whoever can unpack: there is no secret on these pages."""
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
