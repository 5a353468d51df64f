"""What each list of the API has for some words, as links with names. Pure. Must not: know who may see what (the API has
said that already)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple
from urllib.parse import urlencode

from . import guidebook
from .builder import dig, filled
from .menu import Menu
from .reader import with_query

MOST = 8  # of each kind
LOOKED_AT = 100  # of what the API's own search found, for its order is not that of how well the names fit
NEWEST = 200
INCIDENTS = "/api/monitoring/incidents"


class SearchedList(NamedTuple):
    """`asks`: the API's own search takes the words; else each row's `fields` are compared."""

    title: str
    source: str
    place: str
    name: str
    fields: tuple[str, ...]
    asks: bool = False
    limit: int = LOOKED_AT


class Hit(NamedTuple):
    name: str
    place: str
    state: str = ""
    note: str = ""


class Hits(NamedTuple):
    title: str
    rows: tuple[Hit, ...]


KINDS = (
    SearchedList("Monitors", "/api/monitoring/endpoints", "/monitors/{id}", "name", ("name",), asks=True),
    SearchedList("Hosts", "/api/agents", "/agents/{id}", "label", ("label",), asks=True),
    SearchedList("Incidents", INCIDENTS, "/incidents/{id}", "monitor_name", ("monitor_name", "cause"), limit=NEWEST),
    SearchedList("Automations", "/api/automations", "/automations/{id}", "name", ("name",), asks=True),
    SearchedList(
        "Rules", "/api/healing/rules", "/healing/rules/{id}", "id", ("id", "description", "condition"), asks=True
    ),
    SearchedList("Maintenance", "/api/maintenance", "/maintenance/{id}", "name", ("name",), limit=200),
    SearchedList("Saved filters", "/api/me/filters", "{path}", "name", ("name",), limit=50),
    SearchedList("Users", "/api/users", "/users", "username", ("username",), asks=True),
)  # fmt: skip


def query_of(kind: SearchedList, words: str) -> str:
    return urlencode(({"q": words} if kind.asks else {}) | {"limit": str(kind.limit)})


def hits_of(kind: SearchedList, rows: Iterable[object], words: str) -> Hits:
    wanted = words.casefold().split()
    if not kind.asks:
        rows = (row for row in rows if holds([dig(row, field) for field in kind.fields], wanted))
    best = sorted(rows, key=lambda row: _distance(str(dig(row, kind.name)), wanted))
    return Hits(kind.title, tuple(_hit(kind, row) for row in best[:MOST]))


def _distance(name: str, wanted: list[str]) -> int:
    """0: the name is what was typed; 1: it begins so; 2: it has the words; 3: they are elsewhere."""
    typed, said = " ".join(wanted), " ".join(name.casefold().split())
    if said == typed:
        return 0
    if said.startswith(typed):
        return 1
    return 2 if holds([name], wanted) else 3


def _hit(kind: SearchedList, row: object) -> Hit:
    note, state = _first(row, "cause", "description", "url", "hostname"), _first(row, "status", "last_status")
    path, query = dig(row, "path"), dig(row, "query")
    place = filled(kind.place, row) or kind.place if query is None else with_query(path, query)
    return Hit(str(dig(row, kind.name)), place, state, note)


def _first(row: Any, *fields: str) -> str:
    return str(next(filter(None, (dig(row, field) for field in fields)), ""))


def pages_of(menu: Menu, words: str) -> Hits:
    wanted = words.casefold().split()
    links = [link for link in menu.every if holds([link.name], wanted)]
    return Hits("Pages", tuple(Hit(link.name, link.path) for link in links[:MOST]))


def guide_of(words: str) -> Hits:
    hits = guidebook.search(words.casefold().split(), MOST)
    return Hits("Guide", tuple(Hit(hit.title, hit.place, note=hit.page) for hit in hits))


def holds(texts: Iterable[object], wanted: list[str]) -> bool:
    whole = "\n".join(str(text).casefold() for text in texts if text)
    return bool(wanted) and all(word in whole for word in wanted)
