"""/status and what hangs below it: public, no cookie, complete without script."""

from __future__ import annotations

import gzip
import hashlib

from pyramid.request import Request
from pyramid.response import Response

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import NotFound
from opsapp.monitoring.engine import published, published_incident, published_incidents, status_document
from opsapp.statuspages import engine
from opsapp.tree.folder import Facet, add_facet
from opsapp.tree.root import Root
from opsapp.ui import statuspage, statusshape
from opsapp.web import api
from opsapp.web.config import WebSettings
from opsapp.web.fields import Query, text
from opsapp.web.packing import takes_gzip

AT_ONCE = 200  # incidents of a month
SMALL = 1400  # bytes, of which packing saves nothing


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
def page(context: StatusPage, request: Request) -> Response:
    return tagged(request, statuspage.page(about(request), document(request)), "text/html")


@api.get(MonthsFacet, role="public", query=Month, returns="text/html")
def history(context: MonthsFacet, request: Request) -> Response:
    """Incidents and maintenance of a month of the page's zone."""
    looks, now = about(request), request.node.clock.now()
    month = request.valid_query["month"] or statusshape.month_of(now, looks["timezone"])
    start, end = statusshape.month_edges(month, looks["timezone"])
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
def monitor_page(context: PublicMonitorPage, request: Request) -> Response:
    return tagged(request, statuspage.monitor_page(about(request), monitor_of(request, context.__name__)), "text/html")


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
def feed(context: Root, request: Request) -> Response:
    return tagged(request, statuspage.feed(document(request), base_of(request)), "application/rss+xml")


@api.get(StatusPage, "calendar.ics", role="public", returns="text/calendar")
def calendar(context: StatusPage, request: Request) -> Response:
    """Maintenance, for programs that follow a calendar; what was cancelled says so."""
    names, link = published(request.node, request.root), f"{base_of(request)}/status"
    shown = [entry for entry in engine.calendar(request.root) if not names.keys().isdisjoint(entry.monitors)]
    title = f"{about(request)['name']}: maintenance"
    return tagged(request, engine.calendar_text(title, shown, names, link), "text/calendar")


@api.get(Badge, role="public", returns="image/svg+xml")
def badge(context: Badge, request: Request) -> Response:
    return tagged(request, statuspage.badge(monitor_of(request, context.__name__)), "image/svg+xml")


def monitor_of(request: Request, monitor_id: str) -> JsonObject:
    for monitor in document(request)["monitors"]:
        if monitor["id"] == monitor_id:
            return monitor
    raise NotFound("There is nothing here.")


def about(request: Request) -> JsonObject:
    return engine.public_page(request.root)


def document(request: Request) -> JsonObject:
    return status_document(request.node, request.root)


def base_of(request: Request) -> str:
    """Where visitors see the page."""
    address = engine.settings_of(request.root)["public_url"] or request.node.config[WebSettings].base_url
    return (address or request.host_url).rstrip("/")


def tagged(request: Request, text: str, kind: str) -> Response:
    """With an ETag; 304 to whoever has it already. Packed for whoever can unpack: there is no secret on these pages."""
    body = text.encode("utf-8", "replace")
    mark = hashlib.sha256(body).hexdigest()[:32]
    response = Response(body, content_type=kind, charset="utf-8", conditional_response=True)
    response.etag, response.cache_control, response.vary = mark, "no-cache", ("Accept-Encoding",)
    if len(body) > SMALL and takes_gzip(request.headers.get("Accept-Encoding", "")):
        response.body = gzip.compress(body, 5, mtime=0)
        response.headers["Content-Encoding"] = "gzip"
    return response
