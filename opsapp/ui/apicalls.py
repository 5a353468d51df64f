"""A page asks the API, in its own process and transaction, as whoever looks: so it is refused what the API refuses, and
changes nothing but by it. Must not: know a page."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request
from pyramid.response import Response

from opsapp.auth.cookies import FIELD, HEADER
from opsapp.web import subrequests
from opsapp.web.answers import BY_PAGE
from opsapp.web.forms import first_look


def ask(request: Request, method: str, path: str, query: str = "", body: Any = None) -> Response:
    """The API's answer, as `subrequests.ask`; declared records come as they are."""
    token = first_look(request, FIELD) if request.method == "POST" else ""
    return subrequests.ask(request, method, path, query, body, headers={HEADER: token}, marks={BY_PAGE: True})
