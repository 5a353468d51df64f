"""How messages travel inside WebSocket frames: text frames carry one JSON object, binary frames one file chunk.

Must not: know what messages mean (messages.py), touch sockets.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from .fields import WireError

PROTOCOL = 1
OUTPUT_LIMIT = 1024 * 1024  # of one command, in bytes of UTF-8
MAX_TEXT_FRAME = 2 * OUTPUT_LIMIT + 512 * 1024  # cleaned output at most doubles in JSON
MAX_POLL_BODY = 1024 * 1024  # the server's limit for any body
CHUNK = 64 * 1024
WINDOW = 1024 * 1024  # bytes of one stream that may be under way unacknowledged
MAX_BINARY_FRAME = 16 + 4 * CHUNK
PING_S = 7.0  # the service asks after so much silence
AGENT_SILENCE_S = 14.0  # nothing heard of the agent for this long: it hangs, or its network is gone
AGENT_PING_S = 20.0
SILENCE_S = 50.0  # nothing heard of the service for this long; longer, for it may wait for its store
PING_FEATURE = "ping"  # an executor that answers pings
UNREAD_FEATURE = "unread"  # of an executor: no run of its machine reads what another one, or it, holds
APART_FEATURE = "apart"  # nor ends or stops them
MAX_STREAMS = 16  # open at once in one session

CLOSE_BAD_MESSAGE = 4400
CLOSE_BAD_KEY = 4401  # wrong, rotated or revoked key
CLOSE_CLONE = 4409  # another live session of this key from another machine
CLOSE_TAKEN_OVER = 4410  # a newer session of the same machine took over
CLOSE_TOO_FAST = 4429
CLOSE_STOPPED = 4200  # of the agent alone: whoever runs it has stopped it, and nobody said that it comes back

LENGTH = struct.Struct(">I")  # before each message between the service and its own executor
_HEADER = struct.Struct(">BBHIQ")
_KIND_CHUNK = 1


class FileChunk(NamedTuple):
    """`offset` is the place of its first byte in the file."""

    stream: int
    offset: int
    data: bytes


def pack_chunk(chunk: FileChunk) -> bytes:
    return _HEADER.pack(PROTOCOL, _KIND_CHUNK, 0, chunk.stream, chunk.offset) + chunk.data


def unpack_chunk(frame: bytes) -> FileChunk:
    if len(frame) > MAX_BINARY_FRAME:
        raise WireError("binary frame too large", "too_large")
    if len(frame) <= _HEADER.size:
        raise WireError("binary frame too short", "bad_frame")
    protocol, kind, flags, stream, offset = _HEADER.unpack_from(frame)
    if protocol != PROTOCOL or kind != _KIND_CHUNK or flags != 0:
        raise WireError("unknown kind of binary frame", "bad_frame")
    if offset >= 2**63:
        raise WireError("offset out of range", "bad_frame")
    return FileChunk(stream, offset, bytes(frame[_HEADER.size :]))
