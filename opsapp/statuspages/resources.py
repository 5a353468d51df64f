"""Stores the settings, subscribers and queues of the public page. Addresses are sealed; a subscriber is found by a
keyed hash of the address, which nobody without the store's key can make. A row of a queue names
`announcement/subscriber`, or `confirm/subscriber`."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import replace
from typing import Any, NamedTuple

from BTrees.OOBTree import OOBTree, OOTreeSet
from persistent import Persistent

from opsapp.lib.addresses import HIDDEN
from opsapp.lib.ids import new_id
from opsapp.lib.pagenames import MAIN
from opsapp.lib.problems import Unavailable
from opsapp.runtime.queue import Agenda, Claims, Inbox
from opsapp.runtime.secrets.chainkey import chain_key
from opsapp.runtime.secrets.seals import Reseal, seal_of
from opsapp.statuspages.logic.addresses import KINDS, normalised
from opsapp.statuspages.logic.calendar import PlannedTime
from opsapp.statuspages.logic.letters import NewsItem
from opsapp.statuspages.records import LogoRecord, OwnPageRecord, PageRecord
from opsapp.tree.reading import sound
from opsapp.tree.root import Root
from opsapp.wire.records import made, unsealed

PLACE = "status_page"
MAIL_SERVER, SUBSCRIBER = "status page mail server", "status page subscriber"
CONFIRM = "confirm"


class Logo(NamedTuple):
    data: bytes
    kind: str
    digest: str

    @property
    def record(self) -> LogoRecord:
        return LogoRecord(self.kind, len(self.data), self.digest)


class OwnPage(Persistent):
    """A page of its own. Notices, incidents and subscribers know it by its id, which stays when its path changes.
    `password_version`: another one for each password, so that cookies of older ones end."""

    password_hash: str | None = None
    password_version = ""

    def __init__(self, page: OwnPageRecord):
        self.id = new_id()
        self.settings = unsealed(page)

    @property
    def is_protected(self) -> bool:
        """Where nobody has set a password yet, nobody comes in."""
        return bool(self.settings.get("protected"))

    def protect(self, password_hash: str) -> None:
        self.password_hash, self.password_version = password_hash, new_id()
        self.change(replace(self.record, protected=True))

    def open(self) -> None:
        self.password_hash, self.password_version = None, new_id()

    @property
    def record(self) -> OwnPageRecord:
        """What a newer version added to the settings has its default."""
        return replace(made(OwnPageRecord, self.settings), id=self.id, has_password=self.password_hash is not None)

    def change(self, page: OwnPageRecord) -> None:
        """A page that is opened forgets its password."""
        self.settings = {**self.settings, **unsealed(page)}
        if not page.protected and self.password_hash is not None:
            self.open()


class ToldNotice(NamedTuple):
    """A notice that subscribers were told of. `pages`: their ids."""

    title: str
    pages: tuple[str, ...] = (MAIN,)

    @classmethod
    def of(cls, row: str | tuple[str, tuple[str, ...]]) -> ToldNotice:
        """Older versions stored the title alone."""
        return cls(row) if isinstance(row, str) else cls(*row)


class Subscriber(Persistent):
    """Somebody who asked to be told of a page (its id). `confirmed_at` None: nobody has confirmed it yet."""

    page = MAIN

    def __init__(self, kind: str, sealed: str, mark: str, groups: tuple[str, ...], now: float, page: str = MAIN):
        self.kind = kind
        self.sealed = sealed
        self.mark = mark
        self.groups = groups
        self.asked_at = now
        self.confirmed_at: float | None = None
        self.failures = 0  # messages given up, since the last that arrived
        if page != MAIN:
            self.page = page

    def address(self, root: Root) -> str:
        return seal_of(root).open(self.sealed, SUBSCRIBER)


class ListedSubscriber(NamedTuple):
    """What the list of subscribers says of one. Older versions knew one page."""

    kind: str
    groups: tuple[str, ...]
    page: str = MAIN


class Announcement(Persistent):
    """What is told together. `at`: goes with a clock that is set while letters about it wait."""

    def __init__(self, items: tuple[NewsItem, ...], now: float):
        self.rows: tuple[tuple[Any, ...], ...] = tuple(tuple(item) for item in items)
        self.at = now

    @property
    def items(self) -> list[NewsItem]:
        return [NewsItem(*row) for row in self.rows]


class Queue(Persistent):
    """What leaves by one way: `first` goes before `rows`. `attempts`: row -> (how many, since when)."""

    def __init__(self) -> None:
        self.first = OOTreeSet()
        self.rows = OOTreeSet()
        self.owners = OOBTree()
        self.attempts = OOBTree()

    @property
    def claims(self) -> Claims:
        return Claims(self.owners)

    def agenda(self, row: str) -> Agenda:
        return Agenda(self.first if row.startswith(CONFIRM) else self.rows)

    def told(self) -> set[str]:
        """The announcements that letters wait about, or are on their way."""
        return {row.partition("/")[0] for row in (*(row for _, row in self.rows), *self.owners)}

    def waiting(self) -> int:
        return len(self.first) + len(self.rows) + len(self.owners)


class StatusPageStore(Persistent):
    """`confirmed`: subscriber id -> (kind, groups), so that nobody is loaded to be passed over. `fanning`: announcement
    id -> the last subscriber id whose row is written."""

    notices: OOBTree | None = None  # id -> title of those told to be open; stores of an older version have none
    pages: OOBTree | None = None  # slug -> OwnPage; None: there never was one
    ended: OOTreeSet | None = None  # ids of pages that are gone, whose subscribers are not forgotten yet
    own_calendar: OOBTree | None = None  # uid -> a row, of what such pages show; None: there never was one

    def __init__(self) -> None:
        self.settings = unsealed(PageRecord())
        self.mail_server: str | None = None  # sealed
        self.logo: Logo | None = None
        self.subscribers = OOBTree()
        self.pending = OOTreeSet()  # (when it was asked for, id)
        self.confirmed = OOBTree()
        self.marks = OOBTree()
        self.told = OOBTree()  # writer -> rows
        self.taken = OOBTree()
        self.announcements = OOBTree()
        self.fanning = OOBTree()
        self.queues = OOBTree({kind: Queue() for kind in KINDS})
        self.calendar = OOBTree()  # uid -> a row

    @property
    def page(self) -> PageRecord:
        """The page as an admin sees it: never the mail server's address. What a newer version added has its default."""
        page = made(PageRecord, self.settings)
        server, logo = self.mail_server and HIDDEN, self.logo and self.logo.record
        return replace(page, mail_server=server, logo=logo)

    def keep_page(self, root: Root, page: PageRecord) -> None:
        """With its mail server, where it is not HIDDEN."""
        if page.mail_server != HIDDEN:
            self.mail_server = page.mail_server and seal_of(root).seal(page.mail_server, MAIL_SERVER)
        self.settings = {**self.settings, **unsealed(page)}

    def own_pages(self) -> dict[str, OwnPage]:
        """By path, those that can be read."""
        return {} if self.pages is None else dict(sound(self.pages, "status page", self.pages.items()))

    def own_page(self, slug: str) -> OwnPage | None:
        return None if self.pages is None else self.pages.get(slug)

    def keep_own_page(self, page: OwnPage, before: str | None = None) -> None:
        """`before`: the path that it had."""
        if self.pages is None:
            self.pages = OOBTree()
        if before is not None and before != page.record.slug:
            del self.pages[before]
        self.pages[page.record.slug] = page

    def drop_own_page(self, slug: str) -> OwnPage:
        assert self.pages is not None  # it was there
        page: OwnPage = self.pages.pop(slug)
        return page

    def end_page(self, page: str) -> None:
        """It never comes back: its subscribers are forgotten."""
        if self.ended is None:
            self.ended = OOTreeSet()
        self.ended.insert(page)

    def mail_address(self, root: Root) -> str | None:
        return self.mail_server and seal_of(root).open(self.mail_server, MAIL_SERVER)

    @property
    def inbox(self) -> Inbox:
        return Inbox(self.told, self.taken)

    def entries(self, *, own: bool = False) -> dict[str, PlannedTime]:
        """`own`: of what pages of their own show."""
        calendar = self.own_calendar if own else self.calendar
        return {uid: PlannedTime(*row) for uid, row in (calendar or {}).items()}

    def keep(self, entry: PlannedTime, *, own: bool) -> None:
        if self.own_calendar is None:
            self.own_calendar = OOBTree()
        (self.own_calendar if own else self.calendar)[entry.uid] = tuple(entry)

    def told_notices(self) -> dict[str, ToldNotice]:
        kept = {} if self.notices is None else dict(self.notices)
        return {name: ToldNotice.of(row) for name, row in kept.items()}

    def keep_notices(self, told: dict[str, ToldNotice]) -> None:
        self.notices = OOBTree({name: tuple(notice) for name, notice in told.items()})

    def awaited(self) -> set[str]:
        """The announcements that subscribers have not heard of yet."""
        return {*self.fanning, *(told for queue in self.queues.values() for told in queue.told())}

    def add(self, subscriber: Subscriber) -> str:
        subscriber_id = new_id()
        self.subscribers[subscriber_id] = subscriber
        self.marks[subscriber.mark] = subscriber_id
        self.pending.insert((subscriber.asked_at, subscriber_id))
        return subscriber_id

    def ask_again(self, subscriber_id: str, groups: tuple[str, ...], now: float) -> None:
        """Of one who has not confirmed: what was asked for last holds, and older links end."""
        subscriber = self.subscribers[subscriber_id]
        self.pending.remove((subscriber.asked_at, subscriber_id))
        subscriber.asked_at, subscriber.groups = now, groups
        self.pending.insert((now, subscriber_id))

    def confirm(self, subscriber_id: str, now: float) -> None:
        subscriber = self.subscribers[subscriber_id]
        self.pending.remove((subscriber.asked_at, subscriber_id))
        subscriber.confirmed_at = now
        self.confirmed[subscriber_id] = tuple(ListedSubscriber(subscriber.kind, subscriber.groups, subscriber.page))

    def drop(self, subscriber_id: str) -> None:
        """Gone with its address; rows that name it say nothing any more."""
        subscriber = self.subscribers.pop(subscriber_id)
        del self.marks[subscriber.mark]
        if subscriber.confirmed_at is None:
            self.pending.remove((subscriber.asked_at, subscriber_id))
        else:
            del self.confirmed[subscriber_id]


