"""Spans as OTLP has them on the wire (opentelemetry.proto.trace.v1, protobuf).

A span is encoded once, where it is made; a message is these bytes behind each other.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from opsapp.wire.version import VERSION

from .ids import SpanPlace
from .spans import Facts, SpanMoment, SpanSource, TraceSpan, public

_FAILED = 2
_VARINT, _FIXED64, _BYTES = 0, 1, 2


def message(spans: Iterable[tuple[SpanSource, bytes]]) -> bytes:
    by_source: dict[SpanSource, list[bytes]] = {}
    for source, encoded in spans:
        by_source.setdefault(source, []).append(encoded)
    return b"".join(_bytes(1, _of_source(source, those)) for source, those in by_source.items())


def _of_source(source: SpanSource, spans: Iterable[bytes]) -> bytes:
    facts: Facts = {"service.name": source.service, "service.version": None if source.host else VERSION}
    resource = _facts(1, {**facts, "host.name": source.host or None})
    scope = _bytes(1, b"opsapp") + _bytes(2, VERSION.encode())
    return _bytes(1, resource) + _bytes(2, _bytes(1, scope) + b"".join(_bytes(2, span) for span in spans))


def encoded(span: TraceSpan) -> bytes:
    """A Span. It never ends before it began, whatever clocks said."""
    return b"".join(
        (
            _place(span.place),
            _bytes(4, span.parent),
            _bytes(5, _text(span.name)),
            _whole(6, span.kind),
            _time(7, span.began),
            _time(8, max(span.began, span.ended)),
            _facts(9, span.facts),
            *(_bytes(11, _moment(moment)) for moment in span.moments),
            *(_bytes(13, _place(link)) for link in span.links),
            b"" if span.failed is None else _bytes(15, _bytes(2, _text(span.failed)) + _whole(3, _FAILED)),
        )
    )


def _place(place: SpanPlace) -> bytes:
    return _bytes(1, place.trace) + _bytes(2, place.span)


def _moment(moment: SpanMoment) -> bytes:
    return _time(1, moment.at) + _bytes(2, moment.name.encode())


def _facts(number: int, facts: Facts) -> bytes:
    """KeyValues. What is not known is left out."""
    known = ((name, value) for name, value in facts.items() if value is not None)
    return b"".join(_bytes(number, _bytes(1, name.encode()) + _bytes(2, _value(value))) for name, value in known)


def _value(value: str | int | float | bool) -> bytes:
    if isinstance(value, bool):
        return _whole(2, int(value))
    if isinstance(value, int):
        return _whole(3, value)
    if isinstance(value, float):
        return _key(4, _FIXED64) + struct.pack("<d", value)
    text = _text(value)
    return _key(1, _BYTES) + _varint(len(text)) + text


def _text(text: str) -> bytes:
    return public(text).encode("utf-8", "replace")


def _time(number: int, at: float) -> bytes:
    microseconds = max(0, round(at * 1e6))
    return _key(number, _FIXED64) + struct.pack("<Q", microseconds * 1000) if microseconds else b""


def _bytes(number: int, value: bytes) -> bytes:
    return _key(number, _BYTES) + _varint(len(value)) + value if value else b""


def _whole(number: int, value: int) -> bytes:
    return _key(number, _VARINT) + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)


def _key(number: int, kind: int) -> bytes:
    return _varint(number << 3 | kind)


def _varint(value: int) -> bytes:
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)
