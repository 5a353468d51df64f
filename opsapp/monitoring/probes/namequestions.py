"""Questions to name servers, and what the system says of them. Loaded when the first name is asked for: see `names`.
Must not: keep an answer.
"""

from __future__ import annotations

import secrets

import dns.exception
import dns.message
import dns.rcode
import dns.resolver
import gevent

from opsapp.monitoring.probes.gate import HubGate
from opsapp.monitoring.probes.names import NameFailed
from opsapp.wire.dataclass import dataclass
from opsapp.wire.dns import exchange


@dataclass
class SystemServers:
    servers: list[str]
    search: list[str]
    ndots: int
    port: int = 53


def read_system() -> SystemServers:
    try:
        resolver = dns.resolver.Resolver(configure=True)
    except dns.exception.DNSException:
        return SystemServers([], [], 1)
    search = [str(suffix).rstrip(".") for suffix in resolver.search]
    servers = [str(server) for server in resolver.nameservers]
    return SystemServers(servers, search, resolver.ndots or 1, resolver.port)


def ask(server: str, port: int, name: str, kind: str, timeout: float) -> tuple[list[str], float]:
    """The addresses, and for how many seconds they hold. Over UDP, and again over TCP when the answer was cut."""
    try:
        query = dns.message.make_query(name, kind, id=secrets.randbelow(65536))
        return _read(name, _answer(server, port, query, timeout))
    except dns.exception.DNSException as error:
        raise ValueError(error) from None


def _answer(server: str, port: int, query: dns.message.Message, timeout: float) -> dns.message.Message:
    gate, late = HubGate(timeout), NameFailed(f"name server {server} did not answer within {timeout:.1f} s")
    with gevent.Timeout(timeout, late):
        try:
            answer = exchange(gate, server, port, query.to_wire())
        except TimeoutError:
            raise late from None
        finally:
            gate.clear()
    return dns.message.from_wire(answer, ignore_trailing=True)


def _read(name: str, answer: dns.message.Message) -> tuple[list[str], float]:
    if answer.rcode() == dns.rcode.NXDOMAIN:
        raise NameFailed(f"name {name.rstrip('.')} does not exist")
    if answer.rcode() != dns.rcode.NOERROR:
        raise NameFailed(f"name {name.rstrip('.')}: {dns.rcode.to_text(answer.rcode())}")
    chain = answer.resolve_chaining()  # type: ignore[attr-defined]
    if chain.answer is None:
        return [], 0.0
    return [record.address for record in chain.answer], float(chain.minimum_ttl)