def set_up(root: Root) -> None:
    """Evolve step: a page as it comes."""
    root.system[PLACE] = StatusPageStore()


def name_pages(root: Root) -> None:
    """Evolve step: pages of their own are objects with ids."""
    store = store_of(root)
    if store.pages is not None:
        store.pages.update({slug: OwnPage(made(OwnPageRecord, kept)) for slug, kept in store.pages.items()})


def store_of(root: Root) -> StatusPageStore:
    return root.system[PLACE]


def mark_of(root: Root, kind: str, address: str, page: str = MAIN) -> str:
    """By what an address is known to a page: without the store's key it says nothing."""
    of = [] if page == MAIN else [page]
    return _hmac(root, json.dumps(["address", kind, normalised(kind, address), *of]))


def token_of(root: Root, purpose: str, subscriber_id: str, subscriber: Subscriber) -> str:
    """What a link holds; stored nowhere. That of a confirmation ends when somebody asks again."""
    of = str(subscriber.asked_at) if purpose == CONFIRM else subscriber.mark
    return subscriber_id + _hmac(root, json.dumps([purpose, subscriber_id, of]))[:48]


def visit_of(root: Root, page: OwnPage, until: int) -> str:
    """What the cookie of a visitor holds who has said the page's present password."""
    return f"{until}." + _hmac(root, json.dumps(["visit", page.id, page.password_version, until]))


def bearer_of(root: Root, purpose: str, token: str) -> str | None:
    """A guess costs the same whether the subscriber exists or not."""
    subscriber_id = token[:16]
    subscriber = store_of(root).subscribers.get(subscriber_id)
    known = subscriber or Subscriber("", "", "", (), 0.0)
    right = token_of(root, purpose, subscriber_id, known)
    same = hmac.compare_digest(right.encode(), token.encode("utf-8", "replace"))
    return subscriber_id if same and subscriber is not None else None


def _hmac(root: Root, text: str) -> str:
    key = chain_key(root)
    if not key:  # anybody could sign with none
        raise Unavailable("This node cannot open the key of the store: links of the status page cannot be checked.")
    return hmac.new(b"status page\0" + key, text.encode(), hashlib.sha256).hexdigest()


def reseal(root: Root, anew: Reseal) -> None:
    """For `opsapp rekey`."""
    store = store_of(root)
    if store.mail_server is not None:
        store.mail_server = anew(store.mail_server, MAIL_SERVER)
    for subscriber in store.subscribers.values():
        subscriber.sealed = anew(subscriber.sealed, SUBSCRIBER)
