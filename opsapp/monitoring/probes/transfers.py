"""HTTP requests through libcurl's multi interface, driven by the hub's io and timer watchers.

One `Transfers` per process. `start(hop, done)` begins a request and returns; `fetch(hop)` blocks its greenlet only.
Redirects, names and judgement belong to `http.py`.

Thousands of checks a second pass through: sockets share one epoll set, of which the hub knows a single descriptor, and
handles remember their options.
"""

from __future__ import annotations

import logging
import os
import select
import socket
import ssl
from collections.abc import Callable
from dataclasses import field
from typing import Any

import gevent
import pycurl
from gevent.event import AsyncResult

from opsapp.lib.networks import AddressPolicy
from opsapp.wire.dataclass import dataclass

log = logging.getLogger(__name__)

IDLE_HANDLES = 256
BACKSTOP_S = 2.0  # libcurl ends a transfer by itself; this is for the day it does not
PROTOCOLS = {1: "HTTP/1.0", 2: "HTTP/1.1", 3: "HTTP/2", 30: "HTTP/3"}
_WANTED = {
    pycurl.POLL_IN: select.EPOLLIN,
    pycurl.POLL_OUT: select.EPOLLOUT,
    pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
}
_IN, _OUT, _ERR = select.EPOLLIN, select.EPOLLOUT, select.EPOLLERR | select.EPOLLHUP
READY = 512  # sockets served before the hub gets its turn
NEVER = float("inf")
NO_HEADERS: dict[str, str] = {}


@dataclass(slots=True)
class Hop:
    """One request on a fresh connection. `addresses`: of the host, so that libcurl never asks for the name. `headers`
    must not change afterwards: a handle knows by them what it was told."""

    url: str
    host: str
    port: int
    addresses: list[str]
    timeout: float
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=lambda: NO_HEADERS)
    verify_tls: bool = True
    decode: bool = False
    body: bytes = b""
    is_judged: bool = False  # the host is itself an address that may be reached: nothing is left for the last gate


@dataclass(slots=True)
class Reply:
    """`error` is libcurl's code, 0 when the whole answer (or as much of it as is read) arrived."""

    error: int
    message: str
    status: int = 0
    body: bytes = b""
    cut: bool = False
    location: str = ""
    protocol: str | None = None
    phases: dict[str, float] = field(default_factory=dict)
    certificates: list = field(default_factory=list)
    refused: str = ""
    sent: bool = True  # False: nothing of the request has left this machine


