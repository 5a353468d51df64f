"""The pages that somebody can subscribe to: the page of all, and own pages that offer subscriptions."""

from __future__ import annotations

from typing import NamedTuple

from opsapp.lib.pagenames import MAIN
from opsapp.statuspages.logic.audience import Audience
from opsapp.statuspages.resources import OwnPage, store_of
from opsapp.tree.root import Root

from .offers import offered
from .ownpages import scope_of


class SubscribedPage(NamedTuple):
    """`home`: where visitors see it. `offers`: the ways by which its subscribers are told now."""

    name: str
    home: str
    offers: tuple[str, ...]
    audience: Audience


def subscribed_pages(root: Root) -> dict[str, SubscribedPage]:
    """By id. A page that is gone, or offers nothing any more, has no subscribers."""
    page, own = store_of(root).page, store_of(root).own_pages().values()
    main = SubscribedPage(page.name, _home(page.public_url), offered(root, page), Audience(MAIN, page.groups))
    return {MAIN: main} | {kept.id: _own(root, kept) for kept in own if kept.settings.get("subscribe_by")}


def _own(root: Root, kept: OwnPage) -> SubscribedPage:
    page = kept.record
    audience = Audience(kept.id, page.groups, scope_of(page).monitors)
    return SubscribedPage(page.name, f"{_home(page.public_url)}/{page.slug}", offered(root, page), audience)


def _home(public_url: str | None) -> str:
    return f"{(public_url or '').rstrip('/')}/status"


def shown_on_own(root: Root, monitor_id: str) -> bool:
    """Whether subscribers of a page of its own may hear of the monitor."""
    pages = [page for page in store_of(root).own_pages().values() if page.settings.get("subscribe_by")]
    return any(monitor_id in scope_of(page.record).monitors for page in pages)
