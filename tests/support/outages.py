"""Targets that fail when a test says so, and the stream that tells of it."""

import contextlib
import json
import socket
import threading

from .targets import Website, refused_port

TARGET_S = 60  # until a target gives up a client that says nothing


class Switch:
    """A website that can be switched off: the port then refuses."""

    def __init__(self):
        self.port = refused_port()
        self._server = self._thread = None

    def on(self):
        self._server = socket.create_server(("127.0.0.1", self.port), backlog=256)
        self._thread = threading.Thread(target=self._serve, args=(self._server,), daemon=True)
        self._thread.start()

    def _serve(self, server):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = server.accept()
                with connection, contextlib.suppress(OSError):
                    connection.settimeout(TARGET_S)
                    connection.recv(4096)
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")

    def off(self):
        if self._server is not None:
            self._server.shutdown(socket.SHUT_RDWR)
            self._server.close()
            self._thread.join()
            self._server = None

    def __enter__(self):
        self.on()
        return self

    def __exit__(self, *_):
        self.off()


class Failing(Website):
    """Each path answers 500 as often as `server.to_fail` says, and well before and afterwards. `server.failed` has how
    often it did."""

    def do_GET(self):
        to_fail, failed = vars(self.server).setdefault("to_fail", {}), vars(self.server).setdefault("failed", {})
        if failed.get(self.path, 0) >= to_fail.get(self.path, 0):
            super().do_GET()
            return
        failed[self.path] = failed.get(self.path, 0) + 1
        self._answer(500, b"as you wish")


class Holding(Website):
    """/hold answers nothing, however long the client waits. `beside` has how many were held when another request
    came."""

    held, beside = set(), []

    def do_GET(self):
        if not self.path.startswith("/hold"):
            self.beside.append(len(self.held))
            super().do_GET()
            return
        self.held.add(self)
        try:
            self.rfile.read(1)  # until the client has had enough
        except OSError:
            """It left."""
        finally:
            self.held.discard(self)
            self.close_connection = True


@contextlib.contextmanager
def event_stream(serve, note=lambda: None):
    """What /api/stream says, as it comes: a list of (kind, data, what `note` answered when it was heard)."""
    heard, stop = [], threading.Event()
    sock = socket.create_connection((serve.host, serve.port), TARGET_S)
    sock.sendall(f"GET /api/stream?token={serve.admin.token} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    sock.settimeout(0.2)  # so often it is asked whether the test is over

    def listen():
        text = ""
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                data = sock.recv(65536)
                if not data:
                    return
                text += data.decode()
                *whole, text = text.split("\n\n")
                for block in whole:
                    lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
                    if "event" in lines and "data" in lines:
                        heard.append((lines["event"], json.loads(lines["data"]), note()))

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    try:
        yield heard
    finally:
        stop.set()
        thread.join()
        sock.close()
