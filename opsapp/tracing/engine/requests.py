"""Spans of requests on their way to the collector: in memory, at most `MOST`. What does not fit is lost.

Added by the threads that answer requests, sent by each node itself.
"""

from __future__ import annotations

from collections import deque

from opsapp.runtime.node import Node
from opsapp.tracing.config import TracingSettings
from opsapp.tracing.logic.otlp import encoded, message
from opsapp.tracing.logic.spans import SpanSource, TraceSpan

from .collector import Collector

KEY = "opsapp.tracing.requests"
MOST = 4096
AT_ONCE = 512


class RequestSpans:
    """One per node."""

    def __init__(self, node: Node, collector: Collector):
        self._node, self._collector = node, collector
        self._waiting: deque[bytes] = deque()

    @property
    def settings(self) -> TracingSettings | None:
        """None: nobody wants spans."""
        settings = self._node.config[TracingSettings]
        return None if settings.endpoint is None else settings

    def add(self, span: TraceSpan) -> None:
        """Any thread may call this."""
        if len(self._waiting) < MOST:
            self._waiting.append(encoded(span))
        else:
            self._collector.dropped += 1

    def step(self) -> bool:
        if self.settings is None:
            self._waiting.clear()
        if not self._waiting or not self._collector.is_ready():
            return False
        spans = [self._waiting.popleft() for _ in range(min(AT_ONCE, len(self._waiting)))]
        source = SpanSource(self._collector.settings.service)
        if self._collector.send(message((source, span) for span in spans), len(spans)) == "away":
            self._put_back(spans)
            return False
        return True

    def _put_back(self, spans: list[bytes]) -> None:
        room = max(0, MOST - len(self._waiting))
        self._collector.dropped += max(0, len(spans) - room)
        self._waiting.extendleft(reversed(spans[-room:] if room else []))


def request_spans_of(node: Node) -> RequestSpans:
    spans: RequestSpans = node.registry[KEY]
    return spans
