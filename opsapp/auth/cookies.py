"""Browser sessions: the session's token in a cookie, and the token that shows that a change comes from our own page.

A page of another site can make a browser send the cookie, but it cannot read what our page says: so every unsafe
request that is known by its cookie alone carries `X-CSRF-Token` (or the form field `csrf_token`), made from the
session's token. What only reads under /api needs none, because an EventSource could not send it: there the browser's
own word on who asks counts. A request with a credential of its own in header or address needs neither.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Any

from pyramid.config import Configurator
from pyramid.request import Request
from pyramid.security import NO_PERMISSION_REQUIRED
from webob.cookies import make_cookie

from opsapp.lib.ids import digest
from opsapp.lib.problems import Forbidden
from opsapp.web.address import same_origin
from opsapp.web.derivers import UNSAFE
from opsapp.web.forms import first_look

SESSION = "opsapp_session"
FIELD, HEADER = "csrf_token", "X-CSRF-Token"

View = Callable[[Any, Request], Any]


def cookie(name: str, value: str | None, *, secure: bool, max_age: int | None = None, path: str = "/") -> str:
    """A Set-Cookie value that no script reads and no other site sends along; None for the value takes it away."""
    return make_cookie(name, value, max_age=max_age, path=path, secure=secure, httponly=True, samesite="Lax")


def csrf_token(secret: str) -> str:
    """What a form of somebody with this cookie carries. The cookie cannot be told from it."""
    return digest("csrf\0" + secret)


def carries(request: Request, secret: str) -> bool:
    """Whether the request has the CSRF token of this cookie. The rest of a form is not read for it."""
    given = request.headers.get(HEADER) or first_look(request, FIELD)
    return hmac.compare_digest(given.encode(), csrf_token(secret).encode())


def is_from_elsewhere(request: Request) -> bool:
    """Whether a page of another site reads this: from another host of the same site the browser sends the cookie along.
    A link that somebody follows is nothing that a page reads."""
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site not in ("same-origin", "none") and request.headers.get("Sec-Fetch-Mode") != "navigate"
    origin = request.headers.get("Origin")
    return origin is not None and not same_origin(origin, request.scheme, request.host)


def csrf_deriver(view: View, info: Any) -> View:
    """Whoever is known by a cookie changes nothing without the token. Public views do not ask who it is."""
    if info.exception_only or info.options.get("permission") == NO_PERMISSION_REQUIRED:
        return view

    def wrapped(context: Any, request: Request) -> Any:
        secret = getattr(request, "cookie_secret", None)
        if secret is not None and request.method in UNSAFE and not carries(request, secret):
            raise Forbidden("This did not come from a page of this service.", code="csrf")
        return view(context, request)

    return wrapped


def includeme(config: Configurator) -> None:
    config.add_view_deriver(csrf_deriver, "csrf", under="audited", over="secured_view")
