"""Changes the settings of the page and its logo, in a transaction."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from opsapp.lib.ids import digest
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Invalid
from opsapp.monitoring.engine import PageScope, published
from opsapp.monitoring.resources import monitors_of
from opsapp.runtime.events import emit
from opsapp.runtime.node import node_of
from opsapp.statuspages.logic.groups import GroupRecord, with_ids
from opsapp.statuspages.logic.pictures import picture_of, picture_problem
from opsapp.statuspages.records import LogoRecord, OwnPageRecord, PageRecord, PublicPage
from opsapp.statuspages.resources import Logo, store_of
from opsapp.tree.root import Root
from opsapp.wire.records import changed, made, settings_of

from .offers import lacking, offered

LEASE = "status-page"
NEWS = "status-news"
EVENT = "status_page"
P = TypeVar("P", PageRecord, OwnPageRecord)


def record(root: Root) -> PageRecord:
    page = store_of(root).page
    return replace(page, offered=offered(root, page), lacking=lacking(root, page))


def change(root: Root, given: JsonObject) -> None:
    """What is given over what is stored."""
    store = store_of(root)
    store.keep_page(root, sound_page(root, changed(store.page, given), store.page.groups))
    emit(root, EVENT, {"change": "settings"})


def sound_page(root: Root, page: P, before: Sequence[GroupRecord]) -> P:
    """The page as it is kept: its groups have their ids. Invalid: a group names a monitor that does not exist; one that
    is gone since hinders no other change."""
    known = {monitor_id for group in before for monitor_id in group.monitors}
    named = {monitor_id for group in page.groups for monitor_id in group.monitors} - known
    missing = sorted(monitor_id for monitor_id in named if monitor_id not in monitors_of(root))
    if missing:
        raise Invalid({"groups": "no such monitor: " + ", ".join(missing[:10])})
    return replace(page, groups=with_ids(page.groups, before), subscribe_by=tuple(sorted(page.subscribe_by)))


def put_logo(root: Root, image: str) -> LogoRecord:
    """`image`: base64. What kind of picture it is, its bytes say."""
    try:
        data = base64.b64decode(image, validate=True)
    except binascii.Error:
        raise Invalid({"image": "must be a picture in base64"}) from None
    message = picture_problem(data)
    picture = picture_of(data)
    if message or picture is None:
        raise Invalid({"image": message or ""})
    logo = store_of(root).logo = Logo(data, picture.kind, digest(image)[:16])
    emit(root, EVENT, {"change": "logo"})
    return logo.record


def drop_logo(root: Root) -> None:
    store_of(root).logo = None
    emit(root, EVENT, {"change": "logo"})


def public_page(root: Root) -> PublicPage:
    return page_for_visitors(root, store_of(root).page)


def page_for_visitors(root: Root, page: PageRecord | OwnPageRecord, scope: PageScope | None = None) -> PublicPage:
    """Its groups hold published monitors only, in their order."""
    node, logo = node_of(root), store_of(root).logo
    shown = published(node, root, scope)
    groups = (
        replace(group, monitors=tuple(monitor_id for monitor_id in group.monitors if monitor_id in shown))
        for group in page.groups
    )
    return replace(
        made(PublicPage, settings_of(page)),
        logo=logo and logo.digest,
        timezone=node.config.timezone,
        groups=tuple(group for group in groups if group.monitors),
        offered=offered(root, page),
    )
