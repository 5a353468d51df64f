"""A host that takes syslog messages: by a stream, plain or with TLS, by datagrams, or at a local socket.

It reads what stands there strictly, and hangs up once a sender has said that this was all."""

from __future__ import annotations

import json
import re
import socket
import ssl
import threading

RFC5424 = re.compile(rb"<(\d{1,3})>1 \S+ (\S+) opsapp - audit - (.+)", re.DOTALL)


def json_lines(body):
    return [json.loads(row) for row in body.decode().splitlines()]


class SyslogHost:
    """`entries` are what arrived, in order. While `hangs_up` is not set, it reads a stream and never ends it."""

    def __init__(self, way="tcp", certificate=None, path=None, port=0):
        self.way, self.entries, self.hosts = way, [], set()
        self.hangs_up = threading.Event()
        self.hangs_up.set()
        self._context = None
        if certificate:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(*certificate)
        family = socket.AF_UNIX if way == "unix" else socket.AF_INET
        stream = way in ("tcp", "tls")
        self._socket = socket.socket(family, socket.SOCK_STREAM if stream else socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(str(path) if path else ("127.0.0.1", port))
        self.url = f"unix://{path}" if path else f"syslog+{way}://localhost:{self.port}"
        if stream:
            self._socket.listen()
        self._thread = threading.Thread(target=self._accept if stream else self._datagrams, daemon=True)
        self._thread.start()

    @property
    def port(self):
        return self._socket.getsockname()[1]

    def _datagrams(self):
        while message := self._socket.recv(65_536):
            self._take(message)

    def _accept(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._stream, args=(connection,), daemon=True).start()

    def _stream(self, connection):
        try:
            if self._context:
                connection = self._context.wrap_socket(connection, server_side=True)
            with connection, connection.makefile("rb") as read:
                self._frames(read)
                self.hangs_up.wait()
        except OSError:
            pass  # a sender that gave up, or does not trust this host

    def _frames(self, read):
        """`LENGTH SPACE MESSAGE`, one after the other."""
        while length := self._length(read):
            message = read.read(length)
            if len(message) < length:
                return
            self._take(message)

    @staticmethod
    def _length(read):
        digits = b""
        while (digit := read.read(1)) not in (b" ", b""):
            assert digit.isdigit(), digits + digit
            digits += digit
        return int(digits or 0)

    def _take(self, message):
        priority, host, text = RFC5424.fullmatch(message).groups()
        assert int(priority) // 8 == 13
        self.hosts.add(host.decode())
        self.entries.append(json.loads(text))

    @property
    def ids(self):
        return [entry["id"] for entry in list(self.entries)]

    def close(self):
        self.hangs_up.set()
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # a datagram socket is not connected
        self._socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.close()
