"""From node to node: one HTTP request to another node's own server, signed, and its answer as it comes.

What is live (a session, a stream) is on one node, and another may need it. The secret comes from the master key and
serves this use alone. Signed are the node that is asked, method, path and query, the body's digest, the time, and a
number that is accepted once. A body that is handed on while it comes has `STREAMED` in place of its digest, accepted
for such paths alone. On the hub the caller waits cooperatively; elsewhere it blocks. Must not: know what is asked for.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import secrets
import socket
import ssl
import threading
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

import gevent.socket
import gevent.ssl
import h11

from opsapp.lib.durations import roughly
from opsapp.lib.problems import Unauthenticated, Unavailable
from opsapp.runtime.node import Node
from opsapp.runtime.secrets.seals import REGISTRY_KEY
from opsapp.wire.handles import readable

from .tls import client_context

HEADER = "X-Opsapp-Node"
PURPOSE = "node to node"
CONNECT_S = 5.0
SILENCE_S = 60.0  # longer than a stream is ever quiet
SIGNED_FOR_S = 300.0  # clocks need not agree by more than this
TIDY_S = 10.0
SHOWN_S = 300.0
NONCES = "opsapp.nonces"
APART = "opsapp.clocks_apart"
PIECE = 65536
STREAMED = "streamed"
NOTHING = hashlib.sha256(b"").hexdigest()  # the digest of no body
Headers = list[tuple[str, str]]


class NodeAway(Unavailable):
    code = "node_away"

    def __init__(self, name: str, why: str):
        super().__init__(f"The node {name}, which has what this needs, does not answer: {why}.", retry_after=5)


class ClocksApart(Unauthenticated):
    """A node of this cluster asks, and its clock or ours is wrong."""

    code = "clocks_apart"

    def __init__(self, told: str):
        super().__init__(f"Refused: {told}. Set the clocks of the nodes.")


class Caller(NamedTuple):
    """Who asks, as the node that was asked first knows it. `kind`: session, key, ticket, agent, scrape or scim.
    `session_id` names the record behind the credential; `ticket` the stream ticket by which it came."""

    kind: str
    name: str
    role: str | None = None
    session_id: str | None = None
    expires_at: float | None = None
    ticket: str | None = None


CLUSTER = Caller("node", "cluster")  # a node, on nobody's behalf


class Vouched(NamedTuple):
    """The facts of a genuine header: who asks, and the digest that the body must have."""

    caller: Caller
    digest: str


class ClockDifference(NamedTuple):
    """`monotonic`: when it was seen; `ahead`: of the other clock."""

    monotonic: float
    ahead: float

    def told(self, own: str) -> str:
        way = "ahead of" if self.ahead > 0 else "behind"
        most = roughly(SIGNED_FOR_S)
        return f"the clock of another node is {roughly(abs(self.ahead))} {way} that of {own}, and {most} are the most"


class Nonces:
    """The nonces accepted lately: each for one request of one connection."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, str]] = {}  # nonce -> (when it may be forgotten, which request)
        self._tidied_at = float("-inf")

    def accept(self, nonce: str, request_id: str, now: float) -> bool:
        """Whether it is new. The same request may be looked at again (before its body has come, after a conflict)."""
        with self._lock:
            if now - self._tidied_at > TIDY_S:
                self._tidied_at = now
                self._known = {earlier: known for earlier, known in self._known.items() if known[0] > now}
            known = self._known.setdefault(nonce, (now + 2 * SIGNED_FOR_S, request_id))
            return known[1] == request_id


def signature(secret: bytes, method: str, target: str, envelope: str) -> str:
    return hmac.new(secret, f"{method}\n{target}\n{envelope}".encode(), hashlib.sha256).hexdigest()


def credential(node: Node, name: str, method: str, target: str, caller: Caller, digest: str) -> str:
    plain = json.dumps([name, node.clock.now(), secrets.token_hex(16), digest, *caller], separators=(",", ":"))
    envelope = base64.urlsafe_b64encode(plain.encode()).decode()
    return f"{envelope}.{signature(node.registry[REGISTRY_KEY].derived(PURPOSE), method, target, envelope)}"


def _is_ours(node: Node, method: str, target: str, envelope: str, proof: str) -> bool:
    """Signed with a key of this cluster; the file is read anew for one that has just come."""
    seal = node.registry[REGISTRY_KEY]

    def known() -> bool:
        return any(
            hmac.compare_digest(signature(secret, method, target, envelope), proof)
            for secret in seal.all_derived(PURPOSE)
        )

    if not proof.isascii():
        return False
    if not known():
        seal.look_again()
    return known()


