"""Finds the ways by which visitors of a page can subscribe now, and what the others lack. All pages have one mail
server."""

from __future__ import annotations

from opsapp.runtime.secrets.chainkey import chain_key
from opsapp.statuspages.logic.addresses import MAIL
from opsapp.statuspages.records import OwnPageRecord, PageRecord
from opsapp.statuspages.resources import store_of
from opsapp.tree.root import Root


def lacking(root: Root, page: PageRecord | OwnPageRecord) -> tuple[str, ...]:
    if not page.subscribe_by:
        return ()
    sends = store_of(root).page
    lacking = [] if page.public_url else ["public_url: where visitors see the page, for the links in messages"]
    if MAIL in page.subscribe_by:
        lacking += [] if sends.mail_server else ["mail_server: the server that sends mail"]
        lacking += [] if sends.mail_from else ["mail_from: the sender's address"]
    return (*lacking, *(() if chain_key(root) else ("the master key, by which addresses are sealed",)))


def offered(root: Root, page: PageRecord | OwnPageRecord) -> tuple[str, ...]:
    """The ways by which visitors can subscribe now."""
    short = lacking(root, page)
    if any(not name.startswith("mail_") for name in short):
        return ()
    return tuple(kind for kind in page.subscribe_by if kind != MAIL or not short)
