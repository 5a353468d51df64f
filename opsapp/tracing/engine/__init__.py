"""Spans on their way: `outboxspans` (what the store knows, by one node) and `requests` (by each node, from memory)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opsapp.runtime.families import counter
from opsapp.runtime.looks import QueueLook
from opsapp.runtime.node import Node

from .collector import KEY, Collector, collector_of
from .outboxspans import LEASE, OutboxSpans
from .requests import KEY as REQUESTS
from .requests import RequestSpans, request_spans_of

EVERY_S = 1.0


def prepare(node: Node) -> None:
    """Called before anything is served."""
    collector = node.registry[KEY] = Collector(node)
    node.registry[REQUESTS] = RequestSpans(node, collector)


def start(node: Node) -> None:
    """Runs on the hub, where engines run."""
    spans = OutboxSpans(node, collector_of(node))
    look = QueueLook(node, spans.anything)
    node.supervisor.add("tracing", spans.step, every=EVERY_S, wake=("config",), lease=LEASE, look=look)


def start_everywhere(node: Node) -> None:
    node.supervisor.add("tracing-requests", request_spans_of(node).step, every=EVERY_S)


def figures(node: Node) -> Iterable[Any]:
    collector = collector_of(node)
    spans = counter("opsapp_trace_spans", "Spans for the collector, by what became of them.", labels=["result"])
    spans.add_metric(["sent"], collector.sent)
    spans.add_metric(["dropped"], collector.dropped)
    yield spans
    told = "Messages with spans that the collector has not taken."
    yield counter("opsapp_trace_export_failures", told, value=collector.failures)
