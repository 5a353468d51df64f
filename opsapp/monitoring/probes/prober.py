"""The door to all probes: `Prober.probe(target) -> Outcome`. One per process, used by many greenlets."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from opsapp.lib.networks import AddressPolicy
from opsapp.monitoring.logic.settings import OPTIONS
from opsapp.monitoring.probes import dnsquery, http, jsonvalue, keyword, ping, tcp, tls
from opsapp.monitoring.probes.names import NameFailed, Names, is_address
from opsapp.monitoring.probes.outcome import Outcome, ProbeTarget, Refused, Unavailable
from opsapp.monitoring.probes.transfers import Transfers

PROBES: dict[str, Callable[[Prober, ProbeTarget], Outcome]] = {}
BODIES: dict[str, http.Judge | None] = {"http": None, "keyword": keyword.judge, "json": jsonvalue.judge}


class Prober:
    """What the probes share: the address policy, the name cache, the transfer loop, TLS contexts."""

    def __init__(
        self,
        monotonic,
        policy: AddressPolicy,
        names: Names | None = None,
        ca_file: str = "",
        *,
        max_redirects: int = OPTIONS["max_redirects"],
        max_body: int = OPTIONS["max_body_bytes"],
    ):
        self.monotonic = monotonic
        self.policy = policy
        self.names = names or Names(monotonic)
        self.max_redirects = max_redirects
        self.transfers = Transfers(policy, ca_file, max_body)
        self.checking_tls = tls.checking_context(ca_file)
        self.looking_tls = tls.looking_context()

    def probe(self, target: ProbeTarget) -> Outcome:
        """Never raises for what a target does, and returns in about `target.timeout` seconds: each probe sees to it."""
        return self.guarded(target, lambda: PROBES[target.type](self, target))

    def begin(self, target: ProbeTarget, done: Callable[[Outcome], None]) -> bool:
        """Start a check that needs no greenlet, and call `done` from the hub's loop; False where it needs one."""
        if target.type not in BODIES:
            return False
        return http.begin(self, target, done, BODIES[target.type])

    def guarded(self, target: ProbeTarget, check: Callable[[], Outcome]) -> Outcome:
        """What went wrong with a check, as its outcome."""
        started = self.monotonic()
        try:
            return check()
        except Unavailable as unavailable:
            return Outcome(None, None, str(unavailable))
        except Refused as refused:
            return Outcome(False, None, f"the address {refused} may not be reached")
        except NameFailed as failed:
            return Outcome(False, None, str(failed))
        except TimeoutError:
            return Outcome(False, None, f"no answer within {target.timeout:g} s")
        except ValueError as error:  # a certificate, an address or an answer that makes no sense
            return Outcome(False, None, f"unreadable: {error}")
        except OSError as error:
            elapsed = round((self.monotonic() - started) * 1000, 2)
            return Outcome(False, elapsed, error.strerror or str(error) or type(error).__name__)

    def known_addresses(self, host: str) -> list[str] | None:
        """The addresses of a host that may be reached, where they are known at once; None where they must be asked for
        or may not be reached."""
        if is_address(host):
            return [host] if self.policy.allows(host) else None
        found = self.names.known(host)
        return [address for address in found if self.policy.allows(address)] or None

    def allowed_addresses(self, host: str, timeout: float) -> list[str]:
        """The addresses of the host that may be reached; Refused when it has only others."""
        found = self.names.addresses(host, timeout)
        allowed = [address for address in found if self.policy.allows(address)]
        if not allowed:
            raise Refused(", ".join(found))
        return allowed

    def certificate_days(self, target: ProbeTarget) -> float | None:
        """What is left of the certificate at an https URL, trusted or not; None when it cannot be read."""
        parts = urlsplit(target.url)
        try:
            certificate = tls.look(self, parts.hostname or "", parts.port or 443, min(2.0, target.timeout))
        except (OSError, NameFailed, Refused):
            return None
        return tls.days_left(certificate)

    def retire(self) -> None:
        """Another takes its place; what is under way comes to its end."""
        self.transfers.retire()

    def close(self) -> None:
        self.transfers.close()


PROBES.update(
    http=http.probe,
    keyword=keyword.probe,
    json=jsonvalue.probe,
    tcp=tcp.probe,
    ping=ping.probe,
    dns=dnsquery.probe,
    tls=tls.probe,
)
