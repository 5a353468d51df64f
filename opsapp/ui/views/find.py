"""/find: what has these words in its name, from each list that the reader may see, and the keys that there are."""

from __future__ import annotations

from pyramid.request import Request
from pyramid.response import Response

from opsapp.tree.folder import Facet, add_facet
from opsapp.tree.root import Root
from opsapp.ui import pagesearch
from opsapp.ui.apicalls import ask
from opsapp.ui.builder import find
from opsapp.ui.builder import known_of as pages_of
from opsapp.ui.menu import Menu
from opsapp.ui.pages import frame_of, frame_part, parts_asked, render
from opsapp.web import api
from opsapp.web.subrequests import value_of

LONGEST = 200


class FindPage(Facet):
    """Where everything is found."""


add_facet(Root, "find", FindPage)


@api.get(FindPage, teams="filtered")
def found(context: FindPage, request: Request) -> Response:
    return frame_part(request) or search(request)


def search(request: Request) -> Response:
    frame = frame_of(request)
    words = frame.reader.asked("q").strip()[:LONGEST]
    hits = [look(request, kind, words) for kind in pagesearch.KINDS if words and frame.reader.may(f"GET {kind.source}")]
    hits = [pagesearch.pages_of(frame.menu or Menu(), words), *hits, pagesearch.guide_of(words)]
    values = frame._asdict() | {"title": "Find", "words": words, "hits": [group for group in hits if group.rows]}
    return render("find.jinja2", values, parts=parts_asked(request))


def look(request: Request, kind: pagesearch.SearchedList, words: str) -> pagesearch.Hits:
    rows = value_of(ask(request, "GET", kind.source, pagesearch.query_of(kind, words)))
    hits = pagesearch.hits_of(kind, rows, words)
    known = pages_of(request.registry)
    above = kind.place.partition("/{")[0]
    places = [hit.place if find(known, hit.place.partition("?")[0]) else above for hit in hits.rows]
    return hits._replace(rows=tuple(hit._replace(place=place) for hit, place in zip(hits.rows, places, strict=True)))
