"""Puts the room together: Pyramid's add-ons and their settings, derivers, tweens, the node, directives for features."""

from __future__ import annotations

import time
from contextlib import ExitStack
from functools import partial
from typing import Any

import pyramid_zodbconn
from pyramid.config import Configurator
from pyramid.config.views import MultiView
from pyramid.interfaces import IMultiView, IRequestExtensions, IRequestFactory
from pyramid.renderers import JSON
from pyramid.request import Request
from pyramid.settings import asbool, aslist
from pyramid_retry import BeforeRetry
from zope.interface import providedBy

from opsapp.runtime import deletions, events
from opsapp.runtime.cluster import certificateplaces, fence, leases, nodes
from opsapp.runtime.internals import opened_databases, resolved
from opsapp.runtime.node import Node
from opsapp.runtime.secrets import sealedstore
from opsapp.runtime.store.transactions import ATTEMPTS, backoff
from opsapp.series import erasure
from opsapp.tree.acl import Permission
from opsapp.tree.evolve import EvolveStep
from opsapp.tree.folder import RESERVED
from opsapp.tree.root import root_of

from . import callers
from .asked import ROLE, UNREAD, USERNAME
from .bodies import BODY_CAP, cap_of
from .identity import CredentialReader, SecurityPolicy, read_identity
from .jsontext import dumps

SETTINGS = {
    "tm.manager_hook": "opsapp.web.setup.manager",
    "tm.commit_veto": "pyramid_tm.default_commit_veto",
    "tm.annotate_user": "false",
    "retry.attempts": str(ATTEMPTS),
    "retry.activate_hook": "opsapp.web.setup.attempts",
}


OURS = "opsapp_"  # how the names of our cookies begin: another would not be read


class OpsRequest(Request):
    """Bodies are small here or in memory already, so none is spooled to a file. Only our cookies are parsed: thousands
    of others would cost more than the rest of the request."""

    request_body_tempfile_limit = 2 * BODY_CAP

    def __init__(self, environ: Any, **more: Any):
        sent = environ.get("HTTP_COOKIE")
        if sent:
            environ["HTTP_COOKIE"] = ";".join(pair for pair in sent.split(";") if pair.lstrip().startswith(OURS))
        super().__init__(environ, **more)


def attempts(request: Request) -> int | None:
    """pyramid_retry reads the whole body so that it can be read again: not one that is too large to be read at all,
    nor a sink's, which is still on its way."""
    return 1 if UNREAD in request.environ or (request.content_length or 0) > cap_of(request) else None


def wait_before_retry(event: BeforeRetry) -> None:
    """A view would meet the same conflicts at once. Its transaction has ended, its thread is one of the lane's."""
    time.sleep(backoff(event.environ["retry.attempt"]))


def place(request: Request) -> Any:
    """`request.place`: the connection and transaction manager that are this request's until it ends."""
    store = request.node.store
    with ExitStack() as held:
        held.enter_context(store.turns.attempt(request.environ.get("retry.attempt", 0)))
        borrowed = store.borrow()
        held.callback(store.give_back, borrowed)
        ends = held.pop_all()
    request.add_finished_callback(lambda _request: ends.close())
    return borrowed


def manager(request: Request) -> Any:
    """pyramid_tm's: explicit, and its own for each request that is under way."""
    return request.place.manager


def set_up(config: Configurator) -> None:
    config.add_settings(SETTINGS)
    config.include("pyramid_retry")
    config.add_subscriber(wait_before_retry, BeforeRetry)
    config.include("pyramid_tm")
    pyramid_zodbconn.includeme(config, partial(pyramid_zodbconn.db_from_uri, resolve_uri=resolved))
    config.set_request_factory(OpsRequest)
    config.set_root_factory(root_factory)
    config.set_security_policy(SecurityPolicy())
    config.set_default_permission(Permission.nobody)
    config.add_renderer("json", JSON(serializer=lambda value, **kw: dumps(value)))
    config.registry.opsapp_credential_readers = []
    config.registry.opsapp_evolve_steps = [
        EvolveStep("runtime-1-outbox", events.set_up),
        EvolveStep("runtime-2-leases", leases.set_up),
        EvolveStep("runtime-3-nodes", nodes.set_up),
        EvolveStep("runtime-4-gone", erasure.set_up),
        EvolveStep("runtime-5-store-id", fence.set_up),
        EvolveStep("runtime-6-sealed-fields", sealedstore.set_up),
        EvolveStep("runtime-7-deletions", deletions.set_up, reversible=True),
        EvolveStep("runtime-9-moved-classes", lambda root: None),  # opsapp.tree.classes: a version before does not know
    ]
    config.registry.opsapp_preparations = []
    node = config.registry["opsapp.node"] = build_node(config)
    config.registry[callers.REGISTRY_KEY] = callers.Callers(node)
    config.add_request_method(lambda request: request.registry["opsapp.node"], "node", reify=True)
    config.add_request_method(lambda request: request.node.clock.now(), "now", property=True)
    config.add_request_method(place, "place", reify=True)
    config.add_directive("add_credential_reader", add_credential_reader)
    config.add_directive("add_evolve_step", add_evolve_step)
    config.add_directive("add_engine", add_engine)
    config.add_directive("add_farewell", add_farewell)
    config.add_directive("add_preparation", add_preparation)
    config.include("opsapp.runtime.secrets.seals")
    config.include("opsapp.runtime.secrets.chainkey")
    config.include("opsapp.runtime.deletions")
    config.add_engine("opsapp.runtime.deletions.start")
    for part in (
        "paths",
        "configfile",
        "ascode",
        "client",
        "peers",
        "derivers",
        "sight",
        "errors",
        "tweens",
        "shown",
        "idempotency",
        "metrics",
    ):
        config.include(f"opsapp.web.{part}")
    config.include("pyramid_jinja2")
    config.scan("opsapp.web.deletions")
    config.scan("opsapp.web.views")
    config.scan("opsapp.web.installation")


