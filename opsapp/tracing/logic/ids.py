"""Ids of traces and spans, made from the ids that things have: whoever knows a run knows its trace, on each node, after
each restart, with nothing stored. And the `traceparent` of a caller (W3C Trace Context).
"""

from __future__ import annotations

import hashlib
import re
from typing import Literal, NamedTuple

TRACE_BYTES, SPAN_BYTES = 16, 8
SAMPLED = 1
_PARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")

Kind = Literal["request", "run", "command", "case", "check"]


class SpanPlace(NamedTuple):
    trace: bytes
    span: bytes


class CallerTrace(NamedTuple):
    """What a caller says of the trace that it asks within."""

    place: SpanPlace
    sampled: bool


def trace_of(kind: Kind, name: str) -> bytes:
    return _derived("trace", kind, name, TRACE_BYTES)


def span_of(kind: str, name: str) -> bytes:
    return _derived("span", kind, name, SPAN_BYTES)


def asked_for(kind: Kind, name: str) -> SpanPlace:
    """The request that asked for a run or a command: the first span of its trace."""
    return SpanPlace(trace_of(kind, name), span_of("asked", f"{kind}/{name}"))


def _derived(what: str, kind: str, name: str, size: int) -> bytes:
    return hashlib.blake2b(f"{kind}/{name}".encode(), digest_size=size, person=what.encode()).digest()


def is_sampled(trace: bytes, share: float) -> bool:
    """Whether the trace is one of this share of all: each node says the same."""
    return int.from_bytes(trace[:8], "big") < share * 2**64


def caller_trace(traceparent: str) -> CallerTrace | None:
    """None for what is no traceparent of this or a later version."""
    read = _PARENT.fullmatch(traceparent.strip())
    if read is None or read[1] == "ff" or (read[1] == "00" and read[5]):
        return None
    trace, span = bytes.fromhex(read[2]), bytes.fromhex(read[3])
    if not any(trace) or not any(span):
        return None
    return CallerTrace(SpanPlace(trace, span), bool(int(read[4], 16) & SAMPLED))
