"""Lists of tags: which there are, and how many things have each, for whoever types one.

Must not: know what has tags.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from pyramid.request import Request

from .fields import Paging, text
from .listpages import page_of


class TagQuery(Paging):
    q = text(0, 64, default=None)


@dataclass(frozen=True)
class TagRow:
    name: str
    used: int


def tags_in(request: Request, things: Iterable[Collection[str]]) -> list[TagRow]:
    """The tags of these things with `q` in their name, by name; `used`: how many have it."""
    part = (request.valid_query["q"] or "").casefold()
    used = Counter(tag for tags in things for tag in tags)
    names = sorted(name for name in used if part in name.casefold())
    return [TagRow(name, used[name]) for name in page_of(request, names)]
