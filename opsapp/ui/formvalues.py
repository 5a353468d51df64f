"""Reads a form into what the API is sent, by the kinds of the fields. Must not: say what a value must be; the API
does."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from opsapp.lib import durations
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Invalid
from opsapp.web import configfile

from .clocks import Clocks, by_service_clock
from .plan.shape import Act, Field
from .reader import dig, known_zone
from .rowmoves import moved
from .words import separated

LISTS = ("list", "names", "shown")
MOST_YAML = 200_000  # it is read where others wait: a second


class WrongText(ValueError):
    """What was filled in is not of the field's kind; says why in a sentence."""


def body_of(act: Act, form: Mapping[str, str], row: Mapping[str, Any], service_zone: str = "UTC") -> JsonObject:
    """The act's own values and what was filled in; an empty field says nothing."""
    body: JsonObject = {}
    for name, value in act.body.items():
        _put(body, name, value.format(**row) if isinstance(value, str) else value)
    wrong: dict[str, str] = {}
    for field in act.fields:
        name = field.key or field.name
        try:
            text = schedule(field, form) if field.kind == "schedule" else form.get(field.name, "")
            if field.kind == "rows":
                _put_rows(body, wrong, field, form)
            elif field.whole:
                _put(body, name, all_or_some(field, form))
            elif field.kind == "picks" or ticked(field, form):
                _put(body, name, picked(field, form))
            elif text.strip() or (text and field.kind == "password"):
                clocks = Clocks(known_zone(form.get(f"{field.name}:zone") or service_zone), service_zone)
                _put(body, name, typed(field, text, clocks))
            elif field.clears and field.name in form:
                _put(body, name, [] if field.kind in LISTS else None)
        except WrongText as problem:
            wrong[field.name] = str(problem)
    if wrong:
        raise Invalid(wrong)
    return body


def given_to(act: Act, form: Mapping[str, str]) -> JsonObject:
    """A secret of a thing is among it, or what was tried is not what is saved; a person's password never is."""
    shown = [field for field in act.fields if act.here or field.kind != "password"]
    whole = {f"{field.name}-whole": f"{field.name}-whole" in form for field in shown if field.whole}
    return {field.name: _shown_again(field, form) for field in shown} | whole


def _shown_again(field: Field, form: Mapping[str, str]) -> Any:
    if field.kind == "picks":
        return picked(field, form)
    if ticked(field, form):
        return ", ".join(picked(field, form))
    if field.kind == "schedule" and form.get(field.name, "") == form.get(f"{field.name}:was", ""):
        return schedule(field, form)
    if field.kind == "rows":
        rows = rows_of(field, form)
        return form.get(field.name, "") if rows is None else rows
    return form.get(field.name, "")


def schedule(field: Field, form: Mapping[str, str]) -> str:
    """What was chosen or written. The expression that was there before (`:was`) gives way to a choice."""
    own, often, at, weekday, day = (
        form.get(f"{field.name}{part}", "").strip() for part in ("", ":often", ":at", ":weekday", ":day")
    )
    hour, _, minute = (at or "00:00").partition(":")
    on = {"hour": "* * * *", "day": f"{hour} * * *", "week": f"{hour} * * {weekday}", "month": f"{hour} {day} * *"}
    if often not in on:
        return own
    if own not in ("", form.get(f"{field.name}:was", "").strip()):
        raise WrongText("Choose how often, or write an expression: not both.")
    return f"{minute} {on[often]}"


# -- rows: the field `name:count` says how many, `name:0:inner` is a field of the first


MOST_ROWS = 100


def rows_of(field: Field, form: Mapping[str, str]) -> list[dict[str, str]] | None:
    """Every value a text; None where the field came as JSON or not at all."""
    count = form.get(f"{field.name}:count", "")
    if not count.isdecimal() or len(count) > 3:
        return None
    return [
        {inner.name: _filled_in(inner._replace(name=f"{field.name}:{at}:{inner.name}"), form) for inner in field.fields}
        for at in range(min(int(count), MOST_ROWS))
    ]


def _filled_in(inner: Field, form: Mapping[str, str]) -> str:
    return ", ".join(picked(inner, form)) if inner.kind == "picks" else form.get(inner.name, "")


