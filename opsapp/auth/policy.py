"""How a credential becomes an Identity: a session's token, an API key, a stream ticket."""

from __future__ import annotations

import re

from pyramid.request import Request

from opsapp.lib.ids import digest
from opsapp.tree.rights import Sight
from opsapp.tree.root import Root
from opsapp.web.identity import Identity, presented_token

from .assistants import KIND as ASSISTANT
from .cookies import SESSION, is_from_elsewhere
from .resources import find_key, find_session, live_key, live_session, use_ticket, users_of
from .resources.teams import sight_for

PEOPLE = ("session", "key", "ticket", ASSISTANT)  # the kinds of callers that are, or act for, a user
TOKEN = re.compile(r"[0-9a-f]{64}")


def read_credential(request: Request, root: Root) -> Identity | None:
    token = presented_token(request)
    now = request.node.clock.now()
    if not token:
        return _cookie(request, root, now)
    if not TOKEN.fullmatch(token):
        return None
    return _session(root, token, now) or _key(root, token, now) or _ticket(request, root, token, now)


def _cookie(request: Request, root: Root, now: float) -> Identity | None:
    """The session of a browser, where there is no other credential."""
    token = request.cookies.get(SESSION, "")
    if request.method in ("GET", "HEAD") and request.path_info.startswith("/api/") and is_from_elsewhere(request):
        return None
    identity = _session(root, token, now) if TOKEN.fullmatch(token) else None
    if identity is not None:
        request.cookie_secret = token
    return identity


def _session(root: Root, token: str, now: float) -> Identity | None:
    session = find_session(root, token, now)
    if session is None:
        return None
    return Identity("session", session.username, users_of(root)[session.username].role, session.id, session.expires_at)


def _key(root: Root, token: str, now: float) -> Identity | None:
    live = find_key(root, token, now)
    if live is None:
        return None
    key, role = live
    return Identity(ASSISTANT if key.assistant else "key", key.username, role, key.__name__, key.expires_at)


def _ticket(request: Request, root: Root, token: str, now: float) -> Identity | None:
    """Only in the address of a stream: everything else has headers."""
    if request.method != "GET" or request.GET.get("token") != token:
        return None
    owner = use_ticket(root, token, request.path_info, now)
    return None if owner is None else Identity("ticket", *owner, ticket=digest(token))


def look_up(root: Root, caller: Identity, now: float) -> Identity | None:
    """Who another node vouched for, as the store has it now, with the role of today."""
    if caller.session_id is None:
        return None
    key = live_key(root, caller.session_id, now)
    if key is not None:
        user, role, ends = key[0].username, key[1], key[0].expires_at
    else:
        session = live_session(root, caller.name, caller.session_id, now)
        if session is None:
            return None
        user, role, ends = session.username, users_of(root)[session.username].role, session.expires_at
    return caller._replace(role=role, expires_at=ends) if user == caller.name else None


def sight_of_caller(root: Root, caller: Identity) -> Sight | None:
    """A key is limited as its user is."""
    return sight_for(root, caller.name) if caller.kind in PEOPLE else None
