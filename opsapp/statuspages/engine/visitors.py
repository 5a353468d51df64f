"""Decides who may read a page with a password: whoever has the cookie of the page's present password, or says the
password. Passwords are checked outside any transaction, as those of users are. Must not: know HTTP."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from opsapp.audit.engine import Actor, note, refused
from opsapp.auth.engine import (
    AttemptLimit,
    count_attempts,
    forget_attempts,
    hash_password,
    hashing_of,
    in_turn,
    password_problem,
    seconds_locked,
    verify_password,
)
from opsapp.lib.networks import counted_address
from opsapp.lib.problems import Invalid, NotFound, TooMany, Unauthenticated
from opsapp.runtime.events import emit
from opsapp.runtime.node import Node, node_of, now_of
from opsapp.runtime.threads.fair import Whose
from opsapp.statuspages.logic.settings import StatusPageSettings
from opsapp.statuspages.records import OwnPageRecord
from opsapp.statuspages.resources import store_of, visit_of
from opsapp.tree.root import Root

from .settings import EVENT

KEY = "opsapp.statuspages.said"
MOST_SAID = 1_000
HasLeft = Callable[[], bool]
Counters = list[tuple[str, AttemptLimit]]


class PageDoor(NamedTuple):
    """What a password is checked against, read in a transaction. `locked`: seconds that this address has to wait."""

    page: str
    version: str
    password_hash: str | None
    locked: int = 0


class PageVisit(NamedTuple):
    """What the visitor's cookie holds, and for how many seconds it is good."""

    value: str
    lasts: int


class SaidBefore:
    """Passwords that were right lately: a feed reader sends it each time, and is not checked each time. In this process
    alone, as keyed hashes under a key that is stored nowhere."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._known: OrderedDict[bytes, None] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, door: PageDoor, password: str) -> None:
        with self._lock:
            self._known[self._mark(door, password)] = None
            while len(self._known) > MOST_SAID:
                self._known.popitem(last=False)

    def holds(self, door: PageDoor, password: str) -> bool:
        with self._lock:
            return self._mark(door, password) in self._known

    def _mark(self, door: PageDoor, password: str) -> bytes:
        return hmac.digest(self._key, json.dumps([door.page, door.version, password]).encode(), hashlib.sha256)


def said_before(node: Node) -> SaidBefore:
    said: SaidBefore = node.registry.setdefault(KEY, SaidBefore())
    return said


def is_closed(root: Root, slug: str) -> bool:
    page = store_of(root).own_page(slug)
    return page is not None and page.is_protected


def has_visit(root: Root, slug: str, value: str) -> bool:
    page, now = store_of(root).own_page(slug), now_of(root)
    until = value.partition(".")[0]
    if page is None or not until.isdecimal() or len(until) > 12 or int(until) <= now:
        return False
    return hmac.compare_digest(visit_of(root, page, int(until)).encode(), value.encode("utf-8", "replace"))


def has_said(root: Root, slug: str, ip: str, password: str) -> bool:
    """Not from an address that has to wait: it would learn there which guess is right."""
    door = _door(root, slug)
    counters = _counters(node_of(root), door.page, ip)
    return not seconds_locked(root, counters, now_of(root)) and said_before(node_of(root)).holds(door, password)


def enter(node: Node, slug: str, ip: str, password: str, has_left: HasLeft) -> PageVisit:
    """TooMany, HashingBusy (then nothing was counted), Unauthenticated."""
    page = node.transact(_door, slug).page
    counters = _counters(node, page, ip)
    whose = Whose("status-page", counters[0][0])
    with hashing_of(node).admitted(whose):
        door = in_turn(node, _begin, slug, counters, whose=whose)
        if door.locked:
            refused(node, Actor(None, ip), "status_page.enter", page, "too_many_attempts")
            words = f"Too many attempts. Try again in {door.locked} seconds."
            raise TooMany(words, code="too_many_attempts", retry_after=door.locked)
        if not verify_password(node, whose, door.password_hash, password, has_left):
            raise Unauthenticated("The password is wrong.", code="wrong_page_password")
    said_before(node).add(door, password)
    return node.transact(_let_in, slug, counters, door.version)


def _door(root: Root, slug: str) -> PageDoor:
    page = store_of(root).own_page(slug)
    if page is None:
        raise NotFound("There is nothing here.")
    return PageDoor(page.id, page.password_version, page.password_hash)


def _counters(node: Node, page: str, ip: str) -> Counters:
    options = node.config[StatusPageSettings]
    limit = AttemptLimit(options.passwords_per_ip, options.password_window_s, options.password_lock_s)
    return [(f"status-page:{page}:{counted_address(ip)}", limit)]


def _begin(root: Root, slug: str, counters: Counters) -> PageDoor:
    locked = count_attempts(root, counters, now_of(root))
    return _door(root, slug)._replace(locked=locked)


def _let_in(root: Root, slug: str, counters: Counters, version: str) -> PageVisit:
    """Unauthenticated: it got another password meanwhile."""
    page, node = store_of(root).own_page(slug), node_of(root)
    if page is None or page.password_version != version:
        raise Unauthenticated("The password is wrong.", code="wrong_page_password")
    forget_attempts(root, [name for name, _ in counters], node.clock.now())
    lasts = int(node.config[StatusPageSettings].visit_s)
    return PageVisit(visit_of(root, page, int(node.clock.now()) + lasts), lasts)


def refuse_weak(password: str) -> None:
    message = password_problem(password, "")
    if message:
        raise Invalid({"password": message})


def set_password(node: Node, slug: str, password: str, actor: Actor) -> OwnPageRecord:
    """Whoever came in with an older one has to say the new one."""
    return node.transact(_set_password, slug, hash_password(node, password), actor)


def _set_password(root: Root, slug: str, password_hash: str, actor: Actor) -> OwnPageRecord:
    page = store_of(root).own_page(slug)
    if page is None:
        raise NotFound("There is no such page.")
    page.protect(password_hash)
    note(root, actor, "status_page.password", slug)
    emit(root, EVENT, {"change": "page"})
    return page.record
