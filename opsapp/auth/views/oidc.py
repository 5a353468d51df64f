"""Single sign-on: /api/auth/oidc/authorize and /api/auth/oidc/callback."""

from __future__ import annotations

from typing import Any

from pyramid.request import Request
from pyramid.response import Response

from opsapp.auth import records
from opsapp.auth.config import LoginSettings
from opsapp.auth.cookies import SESSION, client_of, cookie
from opsapp.auth.engine import singlesignon
from opsapp.tree.folder import Facet, add_facet
from opsapp.tree.root import Api
from opsapp.web import api
from opsapp.web.answers import Deferred, Elsewhere

PLACE = "/api/auth/oidc"


class Auth(Facet):
    """Ways to sign in besides a password."""


class Oidc(Facet):
    """OpenID Connect."""


add_facet(Api, "auth", Auth)
add_facet(Auth, "oidc", Oidc)


def flow_cookie(state: str) -> str:
    """One cookie a flow, so that two tabs do not disturb each other."""
    return "opsapp_oidc_" + "".join(char for char in state[:8] if char in "0123456789abcdef")


@api.get(Oidc, "authorize", role="public", redirects=302, errors=(404, 502))
def authorize(context: Oidc, request: Request) -> Deferred:
    """To the identity provider."""
    node, secure = request.node, request.scheme == "https"
    singlesignon.settings_of(node)

    def fn() -> Response:
        address, state, sealed = singlesignon.begin(node)
        kept = cookie(flow_cookie(state), sealed, secure=secure, max_age=singlesignon.FLOW_S, path=PLACE)
        return _to(302, address, kept)

    return Deferred(fn)


@api.get(Oidc, "callback", role="public", returns=records.LoggedIn, redirects=303, errors=(403, 404, 502))
def callback(context: Oidc, request: Request) -> Deferred:
    """Back from the identity provider: a session, as a cookie for a browser, as JSON for a program."""
    node, client, secure = request.node, client_of(request), request.scheme == "https"
    singlesignon.settings_of(node)
    given = singlesignon.ProviderAnswer(*(request.GET.get(name, "") for name in singlesignon.ProviderAnswer._fields))
    kept = flow_cookie(given.state)
    sealed = request.cookies.get(kept, "")
    wants_json = "application/json" in request.headers.get("Accept", "")
    life = int(node.config[LoginSettings].session_s)

    def fn() -> Any:
        signed_in = singlesignon.finish(node, sealed, given, client)
        over = cookie(kept, None, secure=secure, path=PLACE)
        if wants_json:
            return 200, {"Set-Cookie": over}, signed_in
        return _to(303, "/", over, cookie(SESSION, signed_in.token, secure=secure, max_age=life))

    return Deferred(fn)


def _to(status: int, place: str, *cookies: str) -> Response:
    response = Elsewhere(status=status, location=place)
    response.headerlist += [("Set-Cookie", cookie) for cookie in cookies]
    return response
