"""/metrics: what this node says of itself in Prometheus' text format. Rooms add families with `config.add_metrics`.

The scrape token of the configuration is a credential that is good for this alone.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Iterable
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from pyramid.config import Configurator
from pyramid.request import Request

from opsapp.runtime.node import Node
from opsapp.wire.version import VERSION

from .config import WebSettings
from .identity import Identity, presented_token

Families = Callable[[Node], Iterable[Any]]


class _Collector:
    def __init__(self, node: Node):
        self.node = node

    def collect(self) -> Iterable[Any]:
        for families in self.node.registry.opsapp_metrics:
            yield from families(self.node)


def text(node: Node) -> str:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(node))
    return generate_latest(registry).decode()


def of_the_node(node: Node) -> Iterable[Any]:
    about = GaugeMetricFamily("opsapp_info", "The version that runs.", labels=["version", "node"])
    about.add_metric([VERSION, node.name], 1)
    yield about
    yield GaugeMetricFamily("opsapp_uptime_seconds", "Since the start.", node.clock.now() - node.started_at)
    late = GaugeMetricFamily("opsapp_worker_late_seconds", "How late a worker's step is.", labels=["worker"])
    errors = GaugeMetricFamily("opsapp_worker_errors", "Steps that failed since the start.", labels=["worker"])
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


def includeme(config: Configurator) -> None:
    config.registry.opsapp_metrics = [of_the_node]
    config.add_directive("add_metrics", add_metrics)
    config.add_credential_reader(read_scrape_token)
