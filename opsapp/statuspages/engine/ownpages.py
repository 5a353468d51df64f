"""Makes and changes pages of their own, in a transaction. Such a page shows only the monitors that its groups name."""

from __future__ import annotations

from dataclasses import replace

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Conflict, NotFound
from opsapp.monitoring.engine import PageScope
from opsapp.runtime.events import emit
from opsapp.statuspages.records import OwnPageRecord, PublicPage
from opsapp.statuspages.resources import OwnPage, store_of
from opsapp.tree.root import Root
from opsapp.wire.records import changed

from .offers import lacking, offered
from .settings import EVENT, page_for_visitors, sound_page

MOST = 200


def records(root: Root) -> list[OwnPageRecord]:
    """By name."""
    pages = [_shown(root, page) for page in store_of(root).own_pages().values()]
    return sorted(pages, key=lambda page: (page.name.casefold(), page.slug))


def record(root: Root, slug: str) -> OwnPageRecord:
    return _shown(root, _page(root, slug))


def _shown(root: Root, kept: OwnPage) -> OwnPageRecord:
    page = kept.record
    return replace(page, offered=offered(root, page), lacking=lacking(root, page))


def _page(root: Root, slug: str) -> OwnPage:
    page = store_of(root).own_page(slug)
    if page is None:
        raise NotFound("There is no such page.")
    return page


def is_known(root: Root, slug: str) -> bool:
    return store_of(root).own_page(slug) is not None


def create(root: Root, page: OwnPageRecord) -> OwnPageRecord:
    _refuse_new(root, page.slug)
    kept = OwnPage(sound_page(root, page, ()))
    store_of(root).keep_own_page(kept)
    emit(root, EVENT, {"change": "page"})
    return _shown(root, kept)


def _refuse_new(root: Root, slug: str) -> None:
    store = store_of(root)
    if store.own_page(slug) is not None:
        raise Conflict("There is a page with this path already.", code="page_exists")
    if len(store.own_pages()) >= MOST:
        raise Conflict(f"There are {MOST} pages of their own already, which is the most.", code="too_many_pages")


def change(root: Root, slug: str, given: JsonObject) -> OwnPageRecord:
    """What is given over what is stored; with another path it is at another address."""
    kept = _page(root, slug)
    before = kept.record
    page = changed(before, given)
    if page.slug != slug and is_known(root, page.slug):
        raise Conflict("There is a page with this path already.", code="page_exists")
    kept.change(sound_page(root, page, before.groups))
    store_of(root).keep_own_page(kept, slug)
    emit(root, EVENT, {"change": "page"})
    return _shown(root, kept)


def delete(root: Root, slug: str) -> OwnPage:
    """What `put_back` needs."""
    emit(root, EVENT, {"change": "page"})
    return store_of(root).drop_own_page(slug)


def let_go(root: Root, page: OwnPage) -> None:
    """Nobody takes it back any more."""
    store_of(root).end_page(page.id)


def put_back(root: Root, page: OwnPage) -> None:
    """Its path may be another page's by now."""
    _refuse_new(root, page.record.slug)
    store_of(root).keep_own_page(page)
    emit(root, EVENT, {"change": "page"})


def scope(root: Root, slug: str) -> PageScope:
    """Of a page that is gone, nothing."""
    page = store_of(root).own_page(slug)
    return PageScope("", frozenset()) if page is None else scope_of(page.record)


def scope_of(page: OwnPageRecord) -> PageScope:
    return PageScope(page.id, frozenset(name for group in page.groups for name in group.monitors))


def looks(root: Root, slug: str) -> PublicPage:
    page = _page(root, slug).record
    return page_for_visitors(root, page, scope_of(page))
