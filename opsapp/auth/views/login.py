"""Signing in and out."""

from __future__ import annotations

from pyramid.request import Request

from opsapp.auth import engine, records, resources, schemas
from opsapp.auth.cookies import client_of
from opsapp.tree.folder import Facet, add_facet
from opsapp.tree.root import Api
from opsapp.web import api
from opsapp.web.answers import Deferred, later, unless_left


class Login(Facet):
    """Where one signs in."""


add_facet(Api, "login", Login)


@api.act(Login, role="public", body=schemas.Login, returns=schemas.SignedIn, errors=(401, 429), audit=False)
def login(context: Login, request: Request) -> Deferred:
    """Sign in with a password."""
    node, body, client = request.node, request.valid_body, client_of(request)
    given = body["username"], body["password"], client
    return unless_left(lambda has_left: (200, {}, engine.sign_in(node, *given, has_left)))


@api.act(
    Login, "totp", role="public", body=schemas.SecondStep, returns=records.LoggedIn, errors=(401, 429), audit=False
)
def login_totp(context: Login, request: Request) -> Deferred:
    """The second step, with a code of the authenticator or a recovery code."""
    node, body, client = request.node, request.valid_body, client_of(request)
    return later(lambda: engine.second_step(node, body["partial_token"], body["code"], client))


@api.act(Api, "logout", role="viewer", own_session=True, returns=schemas.StatusOk, audit="logout", teams="own")
def logout(context: Api, request: Request) -> schemas.StatusOk:
    """End the session that asks."""
    resources.end_session(request.root, request.caller.name, request.caller.session_id)
    request.audit("logout", request.caller.name)
    return schemas.StatusOk()
