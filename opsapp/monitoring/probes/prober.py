"""The way to all probes: `Prober.probe(target) -> Outcome`. One per process, used by many greenlets."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from urllib.parse import urlsplit

import gevent

from opsapp.lib.networks import AddressPolicy
from opsapp.monitoring.logic.settings import MonitoringSettings
from opsapp.monitoring.probes import http, snmp
from opsapp.monitoring.probes.gate import HubGate, TlsContexts
from opsapp.monitoring.probes.names import AddressRefused, Names
from opsapp.monitoring.probes.transfers import Transfers
from opsapp.wire.monitortypes import TYPES
from opsapp.wire.probes import Outcome, ProbeFailed, ProbeTarget, days_left, guarded, of_family

OF_THE_SERVICE: dict[str, Callable[[ProbeTarget, HubGate], Outcome]] = {"snmp": snmp.probe}  # which agents cannot look
_OF_THE_WEB = frozenset(name for name, monitor_type in TYPES.items() if monitor_type.is_web)
READING_S = 2.0  # for a certificate that was refused


class Prober:
    def __init__(
        self,
        monotonic: Callable[[], float],
        policy: AddressPolicy,
        names: Names | None = None,
        settings: MonitoringSettings = MonitoringSettings(),
    ):
        self.monotonic = monotonic
        self.policy = policy
        self.names = names or Names(monotonic)
        self.max_redirects = settings.max_redirects
        self.transfers = Transfers(policy, settings.ca_file, settings.max_body_bytes)
        self._ca_file = settings.ca_file

    @classmethod
    def configured(
        cls, monotonic: Callable[[], float], settings: MonitoringSettings, policy: AddressPolicy | None = None
    ) -> Prober:
        policy = policy or AddressPolicy(settings.allow_networks, settings.deny_networks)
        prober = cls(monotonic, policy, settings=settings)
        prober._tls  # noqa: B018 - at the start, not in the first check
        return prober

    @cached_property
    def _tls(self) -> TlsContexts:
        """Reading what the system trusts keeps the hub for some 40 ms; web requests have their own, in libcurl."""
        return TlsContexts(self._ca_file)

    def probe(self, target: ProbeTarget) -> Outcome:
        """Never raises for what a target does, and returns in about `target.timeout` seconds: each probe sees to it."""
        probe = TYPES[target.type].probe or OF_THE_SERVICE.get(target.type)
        if probe is None:
            return self.guarded(target, lambda: http.probe(self, target))
        return self.guarded(target, lambda: self._gate(target.timeout, target.ip_family).run(probe, target))

    def begin(self, target: ProbeTarget, done: Callable[[Outcome], None]) -> bool:
        """A check that needs no greenlet; `done` is called from the hub's loop. False where it needs one."""
        return target.type in _OF_THE_WEB and http.begin(self, target, done)

    def guarded(self, target: ProbeTarget, check: Callable[[], Outcome]) -> Outcome:
        """What went wrong with a check, as its outcome."""
        started = self.monotonic()
        return guarded(check, target.timeout, lambda: round((self.monotonic() - started) * 1000, 2))

    def _gate(self, timeout: float, family: str) -> HubGate:
        def resolve(host: str, seconds: float) -> list[str]:
            return of_family(self.allowed_addresses(host, seconds), family)

        return HubGate(timeout, self.monotonic, resolve, self._tls)

    def known_addresses(self, name: str) -> list[str]:
        """The addresses of a name that may be reached, as far as they are known at once."""
        return [address for address in self.names.known(name) if self.policy.allows(address)]

    def allowed_addresses(self, host: str, timeout: float) -> list[str]:
        """The host's addresses that may be reached; AddressRefused when it has none."""
        addresses = self.names.addresses(host, timeout)
        allowed = [address for address in addresses if self.policy.allows(address)]
        if not allowed:
            raise AddressRefused(", ".join(addresses))
        return allowed

    def certificate_days(self, target: ProbeTarget) -> float | None:
        """Days left, trusted or not; None when it cannot be read."""
        parts, timeout = urlsplit(target.url), min(READING_S, target.timeout)
        gate = self._gate(timeout, target.ip_family)
        try:
            with gevent.Timeout(timeout, TimeoutError()):
                return days_left(gate.certificate(parts.hostname or "", parts.port or 443, False), gate.now())
        except (OSError, ProbeFailed):
            return None
        finally:
            gate.clear()

    def retire(self) -> None:
        """Another takes its place; what is under way comes to its end."""
        self.transfers.retire()

    def close(self) -> None:
        self.transfers.close()
