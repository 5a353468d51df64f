"""Probing from agents: an `IProbeElsewhere` over their sessions."""

from __future__ import annotations

from typing import Any

from opsapp.agents.engine.sessions import request_probe
from opsapp.monitoring.logic.settings import options
from opsapp.monitoring.probes.outcome import Outcome, ProbeTarget
from opsapp.runtime.node import Node

_SAID = (
    "type", "url", "timeout", "expected_status", "method", "headers", "follow_redirects", "verify_tls", "keyword",
    "keyword_absent", "json_path", "expected_value",
)  # fmt: skip


class Elsewhere:
    def __init__(self, node: Node):
        self.node = node

    def probe(self, agent_id: str, target: ProbeTarget) -> Outcome:
        """On the hub. The agent judges addresses by the networks of this configuration, as the server does."""
        section = options(self.node.config)
        asked: dict[str, Any] = {name: getattr(target, name) for name in _SAID}
        asked |= {"allow": list(section["allow_networks"]), "deny": list(section["deny_networks"])}
        seen = request_probe(self.node, agent_id, asked)
        if seen is None:
            return Outcome(None, None, f"agent {agent_id} cannot be asked")
        return Outcome(**seen)
