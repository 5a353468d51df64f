"""An admin's settings of the page and its logo: read, changed, and what of it is offered. Transactions."""

from __future__ import annotations

import base64
import binascii

from opsapp.lib.addresses import HIDDEN
from opsapp.lib.ids import digest
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Invalid
from opsapp.monitoring.engine import published
from opsapp.monitoring.resources import monitors_of
from opsapp.runtime.chainkey import chain_key
from opsapp.runtime.events import emit
from opsapp.runtime.node import node_of
from opsapp.runtime.seals import seal_of
from opsapp.statuspages.logic.addresses import MAIL
from opsapp.statuspages.logic.pictures import picture_of, picture_problem
from opsapp.statuspages.logic.settings import DEFAULTS, PUBLIC, groups_of, with_ids
from opsapp.statuspages.resources import MAIL_SERVER, Logo, store_of
from opsapp.tree.root import Root

LEASE = "status-page"
NEWS = "status-news"
EVENT = "status_page"


def settings_of(root: Root) -> JsonObject:
    """As they are stored; what a newer version added has its default."""
    return {**DEFAULTS, **store_of(root).settings}


def record(root: Root) -> JsonObject:
    """As an admin sees them: never the mail server's password, nor its address."""
    store, logo = store_of(root), store_of(root).logo
    return {
        **settings_of(root),
        "mail_server": None if store.mail_server is None else HIDDEN,
        "logo": logo and {"kind": logo.kind, "bytes": len(logo.data), "digest": logo.digest},
        "offered": offered(root),
        "lacking": lacking(root),
    }


def change(root: Root, given: JsonObject) -> None:
    """What is given over what is stored. Invalid: a group names what does not exist."""
    store, before = store_of(root), settings_of(root)
    fields = {name: value for name, value in given.items() if name in DEFAULTS}
    if "groups" in fields:
        refuse_unknown(root, fields["groups"], before["groups"])
        fields["groups"] = with_ids(fields["groups"], before["groups"])
    if "subscribe_by" in fields:
        fields["subscribe_by"] = sorted(fields["subscribe_by"])
    if given.get("mail_server", HIDDEN) != HIDDEN:
        server = given["mail_server"]
        store.mail_server = server and seal_of(root).seal(server, MAIL_SERVER)
    store.settings = before | fields
    emit(root, EVENT, {"change": "settings"})


def refuse_unknown(root: Root, groups: list[JsonObject], before: list[JsonObject]) -> None:
    """Groups name monitors that exist; one that is gone since does not hinder other changes."""
    known = {monitor_id for group in before for monitor_id in group["monitors"]}
    named = {monitor_id for group in groups for monitor_id in group["monitors"]} - known
    missing = sorted(monitor_id for monitor_id in named if monitor_id not in monitors_of(root))
    if missing:
        raise Invalid({"groups": "no such monitor: " + ", ".join(missing[:10])})


def lacking(root: Root) -> list[str]:
    """What has to be said before anybody can subscribe, in words; nothing where nobody is to."""
    settings, store = settings_of(root), store_of(root)
    if not settings["subscribe_by"]:
        return []
    lacking = [] if settings["public_url"] else ["public_url: where visitors see the page, for the links in messages"]
    if MAIL in settings["subscribe_by"]:
        lacking += [] if store.mail_server else ["mail_server: the server that sends mail"]
        lacking += [] if settings["mail_from"] else ["mail_from: the sender's address"]
    return lacking if chain_key(root) else [*lacking, "the master key, by which addresses are sealed"]


def offered(root: Root) -> list[str]:
    """The ways by which visitors can subscribe now."""
    short = lacking(root)
    kinds = settings_of(root)["subscribe_by"]
    if any(not name.startswith("mail_") for name in short):
        return []
    return [kind for kind in kinds if kind != MAIL or not short]


def put_logo(root: Root, image: str) -> JsonObject:
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
    return {"kind": logo.kind, "bytes": len(data), "digest": logo.digest}


def drop_logo(root: Root) -> None:
    store_of(root).logo = None
    emit(root, EVENT, {"change": "logo"})


def public_page(root: Root) -> JsonObject:
    """How the page looks, for whoever draws it: its groups hold published monitors only, in their order."""
    node, settings, logo = node_of(root), settings_of(root), store_of(root).logo
    shown = published(node, root)
    groups = [
        {**group._asdict(), "monitors": [monitor_id for monitor_id in group.monitors if monitor_id in shown]}
        for group in groups_of(settings)
    ]
    return {
        **{name: settings[name] for name in PUBLIC},
        "logo": logo and logo.digest,
        "timezone": node.config.timezone,
        "groups": [group for group in groups if group["monitors"]],
        "offered": offered(root),
    }
