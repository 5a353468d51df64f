"""A record is declared once, as a frozen dataclass whose annotations say what may stand in each field.

    @frozen
    class Retry:
        first_s: Annotated[float, Between(0.05, 3600), FormField("First wait")] = 5
        tries: Told[int] = 0

From it follow what a body may say (`DeclaredObject`), the value of what was read (`made`, `changed`), what is answered
and written (`plain`, `settings_of`); `web.declared` makes its schema for colander and the API document, `ui.plan.shape`
its inputs. A type without a mark (`bool`, `Literal`, another record) needs none.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from .kinds import (
    LEFT_OUT,
    REQUIRED,
    ByField,
    Choice,
    DeclaredField,
    Flag,
    JsonKind,
    ListOf,
    MapOf,
    Number,
    Object,
    Text,
    Whole,
)

R = TypeVar("R")
UNIONS = (Union, getattr(types, "UnionType", Union))


# -- marks: what a type does not say. A `JsonKind` is one too


class Between(NamedTuple):
    low: float | None = None
    high: float | None = None


class Most(NamedTuple):
    """A list: how many entries it may have, and has at least."""

    entries: int
    unique: bool = False
    least: int = 0


class ReadOnly(NamedTuple):
    """The service says it, nobody sends it; not `always`: only where it differs from its default."""

    always: bool = True


AT_TIMES = ReadOnly(always=False)
Told = Annotated[R, ReadOnly()]
Since = Annotated[float, Whole(0)]  # a time, told without fractions


class InAnswers(NamedTuple):
    """What an answer may have there, where that is more than a body may say."""

    kind: JsonKind
    null: bool = False


class SaidAs(NamedTuple):
    """The field's name in JSON, where Python has that word for itself (`for`, `from`)."""

    name: str


class IfSaid(NamedTuple):
    """The field is stored and answered only if it was said."""


class Sealed(NamedTuple):
    """The field is stored sealed, and shown to nobody (`lib.addresses`)."""


class FormField(NamedTuple):
    """`kind` and what follows are those of a page's field (`ui.plan.shape`)."""

    label: str
    kind: str = "text"
    hint: str = ""
    preset: str = ""
    of: str = ""
    by: str = "id"
    ticks: bool = False
    clears: bool = False
    unsaid: str = ""
    whole: str = ""
    spare: bool = False
    like: str = ""


# -- the plan of a declaration, made once


@lru_cache(maxsize=None)
def parts_of(record: Any) -> tuple[DeclaredField, ...]:
    hints = get_type_hints(record, include_extras=True)
    return tuple(_part(field.name, hints[field.name], _default(field)) for field in fields(record))


def _default(field: Field[Any]) -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def settings_in(record: Any) -> tuple[DeclaredField, ...]:
    """`stays_out`: names of what stays out where it is left out, since whoever makes the record knows what stands for
    it."""
    said, unsaid = (part for part in parts_of(record) if not part.mark(ReadOnly)), getattr(record, "stays_out", ())
    return tuple(part._replace(default=LEFT_OUT) if part.name in unsaid else part for part in said)


def sealed_in(record: Any) -> frozenset[str]:
    return frozenset(part.name for part in settings_in(record) if part.mark(Sealed) is not None)


class DeclaredObject(Object):
    """A declared record as others send it. Its static method `across` says what no field shows alone."""

    def __init__(self, record: Any):
        super().__init__(record, settings_in(record))

    def made(self, value: Any) -> Any:
        return made(self.owner, value)

    def plain(self, value: Any) -> Any:
        return plain(value, self.owner)

    def plain_rows(self, values: Any) -> list[Any]:
        writing = _writing(self.owner, parts_of)
        return [_written(value, writing, writing.rewritten) for value in values]


def _part(name: str, hint: Any, default: Any) -> DeclaredField:
    hint, marks = _without_marks(hint)
    choices = get_args(hint) if get_origin(hint) in UNIONS else ()
    if choices:  # of several, a kind among the marks says what they are
        hint, more = _without_marks(next(inner for inner in choices if inner is not type(None)))
        marks += more
    kind = next((mark for mark in marks if isinstance(mark, JsonKind)), None) or _kind(hint, marks)
    part = DeclaredField(name, kind, type(None) in choices, default, marks, name)
    if part.mark(IfSaid) is not None:
        return part._replace(default=LEFT_OUT)
    called = part.mark(SaidAs) or part
    return part._replace(
        name=called.name, default=kind.default if default is MISSING or is_dataclass(default) else default
    )


