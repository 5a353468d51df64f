"""Fields that name a thing: short lists to choose from, and names that somebody typed as the ids that the API takes.

What may be chosen is what the API shows to the reader. Must not: know a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import quote, urlencode

from pyramid.request import Request

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import NotFound

from .asking import ask, value_of
from .filling import rows_of, words
from .plan import Act, Field
from .reader import Reader

MOST = 1000  # of a list that the API gives at once
FEW = 40  # as many are chosen from a list; of more, the name is typed


class Pickable(NamedTuple):
    """Where the API lists a kind of thing, and its field with the name. `asks`: its search takes words."""

    source: str
    name: str
    asks: bool = False
    also: str = ""  # another kind that may be named in its place


class PickOption(NamedTuple):
    id: str
    name: str


KINDS = {
    "monitor": Pickable("/api/monitoring/endpoints", "name", asks=True),
    "target": Pickable("/api/monitoring/endpoints", "name", asks=True, also="host"),
    "host": Pickable("/api/agents", "label", asks=True),
    "automation": Pickable("/api/automations", "name", asks=True),
    "channel": Pickable("/api/notifications/channels", "name"),
    "user": Pickable("/api/users", "username"),
}


def naming(fields: Iterable[Field]) -> Iterator[Field]:
    """The fields that name a thing, those of rows too."""
    for field in fields:
        if field.of:
            yield field
        yield from naming(field.fields)


class Choosable(NamedTuple):
    """What there is to choose from, by kind and by what the API wants of it. Where there is too much, or the reader may
    not see it, nothing: the name is typed. `names` has what stored ids are called."""

    options: dict[str, tuple[PickOption, ...]]
    names: dict[str, str]


def choosable(request: Request, reader: Reader, acts: Iterable[Act]) -> Choosable:
    options: dict[str, tuple[PickOption, ...]] = {}
    names: dict[str, str] = {}
    for kind, by in sorted({(field.of, field.by) for act in acts for field in naming(act.fields)}):
        pickable = KINDS[kind]
        if reader.may(f"GET {pickable.source}"):
            found = _found(request, pickable, FEW + 1)
            if len(found) <= FEW:
                options[f"{kind}.{by}"] = tuple(PickOption(str(row[by]), name) for row, name in found)
            elif by == "id":
                found = _found(request, pickable, MOST)
            if by == "id":
                names |= {str(row["id"]): name for row, name in found}
    return Choosable(options, names)


def _found(request: Request, pickable: Pickable, limit: int, text: str = "") -> list[tuple[JsonObject, str]]:
    """Rows of the API's list with what each is called."""
    query = {"limit": limit} | ({"q": text} if text and pickable.asks else {})
    rows = value_of(ask(request, "GET", pickable.source, urlencode(query)))
    found = [(row, named(row, pickable)) for row in rows]
    return found + (_found(request, KINDS[pickable.also], limit, text) if pickable.also else [])


def named(row: JsonObject, pickable: Pickable) -> str:
    return str(row[pickable.name] or row.get("hostname") or row.get("id"))


def resolved(
    request: Request, reader: Reader, act: Act, form: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The form with ids for the names that were typed, and what is wrong with those that are no name, by field."""
    filled, wrong = dict(form), {}
    for name, field in _named_inputs(act.fields, form):
        pickable = KINDS[field.of]
        if field.by != "id" or not reader.may(f"GET {pickable.source}"):
            continue
        texts = words(form[name]) if field.kind == "names" else [form[name].strip()]
        ids = {text: _id_of(request, pickable, text) for text in texts if text}
        unknown = [text for text, found in ids.items() if found is None]
        if unknown:
            kind = " or ".join(["monitor", pickable.also] if pickable.also else [field.of])
            wrong[name] = f"There is no {kind} called {' nor '.join(unknown)}, or more than one."
        filled[name] = ", ".join(ids[text] or text for text in ids)
    return filled, wrong


def _named_inputs(fields: Iterable[Field], form: Mapping[str, str]) -> Iterator[tuple[str, Field]]:
    for field in fields:
        if field.of and form.get(field.name):
            yield field.name, field
        for at in range(len(rows_of(field, form) or ())):
            for inner in field.fields:
                if inner.of and form.get(f"{field.name}:{at}:{inner.name}"):
                    yield f"{field.name}:{at}:{inner.name}", inner


def _id_of(request: Request, pickable: Pickable, text: str) -> str | None:
    """The one thing with this id or name; letters may be large or small."""
    by_name = [row["id"] for row, name in _found(request, pickable, MOST, text) if name.casefold() == text.casefold()]
    if len(by_name) == 1:
        return str(by_name[0])
    return text if _is_id(request, pickable, text) else None


def _is_id(request: Request, pickable: Pickable, text: str) -> bool:
    try:
        ask(request, "GET", f"{pickable.source}/{quote(text, safe='')}")
    except NotFound:
        return bool(pickable.also) and _is_id(request, KINDS[pickable.also], text)
    return True