def vouched(node: Node, method: str, target: str, value: str, request_id: str) -> Vouched | None:
    """Who asks, if a node of this cluster says so of this very request, just now and for the first time. A node that
    has its store alone has no peers."""
    envelope, _, proof = value.partition(".")
    if node.exclusive or not _is_ours(node, method, target, envelope, proof):
        return None
    try:
        name, at, nonce, digest, *who = json.loads(base64.urlsafe_b64decode(envelope))
        caller = Caller(*who)
    except (ValueError, TypeError, binascii.Error):  # signed by a node of another version
        return None
    now = node.clock.now()
    if name != node.name:
        return None
    if abs(now - at) > SIGNED_FOR_S:
        node.registry[APART] = ClockDifference(node.clock.monotonic(), at - now)
        raise ClocksApart(node.registry[APART].told(node.name))
    nonces: Nonces = node.registry.setdefault(NONCES, Nonces())
    return Vouched(caller, digest) if nonces.accept(nonce, request_id, now) else None


def clocks_apart(node: Node) -> str | None:
    """What health says when another node's requests were refused lately because of its clock, or ours."""
    seen: ClockDifference | None = node.registry.get(APART)
    if seen is None or node.clock.monotonic() - seen.monotonic > SHOWN_S:
        return None
    return seen.told(node.name)


def _connected(node: Node, address: SplitResult) -> Any:
    """A connection to the node; for https the server shows a certificate of the cluster's authority (`opsapp.tls`) and
    asks for ours."""
    here = node.hub.is_here()
    make: Any = gevent.socket if here else socket
    if address.scheme != "https":
        return make.create_connection((address.hostname, address.port or 80), CONNECT_S)
    context = client_context(node.tls, gevent.ssl.SSLContext if here else ssl.SSLContext)
    plain = make.create_connection((address.hostname, address.port or 443), CONNECT_S)
    try:
        return context.wrap_socket(plain, server_hostname=address.hostname)
    except BaseException:
        plain.close()
        raise


class PeerExchange:
    def __init__(
        self,
        node: Node,
        name: str,
        method: str,
        target: str,
        caller: Caller,
        headers: Headers = (),  # type: ignore[assignment]
        digest: str = NOTHING,
    ):
        self.name = name
        self.status = 0
        self.headers: dict[str, str] = {}
        self._h11 = h11.Connection(h11.CLIENT)
        address = urlsplit(node.nodes.address_of(name) or "")
        if not address.hostname:
            raise NodeAway(name, "its address is not known")
        try:
            self._socket = _connected(node, address)
        except (OSError, ValueError) as problem:
            raise NodeAway(name, getattr(problem, "strerror", None) or str(problem)) from None
        self._socket.settimeout(SILENCE_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        proof = credential(node, name, method, target, caller, digest)
        own = [("Host", address.netloc), (HEADER, proof), ("Connection", "close")]
        self._send(h11.Request(method=method, target=target, headers=[*own, *headers]))

    def give(self, pieces: Iterable[bytes]) -> None:
        """The body; it stops where the other node has answered already."""
        for piece in pieces:
            if self._answers():
                return
            self._send(h11.Data(data=piece))
        self._send(h11.EndOfMessage())

    def answered(self) -> int:
        """The status; the head is there."""
        while True:
            event = self._next()
            if isinstance(event, h11.Response):
                self.status = event.status_code
                self.headers = {name.decode(): value.decode("latin-1") for name, value in event.headers}
                return self.status

    def pieces(self) -> Iterator[bytes]:
        while True:
            event = self._next()
            if isinstance(event, h11.Data):
                yield bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                return

    def close(self) -> None:
        self._socket.close()

    def _answers(self) -> bool:
        if getattr(self._socket, "pending", int)():  # decrypted already
            return True
        return bool(readable([self._socket.fileno()], 0))

    def _send(self, event: Any) -> None:
        try:
            self._socket.sendall(self._h11.send(event))
        except OSError as problem:
            self.close()
            raise NodeAway(self.name, problem.strerror or str(problem)) from None

    def _next(self) -> Any:
        try:
            while (event := self._h11.next_event()) is h11.NEED_DATA:
                self._h11.receive_data(self._socket.recv(PIECE))
        except (OSError, h11.RemoteProtocolError) as problem:
            self.close()
            raise NodeAway(self.name, str(problem) or type(problem).__name__) from None
        if isinstance(event, h11.ConnectionClosed):
            raise NodeAway(self.name, "it closed the connection")
        return event


def ask(node: Node, name: str, target: str, value: Any, caller: Caller = CLUSTER) -> Any:
    """POST a JSON value to another node; the JSON value that it answers."""
    body = json.dumps(value, separators=(",", ":")).encode()
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    exchange = PeerExchange(node, name, "POST", target, caller, headers, hashlib.sha256(body).hexdigest())
    try:
        exchange.give([body])
        if exchange.answered() != 200:
            raise NodeAway(name, f"it answered {exchange.status}")
        return json.loads(b"".join(exchange.pieces()))
    finally:
        exchange.close()


def others(node: Node) -> list[str]:
    if node.exclusive:
        return []
    names = {*node.nodes.alive("web"), *node.nodes.alive("engine")} - {node.name}
    return sorted(name for name in names if node.nodes.address_of(name))
