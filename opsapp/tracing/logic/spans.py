"""One span: a piece of work with its beginning, its end and a few plain facts.

Facts are ids, names, states and numbers. Never a text that somebody typed or a program wrote: no command, output,
reason or query. `Fact` values are cut, and addresses in them lose what may be a secret.
"""

from __future__ import annotations

from typing import NamedTuple

from opsapp.lib.addresses import public_text

from .ids import SpanPlace

INTERNAL, SERVER, CLIENT = 1, 2, 3  # kinds of OTLP
LONGEST = 200  # characters of a name or a value

Fact = str | int | float | bool | None
Facts = dict[str, Fact]


class SpanSource(NamedTuple):
    """The source of spans; `host`: of an agent; nothing for the service itself."""

    service: str
    host: str = ""


class SpanMoment(NamedTuple):
    """Something that happened within a span."""

    name: str
    at: float


class TraceSpan(NamedTuple):
    place: SpanPlace
    name: str
    began: float
    ended: float
    facts: Facts
    parent: bytes = b""
    kind: int = INTERNAL
    failed: str | None = None  # how, in a word
    moments: tuple[SpanMoment, ...] = ()
    links: tuple[SpanPlace, ...] = ()
    host: str = ""  # of the agent that did it


def public(text: str) -> str:
    return public_text(text[: 2 * LONGEST])[:LONGEST]
