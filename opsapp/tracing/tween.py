"""A span for each request that reached the application. Must not: read a body, a query or a credential."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from pyramid.request import Request
from pyramid.response import Response

from opsapp.automations.resources import run_of
from opsapp.runtime.atwork import Work
from opsapp.runtime.events import told_in
from opsapp.runtime.node import Node
from opsapp.web.answers import Answer
from opsapp.web.asked import ROUTE, TRACE, WORK, request_id
from opsapp.web.requestcounts import METHODS, OTHER

from .config import TracingSettings
from .engine import request_spans_of
from .logic.ids import CallerTrace, SpanPlace, asked_for, caller_trace, is_sampled, span_of, trace_of
from .logic.spans import SERVER, Facts, TraceSpan

Handler = Callable[[Request], Response]

BEGAN, ASKED = "opsapp.tracing.began", "opsapp.tracing.asked"
NEVER_STORED = b"\0" * 8
COMMANDS = "/api/agents/{agent_id}/commands"


def tracing_tween(handler: Handler, registry: Any) -> Handler:
    """Around everything. What is raised here is tried again: the last attempt has the span, from the first on."""

    def tween(request: Request) -> Response:
        settings = request_spans_of(request.node).settings
        if settings is None:
            return handler(request)
        began = request.environ.setdefault(BEGAN, time.monotonic())
        request.environ.pop(ASKED, None)
        response = handler(request)
        ended = request.now
        spans = _spans(request, response, settings, ended - (time.monotonic() - began), ended)
        if spans:
            request.environ[TRACE] = spans[0].place.trace.hex()
        for span in [*spans, *_where_lines_say(request.environ.get(WORK), spans)]:
            request_spans_of(request.node).add(span)
        return response

    return tween


def asked_tween(handler: Handler, registry: Any) -> Handler:
    """Runs inside the transaction: it notes which run or command the request has asked for."""

    def tween(request: Request) -> Response:
        response = handler(request)
        if request_spans_of(request.node).settings is not None and request.method == "POST":
            request.environ[ASKED] = _asked(request, response)
        return response

    return tween


def _asked(request: Request, response: Response) -> SpanPlace | None:
    if request.environ.get(ROUTE) == COMMANDS and response.status_int < 300 and not isinstance(response, Answer):
        return asked_for("command", json.loads(response.body).get("command_id", ""))
    batch = told_in(request.tm.get())
    told = () if batch is None else (data.get("run_id") for kind, data in batch.rows if kind == "run")
    runs = (run_of(request.root, run_id) for run_id in told)
    fresh = next((run.id for run in runs if run is not None and run._p_serial == NEVER_STORED), None)
    return None if fresh is None else asked_for("run", fresh)


def _spans(
    request: Request, response: Response, settings: TracingSettings, began: float, ended: float
) -> list[TraceSpan]:
    """The request's spans, two where the caller has a trace of its own and something was asked for, which has one as
    well."""
    asked: SpanPlace | None = request.environ.get(ASKED) if response.status_int < 400 else None
    caller = _caller(request)
    own = SpanPlace(trace_of("request", request_id(request.environ)), span_of("request", request_id(request.environ)))
    span = TraceSpan(asked or own, *_named(request, response, began, ended), kind=SERVER, failed=_failed(response))
    if caller is None:
        return [span] if asked or is_sampled(own.trace, settings.sample) else []
    within = SpanPlace(caller.place.trace, own.span)
    links = () if asked is None else (asked,)
    inside = span._replace(place=within, parent=caller.place.span, links=links)
    linked = [] if asked is None else [span._replace(links=(within,))]
    return [inside, *linked] if caller.sampled else linked


def _where_lines_say(work: Work | None, spans: list[TraceSpan]) -> list[TraceSpan]:
    """Log lines were written before it was known which trace this is: their id leads to the request too."""
    if work is None or not spans:
        return []
    first, others = spans[0], work.named - {span.place.trace.hex() for span in spans}
    places = (SpanPlace(bytes.fromhex(trace), first.place.span) for trace in sorted(others))
    return [first._replace(place=place, parent=b"", links=(first.place,)) for place in places]


def name_in_log_lines(node: Node) -> None:
    node.trace_of = partial(_trace_of_work, node)


def _trace_of_work(node: Node, work: Work) -> str | None:
    """What log lines name while it is done; None where there will be no span."""
    settings = request_spans_of(node).settings
    if settings is None:
        return None
    if work.kind != "request":
        return trace_of(*work.begun_by).hex()
    caller = None if work.request is None else _caller(work.request)
    if caller is not None:
        return caller.place.trace.hex() if caller.sampled else None
    own = trace_of("request", work.id)
    return own.hex() if is_sampled(own, settings.sample) else None


def _caller(request: Request) -> CallerTrace | None:
    """The trace that the caller asks within. A stranger's is not taken up."""
    traceparent = request.headers.get("traceparent")
    return caller_trace(traceparent) if traceparent and request.caller is not None else None


def _named(request: Request, response: Response, began: float, ended: float) -> tuple[str, float, float, Facts]:
    method, route = request.method if request.method in METHODS else OTHER, request.environ.get(ROUTE)
    facts: Facts = {
        "http.request.method": method,
        "http.route": route,
        "http.response.status_code": None if isinstance(response, Answer) else response.status_int,
        "opsapp.request.id": request_id(request.environ),
    }
    return f"{method} {route}" if route else method, began, ended, facts


def _failed(response: Response) -> str | None:
    return f"HTTP {response.status_int}" if response.status_int >= 500 else None
