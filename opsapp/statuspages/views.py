"""/api/status: the page's settings and logo, what it shows, and who is told."""

from __future__ import annotations

from pyramid.request import Request

from opsapp.tree.folder import Facet, add_facet
from opsapp.tree.root import root_above
from opsapp.web import api
from opsapp.web.answers import Deferred, later
from opsapp.web.config import WebSettings
from opsapp.web.deletions import undoable
from opsapp.web.facets import StatusFacet
from opsapp.web.fields import Paging
from opsapp.web.listpages import counted, page_of
from opsapp.web.schemas import Deleted
from opsapp.wire.records import extended, made, plain

from . import schemas
from .engine import ownpages, settings, subscriptions, visitors
from .records import (
    LogoRecord,
    OwnPageDone,
    OwnPageRecord,
    PageRecord,
    PageUpdated,
    PublicPage,
    SubscriptionAsked,
    SubscriptionCounts,
    SubscriptionRecord,
)

PLACE = "status page"  # as the audit names it
SMALL = 16 << 10  # bytes of a body of somebody unknown


class PageSettings(Facet):
    """/api/status/settings"""


class PageLogo(Facet):
    """/api/status/logo"""


class PublicPageFacet(Facet):
    """/api/status/page"""


class OwnPage(Facet):
    """/api/status/pages/{slug}"""

    url = "/api/status/pages/{slug}"


class OwnPagePassword(Facet):
    """/api/status/pages/{slug}/password"""


add_facet(OwnPage, "password", OwnPagePassword)


class OwnPages(Facet):
    """/api/status/pages"""

    def __getitem__(self, name: str) -> OwnPage:
        if not ownpages.is_known(root_above(self), name):
            raise KeyError(name)
        return OwnPage(self, name)


class Subscription(Facet):
    """/api/status/subscriptions/{id}"""

    url = "/api/status/subscriptions/{subscription_id}"


class Subscriptions(Facet):
    """/api/status/subscriptions"""

    def __getitem__(self, name: str) -> Subscription:
        if not subscriptions.is_known(root_above(self), name):
            raise KeyError(name)
        return Subscription(self, name)


add_facet(StatusFacet, "settings", PageSettings)
add_facet(StatusFacet, "logo", PageLogo)
add_facet(StatusFacet, "page", PublicPageFacet)
add_facet(StatusFacet, "pages", OwnPages)
add_facet(StatusFacet, "subscriptions", Subscriptions)


@api.get(PublicPageFacet, role="public", returns=PublicPage)
def show_page(context: PublicPageFacet, request: Request) -> PublicPage:
    """What the status page shows besides the status document: how it looks, and its groups of published monitors."""
    return settings.public_page(request.root)


@api.get(PageSettings, role="admin", returns=PageRecord)
def show_settings(context: PageSettings, request: Request) -> PageRecord:
    """How the page looks, and by what people may be told. The mail server is never shown."""
    return settings.record(request.root)


@api.update(
    PageSettings, role="admin", body=PageRecord, read_only=PageRecord, returns=PageUpdated, audit="status_page.update"
)
def change_settings(context: PageSettings, request: Request) -> PageUpdated:
    """Changes what is given, and leaves the rest. Without a `public_url` it is `web.base_url` of the YAML file."""
    before, base = settings.record(request.root), request.node.config[WebSettings].base_url
    default = {} if before.public_url or base is None else {"public_url": base}
    settings.change(request.root, default | request.valid_body)
    after = settings.record(request.root)
    request.audit("status_page.update", PLACE, before=plain(before), after=plain(after))
    return extended(PageUpdated, after)


@api.replace(PageLogo, role="admin", body=schemas.NewLogo, returns=LogoRecord, audit="status_page.logo")
def put_logo(context: PageLogo, request: Request) -> LogoRecord:
    """The logo: a PNG or JPEG of at most 200 kB, in base64. What it is, its bytes say."""
    logo = settings.put_logo(request.root, made(schemas.NewLogo, request.valid_body).image)
    request.audit("status_page.logo", PLACE, after=plain(logo))
    return logo


@api.delete(PageLogo, role="admin", returns=Deleted, audit="status_page.logo")
def drop_logo(context: PageLogo, request: Request) -> Deleted:
    """The page has no logo any more."""
    settings.drop_logo(request.root)
    request.audit("status_page.logo", PLACE)
    return Deleted()


