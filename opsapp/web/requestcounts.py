"""Requests answered since the start, by route, for /metrics. In memory. A route is the pattern of a place
(`/api/agents/{agent_id}`), never a path. Must not: be written to but on the hub."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from pyramid.config import Configurator
from pyramid.request import Request
from pyramid.viewderivers import INGRESS

from opsapp.runtime.families import counter, summary
from opsapp.runtime.node import Node

from .asked import ROUTE

KEY = "opsapp.requestcounts"
NO_ROUTE = "none"  # there is nothing at its path, or it cannot be read
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
OTHER = "other"


class RequestCounts:
    def __init__(self) -> None:
        self.answered: Counter[tuple[str, str, int]] = Counter()  # by route, method and status
        self.seconds: defaultdict[tuple[str, str], float] = defaultdict(float)  # by route and method

    def add(self, route: str | None, method: str, status: int, seconds: float) -> None:
        """`seconds`: from its first byte until its answer began."""
        route, method = route or NO_ROUTE, method if method in METHODS else OTHER
        self.answered[route, method, status] += 1
        self.seconds[route, method] += seconds


def figures(node: Node) -> Iterable[Any]:
    counts: RequestCounts = node.registry[KEY]
    told = "Requests answered since the start, by the pattern of their path."
    requests = counter("opsapp_http_requests", told, labels=["route", "method", "status"])
    answered: Counter[tuple[str, str]] = Counter()
    for (route, method, status), count in sorted(counts.answered.copy().items()):
        requests.add_metric([route, method, str(status)], count)
        answered[route, method] += count
    yield requests
    told = "From a request's first byte until its answer began."
    took = summary("opsapp_http_request_duration_seconds", told, labels=["route", "method"])
    seconds = counts.seconds.copy()
    for (route, method), count in answered.items():
        took.add_metric([route, method], count, seconds[route, method])
    yield took


def route_deriver(view: Any, info: Any) -> Any:
    """Notes the route before anything is asked of the request: a refusal has its route too."""
    route = _route_of(info.options)
    if route is None:
        return view

    def wrapped(context: Any, request: Request) -> Any:
        request.environ[ROUTE] = route
        return view(context, request)

    return wrapped


def _route_of(options: Any) -> str | None:
    """The path as the API document writes it. A view of problems has none."""
    place, name = getattr(options.get("context"), "url", None), options.get("name")
    if not isinstance(place, str):
        return None
    return (f"{place}/{name}" if name else place) + (options.get("rest") or "") or "/"


def includeme(config: Configurator) -> None:
    config.registry[KEY] = RequestCounts()
    config.add_view_deriver(route_deriver, "route", under=INGRESS, over="subpath")
