"""Stream tickets: what a page puts into the address of an event stream instead of its session's token. One must be used
within 30 seconds, opens one stream and its reconnects, and ends with the session or key."""

from __future__ import annotations

import re

from BTrees.OOBTree import OOBTree
from persistent import Persistent

from opsapp.lib.ids import digest, new_token
from opsapp.tree.root import Root

from .expiry import purge_page
from .keys import live_key
from .places import all_sessions_of, tickets_of, users_of
from .sessions import live

LIFE_S = 30
LONGEST_S = 86_400
Parent = tuple[str, str, str, int | None]
STREAM = re.compile(r"/api/(?:.*/)?stream(?:/.*)?")


class Ticket(Persistent):
    place: str | None = None  # the stream it was used for

    def __init__(self, kind: str, parent: str, now: float):
        self.kind = kind  # session or key
        self.parent = parent  # the session's token digest, or the key's id
        self.made_at = now


def set_up(root: Root) -> None:
    """Evolve step."""
    tickets_of.put(root, OOBTree())


def make_ticket(root: Root, kind: str, username: str, session_id: str, now: float) -> str:
    parent = session_id if kind == "key" else users_of(root)[username].sessions[session_id]
    token = new_token()
    tickets_of(root)[digest(token)] = Ticket(kind, parent, now)
    return token


def use_ticket(root: Root, token: str, place: str, now: float) -> Parent | None:
    """(username, role, session id, when that ends), or None. Its first use binds it to `place`."""
    ticket = tickets_of(root).get(digest(token))
    if ticket is None or not STREAM.fullmatch(place):
        return None
    if ticket.place is None and now > ticket.made_at + LIFE_S:
        return None
    if ticket.place not in (None, place):
        return None
    parent = _parent(root, ticket, now)
    if parent is not None and ticket.place is None:
        ticket.place = place
    return parent


def _parent(root: Root, ticket: Ticket, now: float) -> Parent | None:
    if ticket.kind == "key":
        key, role = live_key(root, ticket.parent, now) or (None, "")
        return None if key is None else (key.username, role, ticket.parent, key.expires_at)
    session = live(root, all_sessions_of(root).get(ticket.parent), now)
    if session is None:
        return None
    return session.username, users_of(root)[session.username].role, session.id, session.expires_at


def purge_tickets(root: Root, now: float, after: str = "") -> str | None:
    def is_over(ticket: Ticket) -> bool:
        life = LIFE_S if ticket.place is None else LONGEST_S
        return now > ticket.made_at + life or _parent(root, ticket, now) is None

    return purge_page(tickets_of(root), after, is_over)
