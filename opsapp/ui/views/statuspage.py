"""/status, its stylesheet, its feed and its badges: public, no cookie, no script."""

from __future__ import annotations

import hashlib
from typing import Any

from pyramid.request import Request
from pyramid.response import Response

from opsapp.lib.problems import NotFound
from opsapp.monitoring.engine import status_document
from opsapp.tree.folder import Facet, add_facet
from opsapp.tree.root import Root
from opsapp.ui import statuspage
from opsapp.web import api
from opsapp.web.config import WebSettings


class StatusPage(Facet):
    """/status"""


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


@api.get(StatusPage, role="public", returns="text/html")
def page(context: StatusPage, request: Request) -> Response:
    return tagged(request, statuspage.page(document(request)), "text/html")


@api.get(Root, "status.css", role="public", returns="text/css")
def stylesheet(context: Root, request: Request) -> Response:
    return tagged(request, statuspage.stylesheet(), "text/css")


@api.get(Root, "status.rss", role="public", returns="application/rss+xml")
def feed(context: Root, request: Request) -> Response:
    base = request.node.config[WebSettings].base_url or request.host_url
    return tagged(request, statuspage.feed(document(request), base.rstrip("/")), "application/rss+xml")


@api.get(Badge, role="public", returns="image/svg+xml")
def badge(context: Badge, request: Request) -> Response:
    for monitor in document(request)["monitors"]:
        if monitor["id"] == context.__name__:
            return tagged(request, statuspage.badge(monitor), "image/svg+xml")
    raise NotFound("There is nothing here.")


def document(request: Request) -> dict[str, Any]:
    return status_document(request.node, request.root)


def tagged(request: Request, text: str, kind: str) -> Response:
    """With an ETag; 304 to whoever has it already."""
    response = Response(text, content_type=kind, charset="utf-8", conditional_response=True)
    response.etag = hashlib.sha256(text.encode()).hexdigest()[:32]
    response.cache_control = "no-cache"
    return response
