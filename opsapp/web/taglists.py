"""Which tags there are, and how many things have each. Must not: know what has tags."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Annotated

from pyramid.request import Request

from opsapp.lib.queries import NameQuery
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Text
from opsapp.wire.records import made

from .listpages import page_of


@frozen
class TagQuery(NameQuery):
    q: Annotated[str | None, Text(0, 64)] = None


@frozen
class TagRow:
    name: str
    used: int


def tags_in(request: Request, things: Iterable[Collection[str]]) -> list[TagRow]:
    """Those with `q` in their name; `used`: how many have it."""
    query = made(TagQuery, request.valid_query)
    used = Counter(tag for tags in things for tag in tags)
    names = sorted(name for name in used if query.has(name))
    return [TagRow(name, used[name]) for name in page_of(request, names)]
