"""How a page is made: templates, what every page knows, and the pages that say what went wrong.

Nothing here needs a request that is still alive: deferred answers make pages too, from plain values.
"""

from __future__ import annotations

import math
import re
from datetime import datetime, timezone
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from pyramid.request import Request
from pyramid.response import Response

from opsapp.auth.cookies import csrf_token
from opsapp.lib.ids import new_token
from opsapp.lib.problems import Problem
from opsapp.web.answers import Elsewhere
from opsapp.web.asked import Asked

from . import building

_LOCAL = re.compile(r"/(?![/\\])[!-~]*")


def render(template: str, values: dict[str, Any], status: int = 200) -> Response:
    """A page from plain values; `me` and `csrf` are absent for who is not signed in."""
    unknown = {"me": None, "csrf": None, "once": None, "menu": (), "path": None}
    text = _templates.get_template(template).render(unknown | values)
    body = text.encode("utf-8", "replace")  # half a character in what a program said is no reason for no page
    return Response(body, status, content_type="text/html", charset="utf-8", cache_control="no-store")


def page(request: Request, template: str, **values: Any) -> Response:
    """A page for the caller."""
    return render(template, known_of(request) | values)


def known_of(request: Request) -> dict[str, Any]:
    """What every page knows of its reader."""
    secret = getattr(request, "cookie_secret", None)
    me = request.caller and {"username": request.caller.name, "role": request.caller.role}
    token = csrf_token(secret) if secret else None
    once = new_token()  # the forms of this page: one that comes a second time, unchanged, was sent by a reload
    return {"me": me, "csrf": token, "once": once, "menu": menu_of(request), "path": request.path_info}


def menu_of(request: Request) -> list[tuple[str, str]]:
    """(path, name) of the pages that lead on from every page: those that its reader may see."""
    if request.caller is None:
        return []
    known, role = building.known_of(request.registry), request.caller.role
    pages = [page for page in known.pages if page.menu]
    mine = [page for page in pages if all(known.may(role, api) for api in building.needed(page))]
    group = "/" + request.path_info.split("/")[1]
    return [(page.path, page.menu or "") for page in mine if page.path.count("/") == 1 or page.group == group]


def local_path(text: str | None) -> str:
    """Where to go after signing in: a path of this service, or its first page."""
    return text if text and len(text) <= 2000 and _LOCAL.fullmatch(text) else "/"


def see_other(place: str, *cookies: str) -> Response:
    response = Elsewhere(status=303, location=place)
    response.headerlist += [("Set-Cookie", cookie) for cookie in cookies]
    return response


def error_page(asked: Asked, status: int, problem: Problem) -> Response:
    """A problem outside /api: to the page for signing in, or a page that says what it is."""
    if status == 401 and asked.method in ("GET", "HEAD"):
        wanted = asked.path + (f"?{asked.query}" if asked.query and "token" not in asked.query else "")
        return see_other("/login?next=" + quote(wanted, safe="/"))
    titles = {401: "Sign in first", 403: "Not allowed", 404: "Not found", 503: "Not now"}
    me = asked.username and {"username": asked.username, "role": None}
    title = titles.get(status, "That did not work")
    fields = getattr(problem, "fields", None)
    known = {"title": title, "problem": problem, "asked": asked, "me": me, "fields": fields, "path": asked.path}
    return render("problem.jinja2", known, status)


def plain(value: Any) -> str:
    """Any value in words."""
    if value is None or value in ([], {}):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name} {plain(each)}" for name, each in value.items())
    if isinstance(value, list):
        return "; ".join(plain(each) for each in value)
    return str(value)


def steps(value: Any) -> str:
    """Actions with their parameters, as in `process_kill (top cpu); clear_cache`."""
    told = []
    for step in [value] if isinstance(value, dict) else value:
        params = f" ({plain(step['params'])})" if step.get("params") else ""
        told.append((step.get("action") or step["type"]) + params)
    return "; ".join(told)


def percent(value: float) -> str:
    """Down to the next hundredth: 99.996 is never shown as 100."""
    return f"{math.floor(value * 100) / 100:g} %"


def moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def machine(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _make_templates() -> Environment:
    made = Environment(
        loader=PackageLoader("opsapp.ui", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters.update(moment=moment, machine=machine, plain=plain, percent=percent, steps=steps, dig=building.dig)
    made.filters.update(filled=building.filled, holds=building.holds, names=building.names_of)
    made.filters.update(for_row=building.for_row, choices=building.choices_of)
    return made


_templates = _make_templates()
