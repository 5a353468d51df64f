"""Pages of their own. Such a page shows the monitors that its groups name: what is made for its visitors is made of
those alone. Transactions."""

from __future__ import annotations

from dataclasses import replace

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Conflict, Invalid, NotFound
from opsapp.monitoring.engine import PageScope, published
from opsapp.monitoring.resources import monitors_of
from opsapp.runtime.events import emit
from opsapp.runtime.node import node_of
from opsapp.statuspages.logic.groups import with_ids
from opsapp.statuspages.records import OwnPageRecord, PublicPage, ShownGroup
from opsapp.statuspages.resources import OwnPage, store_of
from opsapp.tree.root import Root
from opsapp.wire.records import changed, made, settings_of

from .offers import lacking, offered
from .settings import EVENT

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
    kept = OwnPage(_sound(root, page, ()))
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
    kept.change(_sound(root, page, before.groups))
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


def _sound(root: Root, page: OwnPageRecord, before: tuple[ShownGroup, ...]) -> OwnPageRecord:
    """Invalid: a group names a monitor that does not exist; one that is gone since hinders no other change."""
    known = {monitor_id for group in before for monitor_id in group.monitors}
    named = {monitor_id for group in page.groups for monitor_id in group.monitors} - known
    missing = sorted(monitor_id for monitor_id in named if monitor_id not in monitors_of(root))
    if missing:
        raise Invalid({"groups": "no such monitor: " + ", ".join(missing[:10])})
    groups = tuple(made(ShownGroup, settings_of(group)) for group in with_ids(page.groups, before))
    return replace(page, groups=groups, subscribe_by=tuple(sorted(page.subscribe_by)))


def scope(root: Root, slug: str) -> PageScope:
    """Of a page that is gone, nothing."""
    page = store_of(root).own_page(slug)
    return PageScope("", frozenset()) if page is None else scope_of(page.record)


def scope_of(page: OwnPageRecord) -> PageScope:
    return PageScope(page.id, frozenset(name for group in page.groups for name in group.monitors))


def looks(root: Root, slug: str) -> PublicPage:
    node, page, logo = node_of(root), record(root, slug), store_of(root).logo
    shown = published(node, root, scope_of(page))
    groups = (replace(group, monitors=tuple(name for name in group.monitors if name in shown)) for group in page.groups)
    return replace(
        made(PublicPage, settings_of(page)),
        logo=logo and logo.digest,
        timezone=node.config.timezone,
        groups=tuple(group for group in groups if group.monitors),
        offered=page.offered,
    )