def build_node(config: Configurator) -> Node:
    settings = config.registry.settings
    node = Node(
        opened_databases(config.registry),
        config.registry,
        name=settings.get("opsapp.node") or None,
        roles=frozenset(aslist(settings.get("opsapp.roles", "web engine"))),
        clock=settings.get("opsapp.clock"),
        exclusive=not asbool(settings.get("opsapp.shared_store", "false")),
    )
    node.nodes.address = settings.get("opsapp.address", "").rstrip("/")
    node.tls = certificateplaces.directory_of(settings)
    node.evolve_steps = config.registry.opsapp_evolve_steps
    return node


def root_factory(request: Request) -> Any:
    """The tree's root in this request's connection; who asks is read here, once."""
    root = root_of(request.place.connection)
    request.caller = read_identity(request, root)
    if request.caller is not None:
        request.environ[USERNAME] = request.caller.name
        request.environ[ROLE] = request.caller.role
    return root


def add_credential_reader(config: Configurator, reader: CredentialReader, *, first: bool = False) -> None:
    """Directive: `reader(request, root)` answers the Identity behind a credential, or None. `first` of all."""
    readers = config.registry.opsapp_credential_readers
    readers.insert(0 if first else len(readers), reader)


def add_evolve_step(config: Configurator, name: str, run: Any, *, reversible: bool = False) -> None:
    """Directive: a named step that brings the store to what this feature needs. `reversible`: an older version may go
    on with such a store."""
    config.registry.opsapp_evolve_steps.append(EvolveStep(name, config.maybe_dotted(run), reversible))


def add_engine(config: Configurator, start: Any, *, everywhere: bool = False) -> None:
    """Directive: `start(node)` is called on the hub when this node runs engines, or whatever its roles."""
    start = config.maybe_dotted(start)
    node = config.registry["opsapp.node"]
    config.action(("opsapp.engine", start), lambda: (node.companions if everywhere else node.engines).append(start))


def add_farewell(config: Configurator, fn: Any) -> None:
    """Directive: `fn(node)` is called when the node stops, its workers ended and its store still open; what it writes
    is lost if the store is away."""
    fn = config.maybe_dotted(fn)
    config.action(("opsapp.farewell", fn), lambda: config.registry["opsapp.node"].farewells.append(fn))


def add_preparation(config: Configurator, prepare: Any) -> None:
    """Directive: `prepare(node)` is called once the store is up to date, before anything is served."""
    config.registry.opsapp_preparations.append(config.maybe_dotted(prepare))


def reserve_view_names(registry: Any) -> None:
    """Once all views are known: no child of a Folder may hide one of them."""
    introspector = registry.introspector
    RESERVED.update(entry["introspectable"]["name"] for entry in introspector.get_category("views", ()))
    RESERVED.discard("")


class MatchedViews(MultiView):
    """The views of one thing, by method. Pyramid's own makes a whole 404 for each that does not match: a fifteenth of a
    small read."""

    def __init__(self, views: MultiView):
        super().__init__(views.name)
        self.media_views, self.views, self.accepts = views.media_views, views.views, views.accepts

    def __call__(self, context: Any, request: Request) -> Any:
        return self.match(context, request)(context, request)


def settle_views(registry: Any) -> None:
    """Once all is included: ask which view matches before one is called."""
    for known in list(registry.registeredAdapters()):
        if known.provided is IMultiView:
            registry.registerAdapter(MatchedViews(known.factory), known.required, IMultiView, known.name)


def settle_events(registry: Any) -> None:
    """Once all is included: Pyramid tells of each request four times, and looks up each time who hears it."""
    tell, heard = registry.notify, {}

    def notify(*events: Any) -> None:
        kinds = tuple(map(type, events))
        if kinds not in heard:
            heard[kinds] = bool(registry.adapters.subscriptions([providedBy(event) for event in events], None))
        if heard[kinds]:
            tell(*events)

    registry.notify = notify


def settle_requests(config: Configurator) -> None:
    """Once all is included: put the rooms' properties into the request's class. Pyramid would make a class for every
    request, a fifth of a small one."""
    extensions = config.registry.queryUtility(IRequestExtensions)
    factory = config.registry.queryUtility(IRequestFactory)
    config.registry.registerUtility(type("SettledRequest", (factory,), dict(extensions.descriptors)), IRequestFactory)
    extensions.descriptors.clear()
