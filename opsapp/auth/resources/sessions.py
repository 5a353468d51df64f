"""Sessions: a signed-in client, found by the digest of its token."""

from __future__ import annotations

from typing import Any

from persistent import Persistent

from opsapp.auth.records import SessionShown
from opsapp.lib.ids import digest, new_id, new_token
from opsapp.runtime.events import SESSION_ENDED, emit
from opsapp.tree.root import Root

from .places import all_sessions_of, readable_sessions, session_ends_of, users_of

SESSION_LIFE_S = 24 * 3600
PAGE = 500


class Session(Persistent):
    confirmed_at: int | None = None  # when the user last proved, within it, that it is really them

    def __init__(self, username: str, now: float, ip: str, agent: str, life: float):
        self.id = new_id()
        self.username = username
        self.created_at = int(now)
        self.expires_at = int(now + life)
        self.ip = ip
        self.user_agent = agent[:200]

    def confirmed_until(self, life: float) -> float:
        """Signing in is the first proof."""
        return (self.created_at if self.confirmed_at is None else self.confirmed_at) + life

    def shown(self, current_id: str | None) -> SessionShown:
        current = self.id == current_id
        return SessionShown(self.id, self.created_at, self.expires_at, self.ip, self.user_agent, current)


def open_session(root: Root, username: str, now: float, ip: str, agent: str, life: float = SESSION_LIFE_S) -> str:
    user = users_of(root)[username]
    token = new_token()
    session = Session(username, now, ip, agent, life)
    all_sessions_of(root)[digest(token)] = session
    session_ends_of(root)[(session.expires_at, session.id)] = digest(token)
    user.sessions[session.id] = digest(token)
    user.last_login = int(now)
    return token


def find_session(root: Root, token: str, now: float) -> Session | None:
    return live(root, all_sessions_of(root).get(digest(token)), now)


def live(root: Root, session: Session | None, now: float) -> Session | None:
    """The session, if it has not ended and its user may sign in."""
    if session is None or session.expires_at <= now:
        return None
    user = users_of(root).get(session.username)
    return None if user is None or user.disabled else session


def session_of(root: Root, username: str, session_id: str) -> Session | None:
    user = users_of(root).get(username)
    token_digest = None if user is None else user.sessions.get(session_id)
    return None if token_digest is None else all_sessions_of(root).get(token_digest)


def sessions_of(root: Root, user: Any, now: float) -> list[Session]:
    stored = readable_sessions(root).some(user.sessions.values())
    return sorted((session for session in stored if session.expires_at > now), key=lambda session: session.created_at)


def end_session(root: Root, username: str, session_id: str) -> bool:
    user = users_of(root).get(username)
    if user is None or session_id not in user.sessions:
        return False
    _drop(root, user, session_id)
    return True


def end_sessions(root: Root, user: Any, keep: str | None = None) -> None:
    for session_id in [kept for kept in user.sessions if kept != keep]:
        _drop(root, user, session_id)


def _drop(root: Root, user: Any, session_id: str) -> None:
    token_digest = user.sessions.pop(session_id)
    for session in readable_sessions(root).some([token_digest]):
        session_ends_of(root).pop((session.expires_at, session_id), None)
    del all_sessions_of(root)[token_digest]
    emit(root, SESSION_ENDED, {"session_id": session_id})


def purge_sessions(root: Root, now: float) -> bool:
    ended = list(session_ends_of(root).items(None, (int(now), "~")))[:PAGE]
    for (at, session_id), token_digest in ended:
        session = readable_sessions(root).find(token_digest)
        user = None if session is None else users_of(root).find(session.username)
        if user is not None and session_id in user.sessions:
            _drop(root, user, session_id)
        else:  # one of the two cannot be read
            all_sessions_of(root).pop(token_digest, None)
            del session_ends_of(root)[at, session_id]
    return len(ended) == PAGE
