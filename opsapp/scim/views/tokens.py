"""/api/scim-tokens: an admin makes a token for an identity provider, and ends it."""

from __future__ import annotations

from pyramid.request import Request

from opsapp.auth.records import ScimTokenMade, ScimTokenRecord
from opsapp.auth.resources import ScimToken, ScimTokens, drop_scim_token, make_scim_token
from opsapp.lib.problems import Invalid
from opsapp.scim.logic.shown import BASE
from opsapp.web import api
from opsapp.web.fields import Paging
from opsapp.web.listpages import page_of
from opsapp.web.schemas import Deleted
from opsapp.wire.records import extended, made, plain

from .answers import location_of


@api.get(ScimTokens, role="admin", query=Paging, returns=[ScimTokenRecord])
def scim_tokens(context: ScimTokens, request: Request) -> list[ScimTokenRecord]:
    """The tokens of identity providers."""
    return page_of(request, [token.record() for token in context.values()])


@api.create(
    ScimTokens, role="admin", confirmed=True, body=ScimTokenRecord, returns=ScimTokenMade, audit="scim_token.create"
)
def create_scim_token(context: ScimTokens, request: Request) -> ScimTokenMade:
    """A token that opens /scim/v2 and nothing else; it is shown this once."""
    wanted = made(ScimTokenRecord, request.valid_body)
    who, now = request.caller.name, request.now
    if wanted.expires_at is not None and wanted.expires_at <= now:
        raise Invalid({"expires_at": "must be in the future"})
    token, secret = make_scim_token(request.root, wanted.name, wanted.expires_at, who, now)
    request.audit("scim_token.create", token.name, after=plain(token.record()))
    return extended(ScimTokenMade, token.record(), url=location_of(request, BASE), token=secret)


@api.delete(ScimToken, role="admin", confirmed=True, returns=Deleted, audit="scim_token.delete")
def delete_scim_token(context: ScimToken, request: Request) -> Deleted:
    """The provider is refused at once. Its users stay as they are."""
    request.audit("scim_token.delete", context.name, before=plain(context.record()))
    drop_scim_token(request.root, context)
    return Deleted()
