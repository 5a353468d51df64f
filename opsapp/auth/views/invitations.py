"""/api/invitations: who was invited and has not come yet."""

from __future__ import annotations

from pyramid.request import Request

from opsapp.auth import schemas
from opsapp.auth.engine import invitations as engine
from opsapp.auth.records import InvitationMade, InvitationRecord
from opsapp.auth.resources.invitations import Invitation, Invitations, open_invitations
from opsapp.web import api
from opsapp.web.fields import Paging
from opsapp.web.listpages import page_of
from opsapp.wire.records import made


@api.get(Invitations, role="admin", query=Paging, returns=[InvitationRecord])
def invitations(context: Invitations, request: Request) -> list[InvitationRecord]:
    """Links that can still be used, without the links themselves."""
    live = open_invitations(request.root, request.now)
    return [row.describe() for row in page_of(request, live)]


@api.create(
    Invitations, role="admin", confirmed=True, body=InvitationRecord, returns=InvitationMade, audit="invitation.create"
)
def invite(context: Invitations, request: Request) -> InvitationMade:
    """A link by which somebody becomes a user, once, with a password of their own. It is shown this once."""
    request.audited = True
    return engine.make(request.root, made(InvitationRecord, request.valid_body), request.actor)


@api.delete(Invitation, role="admin", confirmed=True, returns=schemas.StatusOk, audit="invitation.delete")
def revoke(context: Invitation, request: Request) -> schemas.StatusOk:
    """The link can no longer be used."""
    request.audited = True
    engine.revoke(request.root, context, request.actor)
    return schemas.StatusOk()
