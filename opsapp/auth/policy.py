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
from .resources import ApiKey, Session, find_key, find_session, live, live_key, session_of, use_ticket, users_of
from .resources.teams import sight_for

PEOPLE = ("session", "key", "ticket", ASSISTANT)  # the kinds of callers that are, or act for, a user
TOKEN = re.compile(r"[0-9a-f]{64}")


def read_credential(request: Request, root: Root) -> Identity | None:
    token = presented_token(request)
    now = request.now
    if not token:
        return _cookie(request, root, now)
    if not TOKEN.fullmatch(token):
        return None
    return (
        _of_session(root, find_session(root, token, now))
        or _of_key(find_key(root, token, now))
        or _ticket(request, root, token, now)
    )


def _cookie(request: Request, root: Root, now: float) -> Identity | None:
    """The session of a browser, where there is no other credential."""
    token = request.cookies.get(SESSION, "")
    if request.method in ("GET", "HEAD") and request.path_info.startswith("/api/") and is_from_elsewhere(request):
        return None
    identity = _of_session(root, find_session(root, token, now)) if TOKEN.fullmatch(token) else None
    if identity is not None:
        request.cookie_secret = token
    return identity


def _of_session(root: Root, session: Session | None) -> Identity | None:
    if session is None:
        return None
    return Identity("session", session.username, users_of(root)[session.username].role, session.id, session.expires_at)


def _of_key(key_and_role: tuple[ApiKey, str] | None) -> Identity | None:
    if key_and_role is None:
        return None
    key, role = key_and_role
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
    session = live(root, session_of(root, caller.name, caller.session_id), now)
    today = _of_key(live_key(root, caller.session_id, now)) or _of_session(root, session)
    if today is None or today.name != caller.name:
        return None
    return caller._replace(role=today.role, expires_at=today.expires_at)


def sight_of_caller(root: Root, caller: Identity) -> Sight | None:
    """A key is limited as its user is."""
    return sight_for(root, caller.name) if caller.kind in PEOPLE else None
