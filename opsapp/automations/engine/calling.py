"""Calling a webhook: one request under the address policy of monitors, its answer as the run's output. On the hub."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from opsapp.lib.networks import AddressPolicy
from opsapp.monitoring.logic.settings import options
from opsapp.monitoring.probes import http
from opsapp.monitoring.probes.outcome import ProbeTarget
from opsapp.monitoring.probes.prober import Prober
from opsapp.runtime.node import Node

from .programs import Ended


class Caller:
    """One per engine node; the policy is the configuration's, also after a reload."""

    def __init__(self, node: Node):
        self._node = node
        self._config: Any = None
        self._prober: Any = None

    def _ready(self) -> Prober:
        if self._config is not self._node.config:
            self._config = self._node.config
            section = options(self._config)
            policy = AddressPolicy(section["allow_networks"], section["deny_networks"])
            self._prober = Prober(self._node.clock.monotonic, policy, ca_file=section["ca_file"])
        return self._prober

    def call(self, job: dict[str, Any], put: Callable[[str], None]) -> Ended:
        work, timeout = job["work"], job["timeout"]
        body, headers = body_of(work["body"], work["headers"])
        target = ProbeTarget(
            job["run_id"], "http", work["url"], timeout=timeout, method=work["method"], headers=headers, body=body
        )
        try:
            reply, problem = http.call(self._ready(), target)
        except ValueError as unreadable:
            return Ended("failed", None, f"this cannot be sent: {unreadable}")
        if reply.status:
            put(f"HTTP {reply.status}\n")
        if reply.body:
            put(reply.body.decode("utf-8", "replace"))
            put("\n[the rest of the answer was not read]\n" if reply.cut else "")
        if not problem:
            return Ended("done", None, None)
        return Ended("timeout" if "no complete answer" in problem else "failed", None, problem)


def body_of(body: Any, headers: dict[str, str]) -> tuple[bytes, dict[str, str]]:
    """The bytes to send: a text as it is, anything else as JSON."""
    if body is None or body == "":
        return b"", headers
    if isinstance(body, str):
        return body.encode(), headers
    named = any(name.lower() == "content-type" for name in headers)
    return json.dumps(body).encode(), headers if named else {**headers, "Content-Type": "application/json"}
