"""Status pages with a password: who has not said it gets the question for it, whatever of the page was asked for. A
browser keeps a cookie; feed readers, calendars and scripts say it by HTTP Basic, with any user name.

No view below a page can forget to ask, since none is asked itself. Must not: make anything that a page shows.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

from pyramid.config import Configurator
from pyramid.request import Request
from pyramid.response import Response
from pyramid.security import NO_PERMISSION_REQUIRED

from opsapp.auth.cookies import cookie
from opsapp.lib.problems import Problem, Unauthenticated
from opsapp.runtime.node import Node
from opsapp.statuspages import engine
from opsapp.tree.folder import Facet, add_facet
from opsapp.ui import statuspage
from opsapp.ui.pages import local_path, see_other
from opsapp.web import api
from opsapp.web.answers import Deferred, HasLeft, unless_left
from opsapp.web.asked import Asked
from opsapp.web.errors import headers_of, status_of
from opsapp.web.forms import read_form
from opsapp.web.paths import SIGN_IN_LIMIT

from .statuspage import OwnStatusPage, slug_of

COOKIE = "opsapp_page"  # one for each page: its path is that of the page
FILES = (".rss", ".json", ".ics", ".svg")  # what programs ask for
BASIC = 'Basic realm="Status page", charset="UTF-8"'
LONGEST = 1024
View = Callable[[Any, Request], Any]


class UnlockForm(Facet):
    """/status/{slug}/unlock"""

    open_to_all = True


add_facet(OwnStatusPage, "unlock", UnlockForm)


@api.submit(UnlockForm, role="public", returns="text/html")
def unlock(context: UnlockForm, request: Request) -> Deferred:
    form, slug, node, ip = read_form(request), slug_of(request) or "", request.node, request.client_ip
    home, secure = statuspage.own_place(slug).home, request.scheme == "https"
    place = place_below(home, form.get("next", ""))
    password = form.get("password", "")[:LONGEST]

    def enter(has_left: HasLeft) -> Response:
        try:
            visit = engine.enter(node, slug, ip, password, has_left)
        except Problem as problem:
            return locked(slug, place, problem)
        return see_other(place, cookie(COOKIE, visit.value, secure=secure, max_age=visit.lasts, path=home))

    return unless_left(enter)


def place_below(home: str, wanted: str) -> str:
    """Of the page itself, and of no other site."""
    place = local_path(wanted)
    return place if place.startswith(f"{home}/") and ".." not in place else home


def locked_deriver(view: View, info: Any) -> View:
    """Only what everybody may ask for can be below a page."""
    if info.exception_only or info.options.get("permission") != NO_PERMISSION_REQUIRED:
        return view

    def asking(context: Any, request: Request) -> Any:
        slug = slug_of(request)
        if slug is None or getattr(context, "open_to_all", False) or not engine.is_closed(request.root, slug):
            return view(context, request)
        if engine.has_visit(request.root, slug, request.cookies.get(COOKIE, "")):
            return private(view(context, request))
        said = said_by(request) if request.method in ("GET", "HEAD") else None
        if said is None:
            return question(Asked.of(request.environ), slug)
        if engine.has_said(request.root, slug, request.client_ip, said):
            return private(view(context, request))
        return once_said(request, slug, said, held_answer(view, context, request))

    return asking


def held_answer(view: View, context: Any, request: Request) -> Response | Problem:
    """Of a view that only reads. That something is not there is not told before the password is found right either."""
    try:
        response: Response = view(context, request)
    except Problem as problem:
        return problem
    return response


def said_by(request: Request) -> str | None:
    """The password of HTTP Basic; None where there is none, or nothing that is one."""
    kind, _, text = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() != "basic" or len(text) > 2 * LONGEST:
        return None
    try:
        _, colon, password = base64.b64decode(text, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return password[:LONGEST] if colon else None


def once_said(request: Request, slug: str, password: str, held: Response | Problem) -> Deferred:
    """What the view has answered, once the password is found right."""
    node, ip, asked = request.node, request.client_ip, Asked.of(request.environ)

    def released(has_left: HasLeft) -> Response:
        try:
            return let_out(node, slug, ip, password, has_left, held)
        except Unauthenticated as problem:
            return question(asked, slug, problem)

    return unless_left(released)


def let_out(node: Node, slug: str, ip: str, password: str, has_left: HasLeft, held: Response | Problem) -> Response:
    engine.enter(node, slug, ip, password, has_left)
    if isinstance(held, Problem):
        raise held
    response: Response = held.fn() if isinstance(held, Deferred) else held
    return private(response)


def question(asked: Asked, slug: str, problem: Problem | None = None) -> Response:
    """A browser asks by itself where it sees `Basic`, so a page has the form instead."""
    if not asked.path.endswith(FILES):
        return locked(slug, asked.path, problem)
    response = Response("This needs the password of the page.\n", 401, content_type="text/plain", charset="utf-8")
    response.www_authenticate = BASIC
    return private(response)


def locked(slug: str, place: str, problem: Problem | None = None) -> Response:
    status = 401 if problem is None else status_of(problem)
    text = statuspage.locked(slug, place, problem.message if problem else "")
    response = Response(text.encode(), status, content_type="text/html", charset="utf-8", cache_control="no-store")
    response.headers.update(headers_of(problem) if problem else {})
    if status == 401:
        response.www_authenticate = 'Form realm="Status page"'
    return private(response)


def private(response: Response) -> Response:
    """For this visitor alone, and in no search engine. An answer that is made later has the same."""
    if isinstance(response, Deferred):
        inner = response.fn
        return Deferred(lambda: private(inner()))
    if response.headers.get("Cache-Control") != "no-store":
        response.headers.update({"Cache-Control": "private, no-cache"})
    response.vary = ("Accept-Encoding", "Cookie", "Authorization")
    response.headers.update({"X-Robots-Tag": "noindex, nofollow", "Referrer-Policy": "same-origin"})
    return response


def includeme(config: Configurator) -> None:
    config.add_view_deriver(locked_deriver, "locked_page")
    config.add_body_limit("POST", "/status/{slug}/unlock", SIGN_IN_LIMIT)
