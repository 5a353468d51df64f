"""The one client for web addresses that people name: webhooks of runs, heals, subscribers. On the hub. Must not: know
what is sent.
"""

from __future__ import annotations

from collections.abc import Callable

from opsapp.lib.networks import AddressPolicy
from opsapp.monitoring.logic.settings import MonitoringSettings
from opsapp.monitoring.probes import http
from opsapp.monitoring.probes.prober import Prober
from opsapp.monitoring.probes.transfers import Reply
from opsapp.runtime.config import Configuration
from opsapp.runtime.node import Node
from opsapp.wire.probes import ProbeTarget


class WebClient:
    """The policy is that of monitors, or another one of the configuration, also after a reload."""

    def __init__(self, node: Node, policy: Callable[[Configuration], AddressPolicy] | None = None):
        self._node, self._policy = node, policy
        self._config: Configuration | None = None
        self._prober: Prober | None = None

    def call(self, target: ProbeTarget) -> tuple[Reply, str]:
        """The reply, and what is wrong with it. ValueError for what cannot be sent."""
        return http.call(self._ready(), target)

    def _ready(self) -> Prober:
        config = self._node.config
        if self._prober is None or self._config is not config:
            if self._prober is not None:
                self._prober.retire()
            policy = self._policy(config) if self._policy else None
            self._prober = Prober.configured(self._node.clock.monotonic, config[MonitoringSettings], policy)
            self._config = config
        return self._prober
