"""Names to addresses without a thread: queries over the hub's sockets, a cache that honours the TTL.

libcurl's resolver and gevent's default starve when a few dozen names hang, because each holds a thread; here it holds a
greenlet. /etc/hosts wins over DNS.
"""

from __future__ import annotations

import functools
import ipaddress
import os
from importlib import import_module
from typing import Any

import gevent
import gevent.socket
from gevent.event import AsyncResult

from opsapp.wire.probes import ProbeFailed

MAX_TTL = 3600.0
MAX_ENTRIES = 20_000
PER_SERVER_S = 2.0
HOSTS_S = 1.0
RESOLV_CONF = "/etc/resolv.conf"


class NameFailed(ProbeFailed):
    """No address for this name; the text says why."""


class AddressRefused(ProbeFailed):
    def __init__(self, addresses: str):
        super().__init__(f"the address {addresses} may not be reached")


@functools.lru_cache(maxsize=4096)
def is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def read_hosts(path: str) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return names
    for line in lines:
        parts = line.partition("#")[0].split()
        if parts and is_address(parts[0]):
            for name in parts[1:]:
                names.setdefault(name.lower().rstrip("."), []).append(parts[0])
    return names


@functools.cache
def _questions() -> Any:
    """Loaded in a thread, with the first name that is asked for: 3 MB, and some 50 ms that the hub has no time for."""
    return gevent.get_hub().threadpool.apply(import_module, (f"{__package__}.namequestions",))


class Names:
    """`addresses(host, timeout)`; concurrent questions for one name share one query."""

    def __init__(self, monotonic, servers: list[tuple[str, int]] | None = None, hosts_path: str = "/etc/hosts"):
        self._monotonic = monotonic
        self._fixed = servers
        self._servers: list[tuple[str, int]] = servers or []
        self._search: list[str] = []
        self._ndots, self._system_stamp = 1, 0.0
        self._hosts_until = float("-inf")
        self._hosts_path, self._hosts_stamp, self._hosts = hosts_path, 0.0, {}  # type: ignore[var-annotated]
        self._cache: dict[str, tuple[float, list[str]]] = {}
        self._asking: dict[str, AsyncResult] = {}

    def addresses(self, host: str, timeout: float) -> list[str]:
        """At least one address, or NameFailed."""
        host = host.lower()
        if is_address(host):
            return [host]
        known = self.known(host)
        if not known:
            self._read_hosts()  # it may have been written this second
            known = self._from_hosts(host.rstrip("."))
        return known or self._shared_query(host, timeout)

    def known(self, host: str) -> list[str]:
        """The addresses of a name in small letters, as far as nobody must be asked."""
        known = self._from_hosts(host.rstrip("."))
        if known:
            return known
        until, cached = self._cache.get(host, (0.0, []))
        return cached if self._monotonic() < until else []

    def _from_hosts(self, host: str) -> list[str]:
        if self._monotonic() >= self._hosts_until:
            self._read_hosts()
        known = self._hosts.get(host, [])
        if not known and (host == "localhost" or host.endswith(".localhost")):
            return ["127.0.0.1", "::1"]
        return known

    def _read_hosts(self) -> None:
        """The file's time is looked at once a second."""
        self._hosts_until = self._monotonic() + HOSTS_S
        try:
            stamp = os.stat(self._hosts_path).st_mtime
        except OSError:
            stamp = -1.0
        if stamp != self._hosts_stamp:
            self._hosts_stamp, self._hosts = stamp, read_hosts(self._hosts_path)

    def _shared_query(self, host: str, timeout: float) -> list[str]:
        # The query runs in a greenlet of its own, so that the impatience of the first who asks spoils it for nobody.
        pending = self._asking.get(host)
        if pending is None:
            pending = self._asking[host] = AsyncResult()
            gevent.spawn(self._resolve_into, host, pending)
        with gevent.Timeout(timeout, NameFailed(f"name {host}: no answer within {timeout:.1f} s")):
            answer = pending.get()
        if isinstance(answer, NameFailed):
            raise NameFailed(*answer.args)
        return answer

    def _resolve_into(self, host: str, pending: AsyncResult) -> None:
        try:
            addresses, ttl = self._resolve(host)
        except NameFailed as failed:
            pending.set(failed)
        except (OSError, ValueError) as error:
            pending.set(NameFailed(f"name {host}: {error}"))
        else:
            self._remember(host, addresses, ttl)
            pending.set(addresses)
        finally:
            del self._asking[host]

    def _remember(self, host: str, addresses: list[str], ttl: float) -> None:
        if len(self._cache) >= MAX_ENTRIES:
            self._cache.clear()
        self._cache[host] = (self._monotonic() + min(ttl, MAX_TTL), addresses)

    def _read_system(self) -> None:
        """Read the system's name servers again when their file has changed (a new network, a new lease)."""
        try:
            stamp = os.stat(RESOLV_CONF).st_mtime
        except OSError:
            stamp = -1.0
        if self._fixed is None and stamp != self._system_stamp:
            system, self._system_stamp = _questions().read_system(), stamp
            self._servers = [(server, system.port) for server in system.servers]
            self._search, self._ndots = system.search, system.ndots

    def _resolve(self, host: str) -> tuple[list[str], float]:
        self._read_system()
        if not self._servers:
            raise NameFailed(f"name {host}: no name server is configured")
        last = NameFailed(f"name {host} does not exist")
        for name in self._candidates(host):
            try:
                return self._both_families(name)
            except NameFailed as failed:
                last = failed
        raise last

    def _candidates(self, host: str) -> list[str]:
        if host.endswith("."):
            return [host]
        suffixed = [f"{host}.{suffix}." for suffix in self._search if suffix]
        absolute = [host + "."]
        return absolute + suffixed if host.count(".") >= self._ndots else suffixed + absolute

    def _both_families(self, name: str) -> tuple[list[str], float]:
        attempts = [gevent.spawn(self._attempt, name, kind) for kind in ("A", "AAAA")]
        gevent.joinall(attempts)
        answers = [greenlet.value for greenlet in attempts]
        addresses = [address for answer in answers if not isinstance(answer, NameFailed) for address in answer[0]]
        if addresses:
            return addresses, min(answer[1] for answer in answers if not isinstance(answer, NameFailed) and answer[0])
        failed = [answer for answer in answers if isinstance(answer, NameFailed)]
        raise failed[0] if failed else NameFailed(f"name {name.rstrip('.')} has no address")

    def _attempt(self, name: str, kind: str) -> tuple[list[str], float] | NameFailed:
        """A failure is returned, not raised: gevent prints what a greenlet raises."""
        questions, last = _questions(), NameFailed(f"name {name.rstrip('.')} could not be resolved")
        for server, port in self._servers:
            try:
                answer: tuple[list[str], float] = questions.ask(server, port, name, kind, PER_SERVER_S)
                return answer
            except NameFailed as failed:
                last = failed
                if "does not exist" in str(failed):
                    break
            except (OSError, ValueError) as error:
                last = NameFailed(f"name server {server}: {error}")
        return last
