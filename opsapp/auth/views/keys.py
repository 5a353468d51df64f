"""API keys and stream tickets: credentials that somebody signed in makes for programs and for pages."""

from __future__ import annotations

from pyramid.request import Request

from opsapp.auth import records, schemas
from opsapp.auth.assistants import ROLE as ASSISTANT_ROLE
from opsapp.auth.engine.limits import count_ticket
from opsapp.auth.records import KeyShown
from opsapp.auth.resources import ApiKey, Keys, drop_key, end_of, make_key, make_ticket
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Forbidden, NotFound
from opsapp.tree.acl import roles_up_to
from opsapp.tree.root import Api
from opsapp.web import api
from opsapp.web.fields import Paging
from opsapp.web.listpages import page_of
from opsapp.wire.records import plain

from .me import own_user


def wrong_key(request: Request, sound: JsonObject) -> dict[str, str]:
    """An assistant's key is a viewer's: beyond looking, a person decides each time."""
    is_wrong = sound.get("assistant") and sound.get("role") not in (None, ASSISTANT_ROLE)
    return wrong_end(request, sound) | ({"role": "must be viewer for an assistant"} if is_wrong else {})


def wrong_end(request: Request, sound: JsonObject) -> dict[str, str]:
    end, now = sound.get("expires_at"), int(request.now)
    if end is None:
        return {}
    if end <= now:
        return {"expires_at": "must be in the future"}
    latest = end_of(own_user(request), end, now)
    return {} if latest == end else {"expires_at": "must be within 30 days for a user of the identity provider"}


@api.get(Keys, query=Paging, returns=[KeyShown], teams="own")
def keys(context: Keys, request: Request) -> list[KeyShown]:
    """The caller's API keys; an admin sees everybody's."""
    return page_of(request, [key.shown() for key in context.values() if _may_see(request, key)])


@api.create(
    Keys,
    role="viewer",
    confirmed=True,
    body=records.NewKey,
    also=lambda keys, request, sound: wrong_key(request, sound),
    returns=schemas.KeyMade,
    audit="key.create",
    teams="own",
)
def create_key(context: Keys, request: Request) -> JsonObject:
    """A new API key; the key itself is shown this once."""
    body, now = request.valid_body, request.now
    body["expires_at"] = end_of(own_user(request), body["expires_at"], int(now))
    if body["role"] not in roles_up_to(request.caller.role):
        raise Forbidden("A key's role cannot be higher than your own.", code="role_too_low")
    about = body["name"], body["role"], body["expires_at"]
    key, token = make_key(request.root, request.caller.name, *about, now, assistant=body["assistant"])
    request.audit("key.create", key.__name__, after=plain(key.shown()))
    return {"id": key.__name__, **body, "key": token}


@api.delete(ApiKey, role="viewer", own_session=True, returns=schemas.StatusOk, audit="key.delete", teams="own")
def delete_key(context: ApiKey, request: Request) -> schemas.StatusOk:
    """End an API key at once."""
    if not _may_see(request, context):
        raise NotFound("There is nothing here.")
    request.audit("key.delete", context.__name__, before=plain(context.shown()))
    drop_key(request.root, context)
    return schemas.StatusOk()


def _may_see(request: Request, key: ApiKey) -> bool:
    return key.username == request.caller.name or request.caller.role == "admin"


@api.create(Api, "stream-ticket", role="viewer", returns=records.TicketMade, errors=(429,), audit=False, teams="own")
def stream_ticket(context: Api, request: Request) -> records.TicketMade:
    """A ticket that opens one event stream as `?token=`, to be used within 30 seconds."""
    caller = request.caller
    count_ticket(request.node, request.root, caller.name)
    now = request.now
    return records.TicketMade(make_ticket(request.root, caller.kind, caller.name, caller.session_id, now))
