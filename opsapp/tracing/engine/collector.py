"""The collector that takes spans: one request at a time of each sender, by the client for web addresses.

On the hub. A collector that is away, slow or hostile costs spans, never work.
"""

from __future__ import annotations

import logging
from math import inf
from typing import Literal

from opsapp.automations.engine import with_secrets
from opsapp.monitoring.engine import WebClient
from opsapp.runtime.node import Node
from opsapp.tracing.config import TracingSettings
from opsapp.wire.probes import ProbeTarget

log = logging.getLogger(__name__)

KEY = "opsapp.tracing.collector"
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
LATER = frozenset((408, 429, 502, 503, 504))  # what OTLP calls worth another attempt; and so is an answer of 500
TYPE = ("Content-Type", "application/x-protobuf")

Taken = Literal["taken", "refused", "away"]


class Collector:
    """One per node."""

    def __init__(self, node: Node):
        self._node = node
        self._client = WebClient(node)
        self._for: TracingSettings | None = None
        self._failures = 0
        self._again = -inf  # in monotonic seconds
        self.sent = self.dropped = 0  # spans
        self.failures = 0  # messages
        self.problem = ""

    @property
    def settings(self) -> TracingSettings:
        return self._node.config[TracingSettings]

    def is_ready(self) -> bool:
        settings = self.settings
        if settings is not self._for:  # another one may be there
            self._for, self._failures, self._again, self.problem = settings, 0, -inf, ""
        return settings.endpoint is not None and self._node.clock.monotonic() >= self._again

    def send(self, body: bytes, count: int) -> Taken:
        """Spans of a message that is refused are lost; while the collector is away none are."""
        settings = self.settings
        status, problem = self._posted(settings, body)
        if 200 <= status < 300 and not problem:
            self._failures, self.problem = 0, ""
            self.sent += count
            return "taken"
        self.failures += 1
        self.problem = problem or f"HTTP {status}"
        if status and status != 500 and status not in LATER:
            log.warning("spans refused count=%d: %s", count, self.problem)
            self.dropped += count
            return "refused"
        pause = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(self._failures, 10))
        self._failures += 1
        self._again = self._node.clock.monotonic() + pause
        log.warning("spans not taken again_s=%.0f: %s", pause, self.problem)
        return "away"

    def _posted(self, settings: TracingSettings, body: bytes) -> tuple[int, str]:
        """(status, what is wrong): no status where there was no whole answer. A redirect is not followed."""
        try:
            headers = {name: with_secrets(self._node, value) for name, value in settings.headers.items()}
            reply, problem = self._client.call(
                ProbeTarget(
                    "tracing", "http", settings.url, timeout=settings.timeout_s, method="POST",
                    headers={**headers, TYPE[0]: TYPE[1]}, body=body, follow_redirects=False,
                )
            )  # fmt: skip
        except ValueError as wrong:
            return 0, str(wrong)
        if reply.error or reply.refused or not reply.status:
            return 0, problem or "no answer"
        return reply.status, "" if 200 <= reply.status < 300 else problem


def collector_of(node: Node) -> Collector:
    collector: Collector = node.registry[KEY]
    return collector
