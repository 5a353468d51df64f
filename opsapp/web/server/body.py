"""Reading a body off a peer, never more than allowed. Hub only. `read(size)` gives b"" at the end; `done` says that the
next request may follow."""

from __future__ import annotations

import re
from typing import Any

import gevent

from opsapp.lib.problems import Malformed, TooLarge
from opsapp.web.answers import PeerLost

from .uploads import Pace, Upload

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
# Extensions without blanks and with a name: other readers refuse the rest.
_EXTENSION = rb";" + _TOKEN + rb"(?:=(?:" + _TOKEN + rb'|"[\t !#-\[\]-~]*"))?'
_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})(?:" + _EXTENSION + rb")*")
_TRAILER_LINE = re.compile(rb"(?!(?i:content-length|transfer-encoding|host):)" + _TOKEN + rb":[\t -~\x80-\xff]*")
_MAX_CHUNK_LINE = 256
_MAX_TRAILERS = 8 * 1024
_FREE_CHUNKS = 256
_MEAN_CHUNK = 64
_BREATHE_EVERY = 256


class FixedBody:
    def __init__(self, pace: Pace, length: int):
        self.pace, self._peer = pace, pace.peer
        self._left = length

    @property
    def done(self) -> bool:
        return self._left == 0

    def read(self, size: int) -> bytes:
        if not self._left:
            return b""
        if not self._peer.buffer and not self.pace.fill():
            raise PeerLost
        data = self._peer.take(min(size, self._left))
        self._left -= len(data)
        return data


class ChunkedBody:
    """Malformed framing leaves no way to find the next request: the connection must close."""

    def __init__(self, pace: Pace):
        self.pace, self._peer = pace, pace.peer
        self._left = 0
        self._chunks = 0
        self._total = 0
        self.done = False

    def read(self, size: int) -> bytes:
        if self.done:
            return b""
        if not self._left:
            self._next_chunk()
            if self.done:
                return b""
        if not self._peer.buffer and not self.pace.fill():
            raise PeerLost
        data = self._peer.take(min(size, self._left))
        self._left -= len(data)
        self._total += len(data)
        if not self._left and self._line(2) != b"":
            raise Malformed("A chunk is longer than it says.", code="bad_chunk")
        return data

    def _next_chunk(self) -> None:
        line = self._line(_MAX_CHUNK_LINE)
        match = _CHUNK_LINE.fullmatch(line)
        if match is None:
            raise Malformed("A chunk's size cannot be read.", code="bad_chunk")
        self._left = int(match.group(1), 16)
        self._chunks += 1
        if self._chunks > _FREE_CHUNKS + self._total // _MEAN_CHUNK:
            raise Malformed("The chunks are too small.", code="bad_chunk")
        if self._chunks % _BREATHE_EVERY == 0:
            gevent.sleep(0)
        if not self._left:
            self._trailers()
            self.done = True

    def _trailers(self) -> None:
        """Checked and dropped: nobody here asked for any."""
        room = _MAX_TRAILERS
        while line := self._line(room):
            room -= len(line)
            if room <= 0 or _TRAILER_LINE.fullmatch(line) is None:
                raise Malformed("The trailers cannot be read.", code="bad_trailer")

    def _line(self, longest: int) -> bytes:
        buffer = self._peer.buffer
        while (end := buffer.find(b"\r\n", 0, longest + 2)) < 0:
            if len(buffer) >= longest + 2 or b"\n" in buffer[: longest + 2]:
                raise Malformed("A line of a chunk cannot be read.", code="bad_chunk")
            if not self.pace.fill():
                raise PeerLost
        return self._peer.take(end + 2)[:-2]


class LimitedBody:
    """What a sink is given; its patience ends."""

    def __init__(self, body: FixedBody | ChunkedBody, head: Any, limit: int, proceed: Any):
        self._body = body
        self._proceed = proceed
        self._taken = 0
        self.limit = limit
        self.content_type: str = head.headers.get("content-type", "")
        self.content_length: int | None = None if head.chunked else head.length

    def read(self, size: int = 64 * 1024) -> bytes:
        if self.content_length is not None and self.content_length > self.limit:
            raise self._too_large()
        self._proceed()
        data = self._body.read(size)
        self._taken += len(data)
        if self._taken > self.limit:
            raise self._too_large()
        return data

    def _too_large(self) -> TooLarge:
        return TooLarge(f"At most {self.limit} bytes are taken here.")


class Collected:
    """Gathered in memory, up to a cap; what arrives counts on its upload."""

    def __init__(self, body: FixedBody | ChunkedBody, cap: int, upload: Upload):
        self._body = body
        self._cap = cap
        self._upload = upload
        self._pieces: list[bytes] = []
        self._total = 0

    def read(self, enough: int) -> None:
        """TooLarge where there is more than the cap."""
        while self._total < enough and not self._body.done:
            piece = self._next()
            self._total += len(piece)
            if self._total > self._cap:
                raise TooLarge(f"The body is larger than {self._cap} bytes.")
            self._upload.took(len(piece))
            self._pieces.append(piece)

    def _next(self) -> bytes:
        try:
            return self._body.read(64 * 1024)
        except PeerLost:
            self._upload.check()  # it may be we who stopped reading
            raise

    def whole(self) -> bytes:
        self._upload.arrived()
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
