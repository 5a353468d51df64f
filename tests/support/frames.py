"""A WebSocket client that builds its frames by hand, so that it can also build the wrong ones."""

import base64
import hashlib
import os
import struct
from typing import NamedTuple

from .raw import Raw

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CONT, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA


class Frame(NamedTuple):
    fin: bool
    opcode: int
    payload: bytes

    @property
    def code(self):
        """A close frame's code; 1005 without one."""
        return struct.unpack("!H", self.payload[:2])[0] if self.payload else 1005


def frame(opcode, payload=b"", *, fin=True, rsv=0, mask=True, length=None, width=None, key=None):
    """One frame as a client sends it. `length` and `width` (0, 2 or 8 bytes) lie about the payload's size."""
    payload = payload.encode() if isinstance(payload, str) else payload
    size = len(payload) if length is None else length
    if width is None:
        width = 0 if size < 126 else 2 if size < 65536 else 8
    short = {0: size, 2: 126, 8: 127}[width]
    head = bytes([(0x80 if fin else 0) | rsv << 4 | opcode, (0x80 if mask else 0) | short])
    head += {0: b"", 2: struct.pack("!H", size & 0xFFFF), 8: struct.pack("!Q", size)}[width]
    if not mask:
        return head + payload
    key = key or os.urandom(4)
    return head + key + masked(payload, key)


def masked(payload, key):
    whole = key * (len(payload) // 4 + 1)
    return (int.from_bytes(payload, "big") ^ int.from_bytes(whole[: len(payload)], "big")).to_bytes(len(payload), "big")


def closing(code=None, reason=b""):
    """A close frame's payload."""
    return b"" if code is None else struct.pack("!H", code) + (reason.encode() if isinstance(reason, str) else reason)


class FrameClient(Raw):
    """A connection on which a WebSocket session has been opened."""

    def __init__(self, port, path="/api/session", headers=(), **more):
        super().__init__(port, **more)
        self.handshake(path, headers)

    def handshake(self, path, headers):
        key = base64.b64encode(os.urandom(16)).decode()
        self.send(upgrade(path, self.host, key, headers))
        status, agreed = self.head()
        assert status == 101, (status, agreed, self.buffer)
        assert agreed["sec-websocket-accept"] == base64.b64encode(hashlib.sha1((key + GUID).encode()).digest()).decode()
        assert agreed["upgrade"].lower() == "websocket"
        assert "sec-websocket-extensions" not in agreed
        self.agreed = agreed

    def frame(self):
        """The server's next frame. Its frames are never masked."""
        first, second = self.exactly(2)
        assert not first & 0x70
        assert not second & 0x80
        size = second & 0x7F
        if size == 126:
            size = struct.unpack("!H", self.exactly(2))[0]
        elif size == 127:
            size = struct.unpack("!Q", self.exactly(8))[0]
        return Frame(bool(first & 0x80), first & 0x0F, self.exactly(size))

    def ask(self, *frames):
        """Send these, answer with the next frame."""
        return self.send(b"".join(frames)).frame()


def upgrade(path, host, key, headers=(), version="13"):
    lines = [f"GET {path} HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: keep-alive, Upgrade"]
    if key is not None:
        lines.append(f"Sec-WebSocket-Key: {key}")
    if version is not None:
        lines.append(f"Sec-WebSocket-Version: {version}")
    return ("\r\n".join([*lines, *headers]) + "\r\n\r\n").encode()
