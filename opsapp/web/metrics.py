"""/metrics: what this node says of itself. Rooms add families with `config.add_metrics`.

One answer is made at a time for all who ask meanwhile. A label's values come from what is stored or written here, never
from a caller: so their number is bounded. The scrape token is good for this alone.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pyramid.config import Configurator
from pyramid.request import Request

from opsapp.runtime.families import gauge
from opsapp.runtime.node import Node
from opsapp.runtime.threads.sharedread import SharedRead
from opsapp.tree.root import Root
from opsapp.wire.version import VERSION

from . import requestcounts
from .config import WebSettings
from .identity import Identity, presented_token

Families = Callable[[Node], Iterable[Any]]
StoredFamilies = Callable[[Root], Iterable[Any]]
KEY = "opsapp.metrics.text"  # where the registry keeps who makes the text


class _Collector:
    def __init__(self, node: Node):
        self._node = node

    def collect(self) -> Iterator[Any]:
        for families in self._node.registry.opsapp_metrics:
            yield from families(self._node)
        yield from self._node.transact(self._stored)

    def _stored(self, root: Root) -> list[Any]:
        return [family for families in self._node.registry.opsapp_stored_metrics for family in families(root)]


def text(node: Node) -> str:
    made: str = node.registry[KEY]()
    return made


def _made(node: Node) -> str:
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(node))
    return generate_latest(registry).decode()


def of_the_node(node: Node) -> Iterable[Any]:
    about = gauge("opsapp_info", "The version that runs.", labels=["version", "node"])
    about.add_metric([VERSION, node.name], 1)
    yield about
    yield gauge("opsapp_uptime_seconds", "Since the start.", node.clock.now() - node.started_at)
    late = gauge("opsapp_worker_late_seconds", "How late a worker's step is.", labels=["worker"])
    errors = gauge("opsapp_worker_errors", "Steps that failed since the start.", labels=["worker"])
    for worker in node.supervisor.status():
        if worker.late_s is not None:
            late.add_metric([worker.name], worker.late_s)
        errors.add_metric([worker.name], worker.errors)
    yield late
    yield errors


def read_scrape_token(request: Request, root: Any) -> Identity | None:
    """A viewer, at /metrics only."""
    wanted = request.node.config[WebSettings].scrape_token
    given = presented_token(request)
    if not wanted or not given or request.path_info != "/metrics":
        return None
    if hmac.compare_digest(wanted.encode(), given.encode("utf-8", "surrogatepass")):
        return Identity("scrape", "scrape", "viewer")
    return None


def add_metrics(config: Configurator, families: Families) -> None:
    """Directive: `families(node)` yields prometheus_client families, from memory, without a transaction."""
    config.registry.opsapp_metrics.append(config.maybe_dotted(families))


def add_stored_metrics(config: Configurator, families: StoredFamilies) -> None:
    """Directive: `families(root)` yields what the store knows, or a memory that follows it, in one transaction."""
    config.registry.opsapp_stored_metrics.append(config.maybe_dotted(families))


def includeme(config: Configurator) -> None:
    node: Node = config.registry["opsapp.node"]
    config.registry.opsapp_metrics = [of_the_node, requestcounts.figures]
    config.registry.opsapp_stored_metrics = []
    config.registry[KEY] = SharedRead(node, lambda: _made(node), lane="metrics")
    config.include(requestcounts)
    config.add_directive("add_metrics", add_metrics)
    config.add_directive("add_stored_metrics", add_stored_metrics)
    config.add_credential_reader(read_scrape_token)