class _Descriptor:
    """What pycurl duplicates and drops: the original is closed as soon as nobody holds it."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int):
        self._fd = fd

    def fileno(self) -> int:
        return self._fd

    def __del__(self):
        os.close(self._fd)


class _Handle:
    """A libcurl handle, which is used again and again; connections are not."""

    __slots__ = (
        "cut", "decode", "done", "easy", "ends", "gated", "headers", "method", "most", "pieces", "policy", "refused",
        "resolves", "sends", "size", "timeout", "verify",
    )  # fmt: skip

    def __init__(self, transfers: Transfers):
        self.policy, self.most = transfers.policy, transfers.max_body
        self.done: Callable[[Reply], Any] | None = None
        self.ends = NEVER  # when the backstop takes it
        self.pieces: list[bytes] = []
        self.size, self.cut, self.refused = 0, False, ""
        # What the easy handle was told last.
        self.timeout, self.method, self.headers, self.verify, self.decode = 0, "GET", NO_HEADERS, True, False
        self.resolves = self.sends = False
        self.gated = True
        easy = self.easy = pycurl.Curl()
        easy.handle = self
        for option, value in (
            (pycurl.NOSIGNAL, 1),
            (pycurl.FRESH_CONNECT, 1),  # connect and TLS are part of what is measured
            (pycurl.FORBID_REUSE, 1),
            (pycurl.PROXY, ""),  # else http_proxy of the environment would be probed
            (pycurl.FOLLOWLOCATION, 0),
            (pycurl.OPT_CERTINFO, 1),
            (pycurl.SSL_SESSIONID_CACHE, 0),
            (pycurl.SSL_VERIFYPEER, 1),
            (pycurl.SSL_VERIFYHOST, 2),
            (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
            (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS),
            (pycurl.HTTPGET, 1),
            (pycurl.WRITEFUNCTION, self._write),
            (pycurl.OPENSOCKETFUNCTION, self._open_socket),
        ):
            easy.setopt(option, value)
        for option, value in transfers.trust:
            easy.setopt(option, value)

    def _write(self, data: bytes) -> int:
        room = self.most - self.size
        self.pieces.append(data[:room])
        self.size += len(data)
        if len(data) > room:
            self.cut = True
            return -1
        return len(data)

    def _open_socket(self, _purpose, address):
        """The last gate: the address that libcurl would connect to, whatever it made of the URL."""
        ip = address.addr[0]
        ip = ip.decode() if isinstance(ip, bytes) else ip
        if not self.policy.allows(ip):
            self.refused = ip
            return pycurl.SOCKET_BAD
        # Not `socket.socket`, which wraps this one in Python.
        sock = socket.SocketType(address.family, address.socktype | socket.SOCK_NONBLOCK, address.protocol)
        return _Descriptor(sock.detach())

    def _gate(self, gated: bool) -> None:
        """A socket of our own costs a tenth of a check: it is made, judged, duplicated and closed."""
        self.gated = gated
        if gated:
            self.easy.setopt(pycurl.OPENSOCKETFUNCTION, self._open_socket)
        else:
            self.easy.unsetopt(pycurl.OPENSOCKETFUNCTION)

    def prepare(self, hop: Hop) -> None:
        if self.size or self.refused:
            self.pieces, self.size, self.cut, self.refused = [], 0, False, ""
        easy = self.easy
        easy.setopt(pycurl.URL, hop.url)
        timeout = max(1, int(hop.timeout * 1000))
        if timeout != self.timeout:
            self.timeout = timeout
            easy.setopt(pycurl.TIMEOUT_MS, timeout)
            easy.setopt(pycurl.CONNECTTIMEOUT_MS, timeout)
        if hop.is_judged is self.gated:
            self._gate(not hop.is_judged)
        if hop.headers is not self.headers:
            self.headers = hop.headers
            lines = [f"{name}: {value}" if value else f"{name};" for name, value in hop.headers.items()]
            easy.setopt(pycurl.HTTPHEADER, [line.encode() for line in lines])
        if hop.method != self.method or hop.body or self.sends:
            self._ask_by(hop.method, hop.body)
        if hop.verify_tls != self.verify:
            self.verify = hop.verify_tls
            easy.setopt(pycurl.SSL_VERIFYPEER, 1 if hop.verify_tls else 0)
            easy.setopt(pycurl.SSL_VERIFYHOST, 2 if hop.verify_tls else 0)
        if hop.decode != self.decode:
            self.decode = hop.decode
            if hop.decode:
                easy.setopt(pycurl.ACCEPT_ENCODING, "")
            else:
                easy.unsetopt(pycurl.ACCEPT_ENCODING)
        if hop.addresses or self.resolves:
            self.resolves = bool(hop.addresses)
            joined = ",".join(f"[{address}]" if ":" in address else address for address in hop.addresses)
            easy.setopt(pycurl.RESOLVE, [f"+{hop.host}:{hop.port}:{joined}"] if joined else [])

    def _ask_by(self, method: str, body: bytes) -> None:
        self.method, self.sends = method, bool(body)
        if body:
            self.easy.setopt(pycurl.POSTFIELDS, body)
        else:
            self.easy.setopt(pycurl.HTTPGET, 1)  # which also forgets the body of an earlier use
            self.easy.setopt(pycurl.NOBODY, 1 if method == "HEAD" else 0)
        if method in {"GET", "HEAD"} and not body:
            self.easy.unsetopt(pycurl.CUSTOMREQUEST)
        else:
            self.easy.setopt(pycurl.CUSTOMREQUEST, method)

    def reply(self, error: int, message: str) -> Reply:
        get = self.easy.getinfo
        if self.cut and error == pycurl.E_WRITE_ERROR:
            error = 0
        body = self.pieces[0] if len(self.pieces) == 1 else b"".join(self.pieces)
        status, tls = get(pycurl.RESPONSE_CODE), get(pycurl.APPCONNECT_TIME)
        return Reply(
            error,
            message,
            status,
            body,
            self.cut,
            (get(pycurl.REDIRECT_URL) or "") if 300 <= status < 400 else "",
            PROTOCOLS.get(get(pycurl.INFO_HTTP_VERSION)),
            self._phases(get, tls),
            get(pycurl.INFO_CERTINFO) if tls else [],
            self.refused,
            not error or get(pycurl.REQUEST_SIZE) > 0,
        )

    @staticmethod
    def _phases(get: Callable[[int], float], tls: float) -> dict[str, float]:
        """Milliseconds of each phase by itself, if it was reached. The total is of all requests of a check."""
        name, connect = get(pycurl.NAMELOOKUP_TIME), get(pycurl.CONNECT_TIME)
        ready, first = get(pycurl.PRETRANSFER_TIME), get(pycurl.STARTTRANSFER_TIME)
        phases = {"name": name * 1000}
        if connect:
            phases["connect"] = max(0.0, connect - name) * 1000
        if tls:
            phases["tls"] = max(0.0, tls - connect) * 1000
        if first and ready:
            phases["first_byte"] = max(0.0, first - ready) * 1000
        return phases


def trusted_authorities(ca_file: str = "") -> list[tuple[int, str]]:
    """The system's certificates: the path that pycurl was built with may not exist here."""
    if ca_file:
        return [(pycurl.CAINFO, ca_file)]
    paths = ssl.get_default_verify_paths()
    if paths.cafile and os.path.exists(paths.cafile):
        return [(pycurl.CAINFO, paths.cafile)]
    return [(pycurl.CAPATH, paths.capath)] if paths.capath else []