def _without_marks(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    if get_origin(hint) is not Annotated:
        return hint, ()
    inner, *marks = get_args(hint)
    return inner, tuple(marks)


def _kind(hint: Any, marks: tuple[Any, ...]) -> JsonKind:
    if is_dataclass(hint) and isinstance(hint, type):
        return DeclaredObject(hint)
    between = next((mark for mark in marks if isinstance(mark, Between)), Between())
    most = next((mark for mark in marks if isinstance(mark, Most)), Most(1000))
    made_by: dict[Any, Callable[[], JsonKind]] = {
        bool: Flag,
        int: lambda: Whole(*between),
        float: lambda: Number(*between),
        str: Text,
        Literal: lambda: Choice(*get_args(hint)),
        tuple: lambda: ListOf(_part("", get_args(hint)[0], REQUIRED), most.entries, most.least, unique=most.unique),
        dict: lambda: MapOf(_part("", get_args(hint)[1], REQUIRED), most.entries),
    }
    kind = made_by.get(get_origin(hint) or hint)
    if kind is None:
        raise TypeError(f"no kind for {hint}")
    return kind()


# -- values


def made(record: Callable[..., R], values: Mapping[str, Any]) -> R:
    """Make a record of values; what is left out has its default."""
    return record(**_made(record, values, values))


def extended(record: type[R], base: Any, /, **told: Any) -> R:
    """A record made of `base` and of `told`, its fields beyond. Not by its `__init__`: lists have thousands, and that
    of a frozen dataclass takes three times as long for forty fields."""
    of: Any = record
    values, whole = vars(base), object.__new__(record)
    made_of = vars(whole)
    made_of.update(_defaults_in(of))
    for _, attribute in _writing(base.__class__, parts_of).names:
        made_of[attribute] = values[attribute]
    made_of.update(told)
    if len(made_of) != len(parts_of(of)):
        raise TypeError(f"{record.__name__} has other fields than {sorted(made_of)}")
    return whole


@lru_cache(maxsize=None)
def _defaults_in(record: Any) -> dict[str, object]:
    defaults = ((field.name, _default(field)) for field in fields(record))
    return {name: default for name, default in defaults if default is not MISSING}


def changed(record: R, values: Mapping[str, Any]) -> R:
    return replace(record, **_made(record.__class__, values, {**vars(record), **values}))  # type: ignore[type-var]


def _made(record: Any, values: Mapping[str, Any], beside: Mapping[str, Any]) -> dict[str, Any]:
    names, parts = _rebuilt(record)
    given = {attribute: values[name] for name, attribute in names if name in values}
    for part in parts:
        if given.get(part.attribute) is not None:
            given[part.attribute] = part.kind.beside(beside).made(given[part.attribute])
    return given


@lru_cache(maxsize=None)
def _rebuilt(record: Any) -> tuple[tuple[tuple[str, str], ...], tuple[DeclaredField, ...]]:
    """The names of its fields with their attributes, and the parts that it has otherwise than they were read."""
    parts = parts_of(record)
    names = tuple((part.name, part.attribute) for part in parts)
    return names, tuple(part for part in parts if part.kind.rebuilds)


def plain(record: Any, of: Any = None) -> dict[str, object]:
    """The record as plain JSON values; `of`: as one of this class, which it extends."""
    return _plain(record, of or record.__class__, parts_of)


def encodable(record: Any) -> dict[str, object]:
    """`plain` for an encoder, which takes tuples: lists have thousands of records."""
    writing = _writing(record.__class__, parts_of)
    return _written(record, writing, writing.encoded)


def settings_of(record: Any) -> dict[str, object]:
    """What people said of it: what is written as code."""
    return _plain(record, record.__class__, settings_in)


def unsealed(record: Any) -> dict[str, object]:
    return _plain(record, record.__class__, _unsealed_in)


def _unsealed_in(record: Any) -> tuple[DeclaredField, ...]:
    return tuple(part for part in settings_in(record) if part.mark(Sealed) is None)


Chosen = Callable[[Any], tuple[DeclaredField, ...]]


Rewritten = tuple[str, Callable[[Any], Any]]


class WritePlan(NamedTuple):
    names: tuple[tuple[str, str], ...]
    rewritten: tuple[Rewritten, ...]
    encoded: tuple[Rewritten, ...]  # of these, what no encoder takes as it is
    at_times: tuple[tuple[str, object], ...]  # with their defaults
    by_field: tuple[DeclaredField, ...]
    if_said: tuple[str, ...]
    renamed: bool  # whether a name is not that of its attribute
    as_it_is: bool  # whether there is nothing to write otherwise


@lru_cache(maxsize=None)
def _writing(record: Any, chosen: Chosen) -> WritePlan:
    parts = chosen(record)
    by_field = tuple(part for part in parts if isinstance(part.kind, ByField))
    rewritten = [part for part in parts if part.kind.rewrites and part not in by_field]
    at_times = tuple((part.name, part.default) for part in parts if AT_TIMES in part.marks)
    if_said = tuple(part.name for part in parts if part.default is LEFT_OUT)
    renamed = any(part.name != part.attribute for part in parts)
    leaves_out = getattr(record, "leaves_out_null", False)
    return WritePlan(
        tuple((part.name, part.attribute) for part in parts),
        tuple((part.name, part.kind.plain) for part in rewritten),
        tuple((part.name, part.kind.plain) for part in rewritten if not part.kind.is_encoded),
        at_times,
        by_field,
        if_said,
        renamed,
        not (rewritten or by_field or at_times or if_said or renamed or leaves_out),
    )


def _plain(record: Any, of: Any, chosen: Chosen) -> dict[str, object]:
    writing = _writing(of, chosen)
    return _written(record, writing, writing.rewritten)


def _written(record: Any, writing: WritePlan, rewritten: tuple[Rewritten, ...]) -> dict[str, object]:
    values = vars(record)
    if writing.as_it_is and len(values) == len(writing.names):
        return values.copy()
    whole = len(values) == len(writing.names) and not writing.renamed
    told = values.copy() if whole else {name: values[attribute] for name, attribute in writing.names}
    for name, default in writing.at_times:
        if told[name] == default:
            del told[name]
    for name, write in rewritten:
        if told.get(name) is not None:
            told[name] = write(told[name])
    for part in writing.by_field:
        if told.get(part.name) is not None:
            told[part.name] = part.kind.beside(values).plain(told[part.name])
    for name in writing.if_said:
        if told[name] is None:
            del told[name]
    if getattr(record, "leaves_out_null", False):
        return {name: value for name, value in told.items() if value is not None}
    return told