def _put_rows(body: JsonObject, wrong: dict[str, str], field: Field, form: Mapping[str, str]) -> None:
    rows, name = rows_of(field, form), field.key or field.name
    if rows is None:
        if form.get(field.name, "").strip():
            _put(body, name, json_value(form[field.name]))
        return
    values = []
    for at, row in enumerate(_without_spare(field, rows)):
        value: JsonObject = {}
        for inner in field.fields:
            try:
                if row[inner.name].strip():
                    value[inner.name] = row_value(inner, row)
                elif inner.clears:
                    value[inner.name] = None
            except WrongText as problem:
                wrong[f"{field.name}:{at}:{inner.name}"] = str(problem)
        values.append(value)
    only_input = field.fields[0].name if len(field.fields) == 1 else None
    _put(body, name, [value.get(only_input, "") for value in values] if only_input else values)


def row_value(field: Field, row: Mapping[str, str]) -> Any:
    text = row[field.name]
    if field.like:
        kind = {"integer": "number", "number": "number", "boolean": "flag"}.get(row.get(field.like, ""), "text")
        return typed(field._replace(kind=kind), text, Clocks("UTC", "UTC"))
    return typed(field, text, Clocks("UTC", "UTC"))


def redrawn(act: Act, form: Mapping[str, str], do: str) -> dict[str, str]:
    """The form with a row more, less or moved; or with its rows as JSON, or back."""
    name, _, what = do.partition(":")
    field = next((field for field in act.fields if field.kind == "rows" and field.name == name), None)
    if field is None:
        return dict(form)
    rows = rows_of(field, form)
    if what == "fields":
        return _as_rows(field, form)
    if rows is None:
        return dict(form)
    if what == "json":
        body: JsonObject = {}
        _put_rows(body, {}, field._replace(key="rows"), form)
        return _without(field, form) | {field.name: json.dumps(body["rows"], indent=2, ensure_ascii=False)}
    return _without(field, form) | _as_form(field, _moved(rows, what, _empty(field)))


def _moved(rows: list[dict[str, str]], what: str, empty: dict[str, str]) -> list[dict[str, str]]:
    verb, _, number = what.partition(":")
    if verb == "add":
        return [*rows, empty]
    return moved(rows, verb, number)


def _as_rows(field: Field, form: Mapping[str, str]) -> dict[str, str]:
    """The form as it is, where it holds no JSON: sending it says what is wrong."""
    try:
        values = json_value(form.get(field.name) or "[]")
    except WrongText:
        return dict(form)
    if not isinstance(values, list) or len(values) > MOST_ROWS:
        return dict(form)
    return _without(field, form) | _as_form(field, as_texts(field, values))


def as_texts(field: Field, values: list[Any]) -> list[dict[str, str]]:
    only_input = field.fields[0].name if len(field.fields) == 1 else None
    rows = [{only_input: value} if only_input else value for value in values]
    return [{inner.name: _text(dig(row, inner.name)) for inner in field.fields} for row in rows]


def begins_with(field: Field, row: Any) -> Any:
    """The value that a form about a row begins with. What is cleared when it is left empty begins with the stored
    value: else a change of something else would clear it."""
    stored = dig(row, field.key or field.name)
    if field.clears and isinstance(stored, str | list | tuple):
        between = "\n" if field.kind == "lines" else ", "
        return stored if isinstance(stored, str) else between.join(map(str, stored))
    return stored or "" if field.kind == "choice" and not field.preset else field.preset


def to_fill_in(field: Field, values: list[Any]) -> list[dict[str, str]]:
    return as_texts(field, values) + ([_empty(field)] if field.spare else [])


def _empty(field: Field) -> dict[str, str]:
    return {inner.name: inner.preset for inner in field.fields}


def _without_spare(field: Field, rows: list[dict[str, str]]) -> list[dict[str, str]]:
    filled = [at for at, row in enumerate(rows, 1) if any(text.strip() not in ("", "false") for text in row.values())]
    return rows[: filled[-1] if filled else 0] if field.spare else rows


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _without(field: Field, form: Mapping[str, str]) -> dict[str, str]:
    begin = field.name + ":"
    return {name: text for name, text in form.items() if name != field.name and not name.startswith(begin)}


