"""Fields that name a thing: short lists to choose from, and typed names as the ids that the API takes. Must not: know a
page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote, urlencode

from pyramid.request import Request

from opsapp.lib.problems import NotFound, Unreadable
from opsapp.web.subrequests import value_of

from .apicalls import ask
from .builder import dig
from .choices import PickOption
from .formvalues import rows_of
from .plan import Act, Field
from .reader import Reader
from .words import separated

MOST = 1000  # of a list that the API gives at once
FEW = 40  # as many are chosen from a list; of more, the name is typed
SINGLY = 20  # up to as many ids are asked for one by one; more are looked up in the list


class Pickable(NamedTuple):
    """Where the API lists a kind of thing (searched by `q`), and its field with the name."""

    source: str
    name: str
    also: str = ""  # another kind that may be named in its place


KINDS = {
    "monitor": Pickable("/api/monitoring/endpoints", "name"),
    "target": Pickable("/api/monitoring/endpoints", "name", also="host"),
    "host": Pickable("/api/agents", "label"),
    "automation": Pickable("/api/automations", "name"),
    "channel": Pickable("/api/notifications/channels", "name"),
    "user": Pickable("/api/people", "username"),
    "schedule": Pickable("/api/oncall/schedules", "name"),
    "rule": Pickable("/api/healing/rules", "id"),
    "tag": Pickable("/api/monitoring/endpoints/tags", "name", also="host_tag"),
    "host_tag": Pickable("/api/agents/tags", "name"),
}


def naming(fields: Iterable[Field]) -> Iterator[Field]:
    for field in fields:
        if field.of:
            yield field
        yield from naming(field.fields)


class Choosable(NamedTuple):
    """What can be chosen, by kind and by what the API wants of it. Where there is too much, or the reader may not see
    it, the name is typed. `names`: what stored ids are called."""

    options: dict[str, tuple[PickOption, ...]]
    names: dict[str, str]


def choosable(request: Request, reader: Reader, fields: Sequence[Field], shown: Iterable[object]) -> Choosable:
    options: dict[str, tuple[PickOption, ...]] = {}
    names: dict[str, str] = {}
    stored = _stored_ids(fields, shown)
    for kind, by in sorted({(field.of, field.by) for field in naming(fields)}):
        pickable = KINDS[kind]
        if reader.may(f"GET {pickable.source}"):
            pickable_rows = _found(request, pickable, FEW + 1)
            if len(pickable_rows) <= FEW:
                options[f"{kind}.{by}"] = tuple(
                    dict.fromkeys(PickOption(str(dig(row, by)), name) for row, name in pickable_rows)
                )
            if by == "id":
                names |= {str(dig(row, "id")): name for row, name in pickable_rows}
                names |= _names_of(request, pickable, stored.get(kind, set()) - names.keys())
    return Choosable(options, names)


def _stored_ids(fields: Iterable[Field], shown: Iterable[object]) -> dict[str, set[str]]:
    things, stored = list(shown), dict[str, set[str]]()
    for field in fields:
        for record in things:
            value = dig(record, field.name)
            if field.fields:
                rows = [{field.fields[0].name: row} if isinstance(row, str) else row for row in value or ()]
                for kind, ids in _stored_ids(field.fields, rows).items():
                    stored.setdefault(kind, set()).update(ids)
            elif field.of and field.by == "id":
                held = value if isinstance(value, list | tuple) else [value] if value else []
                stored.setdefault(field.of, set()).update(map(str, held))
    return stored


def _names_of(request: Request, pickable: Pickable, ids: set[str]) -> dict[str, str]:
    """What these are called. One that is gone, or cannot be read, has no name."""
    names = _named_singly(request, pickable, ids) if len(ids) <= SINGLY else _named_in_list(request, pickable, ids)
    rest = ids - names.keys()
    return names | (_names_of(request, KINDS[pickable.also], rest) if pickable.also and rest else {})


def _named_singly(request: Request, pickable: Pickable, ids: Iterable[str]) -> dict[str, str]:
    names = {}
    for row_id in ids:
        try:
            names[row_id] = named(
                value_of(ask(request, "GET", f"{pickable.source}/{quote(row_id, safe='')}")), pickable
            )
        except (NotFound, Unreadable):
            continue  # the form shows the id, and the API says what is wrong with it when it is saved
    return names


def _named_in_list(request: Request, pickable: Pickable, ids: set[str]) -> dict[str, str]:
    """Page by page, until each has its name or the list ends."""
    names, offset, total = dict[str, str](), 0, 1
    while offset < total and len(names) < len(ids):
        answer = ask(request, "GET", pickable.source, urlencode({"limit": MOST, "offset": offset}))
        known = {str(dig(row, "id")): row for row in value_of(answer)}
        names |= {row_id: named(known[row_id], pickable) for row_id in ids & known.keys()}
        offset, total = offset + MOST, int(answer.headers["X-Total-Count"])
    return names


def _found(request: Request, pickable: Pickable, limit: int, text: str = "") -> list[tuple[object, str]]:
    query = {"limit": limit} | ({"q": text} if text else {})
    rows = value_of(ask(request, "GET", pickable.source, urlencode(query)))
    named_rows = [(row, named(row, pickable)) for row in rows]
    return named_rows + (_found(request, KINDS[pickable.also], limit, text) if pickable.also else [])


def named(row: object, pickable: Pickable) -> str:
    return str(dig(row, pickable.name) or dig(row, "hostname") or dig(row, "id"))


def resolved(
    request: Request, reader: Reader, act: Act, form: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """The form with ids for typed names, and what is no name, by field."""
    filled, wrong = dict(form), {}
    for name, field in _named_inputs(act.fields, form):
        pickable = KINDS[field.of]
        if field.by != "id" or not reader.may(f"GET {pickable.source}"):
            continue
        texts = separated(form[name]) if field.kind == "names" else [form[name].strip()]
        ids = {text: _id_of(request, pickable, text) for text in texts if text}
        unknown = [text for text, row_id in ids.items() if row_id is None]
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
    by_name = [
        dig(row, "id") for row, name in _found(request, pickable, MOST, text) if name.casefold() == text.casefold()
    ]
    if len(by_name) == 1:
        return str(by_name[0])
    return text if _is_id(request, pickable, text) else None


def _is_id(request: Request, pickable: Pickable, text: str) -> bool:
    try:
        ask(request, "GET", f"{pickable.source}/{quote(text, safe='')}")
    except NotFound:
        return bool(pickable.also) and _is_id(request, KINDS[pickable.also], text)
    return True
