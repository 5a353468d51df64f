"""Servers to be probed: real sockets on loopback, in native threads, each with the manners that its test needs."""

from __future__ import annotations

import contextlib
import gzip
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import dns.flags
import dns.message
import dns.rcode
import dns.rrset


class Website(BaseHTTPRequestHandler):
    """/status/N, /json, /gzip, /redirect/N, /loop, /to?URL, /drip, /silent, /endless, /bomb; anything else: welcome."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.seen.append((self.command, self.path, dict(self.headers)))
        self.server.bodies.append(self.rfile.read(int(self.headers["Content-Length"] or 0)))
        name, _, rest = self.path.lstrip("/").partition("/")
        getattr(self, f"_{name.partition('?')[0]}", self._welcome)(rest)

    do_HEAD = do_POST = do_OPTIONS = do_GET

    def _answer(self, status, body=b"", **headers):
        self.send_response(status)
        for header, value in headers.items():
            self.send_header(header.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _welcome(self, rest):
        self._answer(200, b"Welcome to the site")

    def _status(self, rest):
        self._answer(int(rest), b"as you wish")

    def _json(self, rest):
        self._answer(200, b'{"state": "ok", "items": [{"n": 7}], "half": "a\\ud800"}', Content_Type="application/json")

    def _gzip(self, rest):
        self._answer(200, gzip.compress(b"Welcome, packed"), Content_Encoding="gzip")

    def _bomb(self, rest):
        self._answer(200, gzip.compress(b"\0" * 50_000_000), Content_Encoding="gzip")

    def _redirect(self, rest):
        left = int(rest)
        self._answer(302, Location=f"/redirect/{left - 1}" if left else "/welcome")

    def _loop(self, rest):
        self._answer(302, Location="/loop")

    def _to(self, rest):
        self._answer(302, Location=self.path.partition("?")[2])

    def _drip(self, rest):
        """A body that never ends and never stops."""
        self.send_response(200)
        self.end_headers()
        with contextlib.suppress(OSError):
            while not self.server.closing.wait(0.05):
                self.wfile.write(b".")
                self.wfile.flush()
        self.close_connection = True

    def _silent(self, rest):
        self.server.closing.wait()
        self.close_connection = True

    def _endless(self, rest):
        """10 GB, for whoever takes them."""
        self.send_response(200)
        self.send_header("Content-Length", str(10 * 1024**3))
        self.end_headers()
        block, sent = b"x" * 65536, 0
        with contextlib.suppress(OSError):
            while sent < 10 * 1024**3 and not self.server.closing.is_set():
                self.wfile.write(block)
                sent += len(block)
        self.server.sent = sent
        self.close_connection = True

    def log_message(self, *values):
        pass


class _Server(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True

    def __init__(self, handler, port=0):
        super().__init__(("127.0.0.1", port), handler)
        self.seen, self.bodies = [], []
        self.sent, self.closing = 0, threading.Event()

    def handle_error(self, request, address):
        """A client that leaves is part of the tests."""


@contextlib.contextmanager
def website(certificate=None, handler=Website, port=0):
    """A web server; with (certificate file, key file) it speaks TLS. Yields it; `.port`, `.url`, `.seen`."""
    server = _Server(handler, port)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.port = server.server_address[1]
    server.url = f"{'https' if certificate else 'http'}://127.0.0.1:{server.port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def blackhole():
    """A port that accepts and never says a word. Yields the port."""
    with socket.create_server(("127.0.0.1", 0), backlog=512) as sock:
        yield sock.getsockname()[1]


def refused_port():
    """A port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


def udp_and_tcp(attempts=50):
    """Two sockets on one port: a port that is free for the one need not be free for the other."""
    for attempt in range(attempts):
        tcp = socket.create_server(("127.0.0.1", 0))
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            udp.bind(tcp.getsockname())
        except OSError:
            udp.close()
            tcp.close()
            if attempt == attempts - 1:
                raise
        else:
            return udp, tcp
    raise AssertionError("unreachable")


class NameServer:
    """Answers from a table {(name, type): [texts]}; NXDOMAIN else. UDP and TCP on one port. Questions for the names
    `held` are answered by `let_go()` only."""

    def __init__(self, records, ttl=60, truncate=False, silent=False, held=()):
        self.records, self.ttl, self.truncate, self.silent = records, ttl, truncate, silent
        self.held, self.waiting = set(held), []
        self.asked = []
        self._udp, self._tcp = udp_and_tcp()
        self.port = self._udp.getsockname()[1]
        self._closing = False
        self._threads = [
            threading.Thread(target=serving, daemon=True) for serving in (self._serve_udp, self._serve_tcp)
        ]

    def __enter__(self):
        for sock in (self._udp, self._tcp):
            sock.settimeout(0.05)
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._closing = True
        for thread in self._threads:
            thread.join()
        self._udp.close()
        self._tcp.close()

    def _serve_udp(self):
        while not self._closing:
            try:
                wire, peer = self._udp.recvfrom(4096)
            except TimeoutError:
                continue
            if self.silent:
                continue
            answer = self._answer(wire, self.truncate)
            if self.asked[-1][0] in self.held:
                self.waiting.append((answer, peer))
            else:
                self._udp.sendto(answer, peer)

    def let_go(self):
        for answer, peer in self.waiting:
            self._udp.sendto(answer, peer)

    def _serve_tcp(self):
        while not self._closing:
            try:
                connection, _ = self._tcp.accept()
            except TimeoutError:
                continue
            with connection:
                connection.settimeout(2)
                size = int.from_bytes(connection.recv(2), "big")
                wire = self._answer(connection.recv(size), False)
                connection.sendall(len(wire).to_bytes(2, "big") + wire)

    def _answer(self, wire, truncate):
        query = dns.message.from_wire(wire)
        question = query.question[0]
        name, kind = question.name.to_text(omit_final_dot=True).lower(), dns.rdatatype.to_text(question.rdtype)
        self.asked.append((name, kind))
        answer = dns.message.make_response(query)
        if truncate:
            answer.flags |= dns.flags.TC
        elif (name, kind) in self.records:
            rrset = dns.rrset.from_text_list(question.name, self.ttl, "IN", kind, self.records[name, kind])
            answer.answer.append(rrset)
        elif not any(known == name for known, _ in self.records):
            answer.set_rcode(dns.rcode.NXDOMAIN)
        return answer.to_wire()
