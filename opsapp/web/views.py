"""Views of no feature: health, the event stream, the API document, metrics, the store as a whole."""

from __future__ import annotations

from typing import Annotated, Any

from pyramid.renderers import render
from pyramid.request import Request
from pyramid.response import Response

from opsapp.lib.problems import NotFound
from opsapp.runtime.ascode import kinds as declared
from opsapp.runtime.ascode.apply import ApplyingActor
from opsapp.runtime.store import pack
from opsapp.tree.root import Api, Root
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Text
from opsapp.wire.records import made
from opsapp.wire.version import VERSION

from . import api, ascode, docspages, eventstream, metrics, openapi
from .answers import Deferred, Stream, later
from .facets import StatusFacet, StoreFacet
from .fields import Body, Query, text, whole
from .jsontext import dumps
from .records import Applied, Packed, PublicStatus, StoreState
from .sse import CONTENT_TYPE, last_event_id

DOCUMENT_TEXT, DOCS = "opsapp.openapi.text", "opsapp.docs"  # the API document and its pages, as texts in the registry


class StreamQuery(Query):
    pulse = whole(1, 60, default=None)
    last_event_id = text(0, 1000, default=None)


@frozen
class DocsQuery:
    part: Annotated[str | None, Text(1, 64)] = None


class PackRequest(Body):
    days = whole(0, 3650, default=1)


@api.get(StatusFacet, "public", role="public", returns=PublicStatus)
def public_status(context: StatusFacet, request: Request) -> PublicStatus:
    """For load balancers: the service answers."""
    node = request.node
    request.response.etag = (f"{node.boot}-{VERSION}", False)  # weak: but for its age it is the same
    return PublicStatus("ok", VERSION, int(node.clock.now() - node.started_at))


@api.get(Api, "openapi.json", role="public", returns="application/json")
def openapi_document(context: Api, request: Request) -> Response:
    """This document."""
    registry = request.registry
    if DOCUMENT_TEXT not in registry:  # writing it takes 20 ms, and anybody may ask for it
        registry[DOCUMENT_TEXT] = dumps(openapi.document(registry))
    return Response(registry[DOCUMENT_TEXT], content_type="application/json", charset="utf-8")


@api.get(Api, "docs", role="public", query=DocsQuery, returns="text/html", errors=(404,))
def docs(context: Api, request: Request) -> Response:
    """The API document for people: all operations and schemas by name, or one part of it."""
    registry, part = request.registry, made(DocsQuery, request.valid_query).part
    if DOCS not in registry:
        registry[DOCS] = docspages.pages_of(openapi.document(registry), openapi.endpoints(registry)), {}
    pages, texts = registry[DOCS]
    if part not in (None, docspages.ERRORS, *pages.parts):
        raise NotFound("The API has no such part.")
    if part not in texts:
        values = {"pages": pages, "document": pages.document, "part": pages.parts.get(part), "name": part}
        texts[part] = render("opsapp.web:templates/docs.jinja2", values, request)
    return Response(texts[part])


@api.get(Api, "stream", query=StreamQuery, returns=CONTENT_TYPE, teams="filtered")
def stream(context: Api, request: Request) -> Stream:
    """Server-sent events of everything that is committed; Last-Event-ID resumes. With `pulse` there is an event of that
    name after so many seconds without another, by which a page knows that the service is there."""
    after, pulse = last_event_id(request.headers, request.GET), request.valid_query["pulse"]
    feed = eventstream.feed(request.node, after, whole=request.may_edit, pulse=pulse, sight=request.sight)
    return Stream(feed, content_type=CONTENT_TYPE)


@api.get(Root, "metrics", returns="text/plain")
def prometheus_metrics(context: Root, request: Request) -> Deferred:
    """Prometheus text."""
    node = request.node
    return Deferred(lambda: Response(metrics.text(node), content_type="text/plain", charset="utf-8"))


@api.get(StoreFacet, role="admin", returns=StoreState)
def store_sizes(context: StoreFacet, request: Request) -> StoreState:
    """Bytes of each database, when the store was packed last, and why not since if that failed."""
    done, sizes = pack.last(request.root), pack.sizes(request.node.store.databases)
    return StoreState(sizes, done and int(done.at), request.node.pack_problem)


@api.act(StoreFacet, "pack", role="admin", body=PackRequest, returns=Packed)
def pack_store(context: StoreFacet, request: Request) -> Deferred:
    """Drop what the store keeps of the past, but for so many days."""
    node, days = request.node, request.valid_body["days"]

    def pack_and_measure() -> Packed:
        node.lane("pack", 1).run(pack.pack, node.store, days, node.clock.now())
        return Packed(pack.sizes(node.store.databases))

    return later(pack_and_measure)


@api.act(Api, "apply", role="admin", body=ascode.Apply, returns=Applied)
def apply(context: Api, request: Request) -> Applied:
    """Make what a document says true, all of it or nothing; `dry_run` tells what would change and changes nothing. The
    body has at most 16 MiB (413)."""
    asked = ascode.AskedFor.of_body(request.valid_body)
    asker = ApplyingActor(request.actor, request.require_confirmation)
    outcome = ascode.apply(request.root, request.node, request.registry, asked, asker)
    for change in outcome.changes:
        request.audit(change.action, change.id, before=change.before, after=change.after)
    if asked.dry_run:
        request.tm.doom()
    return ascode.answer(outcome, dry_run=asked.dry_run)


@api.get(Api, "export", role="admin", returns="application/json")
def export(context: Api, request: Request) -> dict[str, Any]:
    """Everything that can be written as code, without ids and secrets: a document for POST /api/apply."""
    return declared.export(request.root, request.node, request.registry.opsapp_kinds)