def _as_form(field: Field, rows: list[dict[str, str]]) -> dict[str, str]:
    form = {f"{field.name}:count": str(len(rows))}
    for at, row in enumerate(rows):
        for inner in field.fields:
            form |= _as_inputs(inner._replace(name=f"{field.name}:{at}:{inner.name}"), row.get(inner.name, ""))
    return form


def _as_inputs(inner: Field, text: str) -> dict[str, str]:
    return {f"{inner.name}:{word}": "on" for word in separated(text)} if inner.kind == "picks" else {inner.name: text}


def ticked(field: Field, form: Mapping[str, str]) -> bool:
    """Whether names came as ticks, of few that there were to choose from."""
    return field.ticks and f"{field.name}-ticks" in form


def picked(field: Field, form: Mapping[str, str]) -> list[str]:
    begin = field.name + ":"
    return [name[len(begin) :] for name in form if name.startswith(begin)]


def all_or_some(field: Field, form: Mapping[str, str]) -> list[str]:
    """What was chosen; nothing, which means all, only where that was ticked."""
    chosen = picked(field, form) if ticked(field, form) else separated(form.get(field.name, ""))
    if bool(chosen) is (f"{field.name}-whole" in form):
        rather = "not both" if chosen else "one of the two"
        raise WrongText(f"Choose what it covers, or tick “{field.whole}”: {rather}.")
    return chosen


def typed(field: Field, text: str, clocks: Clocks) -> Any:
    """What is no value of the kind, the API refuses by its name. Browsers end lines as mail does."""
    if field.kind == "number":
        return number(text)
    if field.kind == "flag":
        return {"true": True, "false": False}.get(text, text)
    if field.kind == "json":
        return json_value(text)
    if field.kind == "yaml":
        return yaml_value(text)
    if field.kind in (*LISTS, "picks"):
        return separated(text)
    if field.kind == "lines":
        return lines(text)
    if field.kind in ("duration", "span"):
        return duration(field, text)
    if field.kind == "moment":
        return moment(text, clocks)
    return text.replace("\r\n", "\n") if field.kind in ("area", "script") else text


def lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").strip("\n").split("\n")


def called(given: str, names: Mapping[str, str]) -> str:
    """Stored ids as a person knows them; what is typed stays as it is."""
    return ", ".join(names.get(word, word) for word in separated(given))


def number(text: str) -> Any:
    text = text.strip()
    if text.removeprefix("-").isdecimal() and len(text) < 16:
        return int(text)
    try:
        value = float(text)
    except ValueError:
        return text
    return value if math.isfinite(value) else text


def duration(field: Field, text: str) -> float | int | str:
    """Seconds; as a text where the API wants one (`span`)."""
    try:
        seconds = durations.from_words(text)
    except ValueError as problem:
        raise WrongText(f"{problem}.") from None
    if field.kind == "span":
        if seconds != int(seconds):
            raise WrongText("Write whole seconds.")
        return durations.written(seconds)
    return int(seconds) if seconds == int(seconds) else seconds


def moment(text: str, clocks: Clocks) -> str:
    try:
        return by_service_clock(text, clocks)
    except ValueError as problem:
        raise WrongText(str(problem)) from None


def json_value(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as problem:
        lines = text.replace("\r\n", "\n").split("\n")
        line = lines[min(problem.lineno, len(lines)) - 1].strip()
        near = f": {line[:60]}" if line else ""
        told = f"This is not valid JSON: {problem.msg}, line {problem.lineno} column {problem.colno}{near}"
        raise WrongText(told) from None
    except RecursionError:
        raise WrongText("This is not valid JSON: it is nested too deeply.") from None


def yaml_value(text: str) -> Any:
    if text.lstrip().startswith("{"):
        return json_value(text)
    if len(text) > MOST_YAML:
        raise WrongText(f"YAML of more than {MOST_YAML:,} characters: leave out what stays as it is, or use JSON.")
    try:
        return configfile.parse(text, "document")[0]
    except configfile.BadConfig as problem:
        told = "; ".join(str(mistake) for mistake in problem.mistakes[:3])
        raise WrongText(f"This is not valid YAML: {told}") from None


def _put(body: JsonObject, name: str, value: Any) -> None:
    *above, last = name.split(".")
    for step in above:
        body = body.setdefault(step, {})
    body[last] = value