class Transfers:
    """Only the greenlets and callbacks of one hub may use it."""

    def __init__(self, policy: AddressPolicy, ca_file: str = "", max_body: int = 256 * 1024):
        self.policy = policy
        self.max_body = max_body
        self.trust = trusted_authorities(ca_file)
        self._loop = gevent.get_hub().loop
        self._idle: list[_Handle] = []
        self._flying: set[_Handle] = set()
        self._closed = self._retired = False
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)
        self._epoll = select.epoll()
        self._watched: set[int] = set()
        self._ready = self._loop.io(self._epoll.fileno(), 1)
        self._ready.start(self._on_ready)
        self._due, self._armed = NEVER, NEVER  # when libcurl wants to be called, when the timer will
        self._timer: Any = None
        self._sweeper = self._loop.timer(BACKSTOP_S, BACKSTOP_S, ref=False)
        self._sweeper.start(self._sweep)

    def start(self, hop: Hop, done: Callable[[Reply], Any]) -> None:
        """`done(reply)` is called once from the hub's loop, so it must not wait, within hop.timeout (plus the backstop)
        whatever the peer does."""
        handle = self._idle.pop() if self._idle else _Handle(self)
        handle.prepare(hop)
        self._loop.update_now()  # where the loop has not turned for long, its time is from then
        handle.done, handle.ends = done, self._loop.now() + hop.timeout + BACKSTOP_S
        self._flying.add(handle)
        self._multi.add_handle(handle.easy)

    def fetch(self, hop: Hop) -> Reply:
        """The same for a greenlet, which waits."""
        result = AsyncResult()
        self.start(hop, result.set)
        return result.get()

    def close(self) -> None:
        """Whoever still waits is told that there was no answer."""
        self._closed = True
        for watcher in (self._ready, self._sweeper, self._timer):
            if watcher is not None:
                watcher.stop()
                watcher.close()
        for handle in list(self._flying):
            self._land(handle, pycurl.E_OPERATION_TIMEDOUT, "the service stopped")
        for handle in self._idle:
            handle.easy.close()
        self._idle.clear()
        self._multi.close()
        self._epoll.close()

    def retire(self) -> None:
        """Close it once what is under way has ended; nothing new will begin."""
        self._retired = True
        if not self._flying:
            self.close()

    def _land(self, handle: _Handle, code: int, message: str, again: bool = True) -> None:
        done, handle.done = handle.done, None
        self._flying.discard(handle)
        reply = handle.reply(code, message)
        self._multi.remove_handle(handle.easy)
        if again and len(self._idle) < IDLE_HANDLES and not self._closed:
            self._idle.append(handle)
        else:
            handle.easy.close()
        try:
            if done is not None:
                done(reply)
        except Exception:
            log.exception("the callback of a transfer failed: %r", done)
        if self._retired and not self._flying and not self._closed:
            self.close()

    def _sweep(self) -> None:
        """libcurl ends each transfer by itself; this is for the day it does not."""
        now = self._loop.now()
        for handle in [handle for handle in self._flying if handle.ends < now]:
            self._land(handle, pycurl.E_OPERATION_TIMEDOUT, "the transfer did not end in time", again=False)

    def _on_socket(self, what: int, fd: int, _multi, _data) -> None:
        if what == pycurl.POLL_REMOVE:
            if fd in self._watched:
                self._watched.discard(fd)
                try:
                    self._epoll.unregister(fd)
                except OSError:  # closed before: then it has left the set by itself
                    return
        elif fd in self._watched:
            self._epoll.modify(fd, _WANTED[what])
        else:
            self._watched.add(fd)
            self._epoll.register(fd, _WANTED[what])

    def _on_timer(self, milliseconds: int) -> None:
        # libcurl asked too early does not ask again: round up, and start from the true now.
        if milliseconds < 0:
            self._due = NEVER
            return
        if milliseconds:
            self._loop.update_now()
        self._due = self._loop.now() + (milliseconds / 1000 + 0.001 if milliseconds else 0.0)
        if self._due < self._armed:
            self._arm()

    def _arm(self) -> None:
        """One timer for all: it fires at the earliest time that was asked for."""
        if self._timer is not None:
            self._timer.stop()
            self._timer.close()
        self._armed = self._due
        self._timer = self._loop.timer(max(0.0, self._due - self._loop.now()))
        self._timer.start(self._on_expired)

    def _on_expired(self) -> None:
        self._armed = NEVER
        if self._due <= self._loop.now() + 0.0005:
            self._due = NEVER
            self._drive(pycurl.SOCKET_TIMEOUT, 0)
        if self._due < self._armed:
            self._arm()

    def _on_ready(self) -> None:
        for fd, events in self._epoll.poll(0, READY):
            mask = (pycurl.CSELECT_IN if events & _IN else 0) | (pycurl.CSELECT_OUT if events & _OUT else 0)
            self._drive(fd, mask | (pycurl.CSELECT_ERR if events & _ERR else 0))

    def _drive(self, fd: int, mask: int) -> None:
        _, running = self._multi.socket_action(fd, mask)
        if running < len(self._flying):
            self._collect()

    def _collect(self) -> None:
        left = 1
        while left and not self._closed:
            left, good, bad = self._multi.info_read()
            for easy in good:
                self._land(easy.handle, 0, "")
            for easy, code, message in bad:
                self._land(easy.handle, code, message)
