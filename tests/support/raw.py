"""A client that sends exactly the bytes it is told to, and reads what comes back."""

import json
import select
import socket
from typing import NamedTuple

HANGS_S = 120  # no promise: whoever waits for so long waits in vain


class Got(NamedTuple):
    status: int
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


class Raw:
    """One connection."""

    def __init__(self, port, timeout=HANGS_S, host="127.0.0.1", source=None):
        """`source`: from which address of this machine."""
        self.sock = socket.create_connection((host, port), timeout=timeout, source_address=source and (source, 0))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""

    def send(self, data):
        self.sock.sendall(data)
        return self

    def get(self, path, *headers, method="GET", body=None):
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host}", *headers]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        return self.send(("\r\n".join(lines) + "\r\n\r\n").encode() + (body or b"")).answer(method)

    @property
    def host(self):
        return "{}:{}".format(*self.sock.getpeername()[:2])

    def _more(self):
        data = self.sock.recv(65536)
        self.buffer += data
        return bool(data)

    def until(self, mark):
        while mark not in self.buffer:
            if not self._more():
                raise ConnectionError(f"closed before {mark!r}: {self.buffer[:300]!r}")
        before, _, self.buffer = self.buffer.partition(mark)
        return before

    def exactly(self, size):
        while len(self.buffer) < size:
            if not self._more():
                raise ConnectionError(f"closed after {len(self.buffer)} of {size} bytes")
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        return data

    def head(self):
        """(status, headers) of the next answer; repeated headers are joined."""
        lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(": ")
            headers[name.lower()] = f"{headers[name.lower()]}, {value}" if name.lower() in headers else value
        return int(lines[0].split()[1]), headers

    def chunk(self):
        size = int(self.until(b"\r\n"), 16)
        data = self.exactly(size)
        assert self.exactly(2) == b"\r\n"
        return data

    def answer_until_end(self):
        """What is left of a chunked body of which a part has been taken with `until`; chunk sizes included."""
        return self.until(b"\r\n0\r\n\r\n")

    def answer(self, method="GET"):
        """The next whole answer."""
        status, headers = self.head()
        if method == "HEAD" or status in (204, 304) or status < 200:
            return Got(status, headers, b"")
        if headers.get("transfer-encoding") == "chunked":
            body = b""
            while piece := self.chunk():
                body += piece
        elif "content-length" in headers:
            body = self.exactly(int(headers["content-length"]))
        else:
            body = self.rest()
        return Got(status, headers, body)

    def rest(self):
        """Everything until the server closes."""
        while self._more():
            pass
        data, self.buffer = self.buffer, b""
        return data

    def ended(self):
        """Whether the server closes next, sending nothing more. Waits for either."""
        try:
            return not self.buffer and not self._more()
        except ConnectionError:
            return True

    def is_answered(self):
        """Whether there is something to be read by now, an answer or the end. Waits for nothing."""
        waiting = select.poll()  # select itself knows no more than 1,024 files
        waiting.register(self.sock, select.POLLIN)
        return bool(self.buffer or waiting.poll(0))

    def close(self):
        self.sock.close()

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.close()
