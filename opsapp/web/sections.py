"""A section of the YAML file: its schema and its value, both made from a frozen dataclass (`lib.settings`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import colander
from pyramid.path import DottedNameResolver

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.settings import Between, CheckedBy, Length, Most, SchemaAt

from .fields import REQUIRED, Body, field
from .strict import Choice, Flag, ListOf, Number, Text, Whole

Section = TypeVar("Section")
RESOLVER = DottedNameResolver()
Kind = colander.SchemaNode | colander.SchemaType


def schema_of(section: type, name: str = "") -> Body:
    """A schema with the fields of the dataclass. What no field shows alone is found by its static method `across`, as
    of a Body."""
    schema = Body(name=name)
    schema.across = getattr(section, "across", None)
    hints = _hints_of(section, marks=True)
    for setting in fields(section):
        default = REQUIRED if setting.default is MISSING else setting.default
        schema.add(_node(hints[setting.name], setting.name, default))
    return schema


@cache
def _hints_of(section: type, *, marks: bool = False) -> dict[str, Any]:
    """Reading them compiles each annotation, and sections share most of theirs."""
    return get_type_hints(section, include_extras=marks)


def _node(hint: Any, name: str, missing: Any) -> colander.SchemaNode:
    if is_dataclass(hint) and isinstance(hint, type):
        return schema_of(hint, name)
    hint, marks = _without_marks(hint)
    hint, optional = _without_none(hint)
    made = next((RESOLVER.resolve(mark.dotted)() for mark in marks if isinstance(mark, SchemaAt)), None)
    if isinstance(made, colander.SchemaNode):
        made.name, made.missing = name, missing
        return made
    kind = made or next((mark for mark in marks if isinstance(mark, colander.SchemaType)), None) or _kind(hint, marks)
    checks = [mark.problem for mark in marks if isinstance(mark, CheckedBy)]
    test = (lambda value: _first_problem(checks, value)) if checks else None
    return field(kind, name=name, null=optional, default=missing, check=test)


def _first_problem(checks: Iterable[Any], value: Any) -> str | None:
    return None if value is None else next((problem for test in checks if (problem := test(value))), None)


def _without_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) not in (Union, UnionType):
        return hint, False
    (inner,) = (part for part in get_args(hint) if part is not NoneType)
    return inner, True


def _without_marks(hint: Any) -> tuple[Any, list[Any]]:
    if get_origin(hint) is not Annotated:
        return hint, []
    inner, *marks = get_args(hint)
    return inner, marks


def _kind(hint: Any, marks: list[Any]) -> colander.SchemaType:
    between = next((mark for mark in marks if isinstance(mark, Between)), Between(None, None))
    if hint is bool:
        return Flag()
    if hint is int:
        return Whole(*between)
    if hint is float:
        return Number(*between)
    if hint is str:
        length = next((mark for mark in marks if isinstance(mark, Length)), Length(0, 1000))
        return Text(length.low, length.high, pattern=length.pattern, example=length.example)
    if get_origin(hint) is Literal:
        return Choice(*get_args(hint))
    if get_origin(hint) is tuple:
        most = next(mark for mark in marks if isinstance(mark, Most))
        return ListOf(_node(get_args(hint)[0], "", REQUIRED), most.entries)
    raise TypeError(f"no schema for {hint}")


def value_of(section: type[Section], values: JsonObject) -> Section:
    """The section from what its schema has accepted."""
    hints = _hints_of(section)  # type: ignore[arg-type]  # a class is hashable
    return section(**{setting.name: _value(hints[setting.name], values[setting.name]) for setting in fields(section)})  # type: ignore[arg-type]


def _value(hint: Any, value: Any) -> Any:
    if is_dataclass(hint) and isinstance(hint, type):
        return value_of(hint, value)
    return tuple(value) if isinstance(value, list) else value