@api.get(OwnPages, role="admin", query=Paging, returns=[OwnPageRecord])
def list_pages(context: OwnPages, request: Request) -> list[OwnPageRecord]:
    """Pages of their own, beside the one of all: at most 200."""
    return page_of(request, ownpages.records(request.root))


@api.create(OwnPages, role="admin", body=OwnPageRecord, returns=OwnPageDone, audit="status_page.create")
def create_page(context: OwnPages, request: Request) -> OwnPageDone:
    """A page at /status/{slug}. It shows the monitors that its groups name, whatever their tags are."""
    page = ownpages.create(request.root, made(OwnPageRecord, request.valid_body))
    request.audit("status_page.create", page.slug, after=plain(page))
    return extended(OwnPageDone, page, status="created")


@api.get(OwnPage, role="admin", returns=OwnPageRecord)
def show_own_page(context: OwnPage, request: Request) -> OwnPageRecord:
    """How it looks, where it is, and which monitors its groups name."""
    return ownpages.record(request.root, context.__name__)


@api.update(OwnPage, role="admin", body=OwnPageRecord, read_only=OwnPageRecord, returns=OwnPageDone,
            audit="status_page.update")  # fmt: skip
def change_own_page(context: OwnPage, request: Request) -> OwnPageDone:
    """Changes what is given, and leaves the rest."""
    before = plain(ownpages.record(request.root, context.__name__))
    after = ownpages.change(request.root, context.__name__, request.valid_body)
    request.audit("status_page.update", after.slug, before=before, after=plain(after))
    return extended(OwnPageDone, after, status="updated")


@api.delete(OwnPage, role="admin", returns=Deleted, audit="status_page.delete", undoes=True)
def delete_page(context: OwnPage, request: Request) -> Deleted:
    """Its address is nobody's any more; its monitors stay."""
    before = plain(ownpages.record(request.root, context.__name__))
    kept = ownpages.delete(request.root, context.__name__)
    undoable(request, "status page", str(before["name"]), context.__name__, kept)
    request.audit("status_page.delete", context.__name__, before=before)
    return Deleted()


@api.replace(
    OwnPagePassword, role="admin", body=schemas.PagePassword, returns=OwnPageRecord, audit="status_page.password"
)
def set_password(context: OwnPagePassword, request: Request) -> Deferred:
    """From here on visitors have to say it. Who has said an older one is asked again."""
    node, actor, password = request.node, request.actor, made(schemas.PagePassword, request.valid_body).password
    slug, request.audited = context.__parent__.__name__, True
    visitors.refuse_weak(password)
    return later(lambda: plain(visitors.set_password(node, slug, password, actor)))


@api.create(
    Subscriptions, role="public", body=SubscriptionRecord, returns=SubscriptionAsked, errors=(429,), audit=False
)
def subscribe(context: Subscriptions, request: Request) -> Deferred:
    """Asks to be told of incidents and maintenance. The answer is the same whether the address is known or not."""
    node, ip, wanted = request.node, request.client_ip, made(SubscriptionRecord, request.valid_body)
    return Deferred(lambda: (201, {}, subscriptions.ask(node, ip, wanted)))


@api.get(Subscriptions, role="admin", query=schemas.SubscriptionQuery, returns=[SubscriptionRecord])
def list_subscriptions(context: Subscriptions, request: Request) -> list[SubscriptionRecord]:
    """Who is told, or has asked to be; addresses as far as an admin needs them."""
    query = made(schemas.SubscriptionQuery, request.valid_query)
    rows, count = subscriptions.page(request.root, query.state, query.limit, query.offset)
    return counted(request, rows, count)


@api.get(Subscriptions, "counts", role="admin", returns=SubscriptionCounts)
def count_subscriptions(context: Subscriptions, request: Request) -> SubscriptionCounts:
    """How many are told, and how many messages wait."""
    return subscriptions.counts(request.root)


@api.delete(Subscription, role="admin", returns=Deleted, audit="subscription.delete")
def delete_subscription(context: Subscription, request: Request) -> Deleted:
    """Takes somebody off the list; what waits for them goes nowhere."""
    subscriptions.remove(request.root, context.__name__)
    request.audit("subscription.delete", context.__name__)
    return Deleted()
