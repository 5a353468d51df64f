"""Schemas of JSON objects and query strings, and the short form of their fields.

    class NewThing(Body):
        name = name_text()
        tags = list_of(TAG, 50, unique=True, default=())

Every field takes `default=` (what a field that is left out becomes), `optional=True` (one that is left out stays out),
`null=True` (null is a value) and `check=fn` (`fn(value)` answers what is wrong, or None); else it is required. A field
may be kept in a constant and used in many schemas; `field(TAG, default=None)` is the same one with other options.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import colander

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.visible import DECEIVING
from opsapp.runtime.internals import take_order_of

from . import strict
from .strict import Number, Strict, Text, Whole, fields_of

Check = Callable[[Any], str | None]
__all__ = [
    "AsOf",
    "Body",
    "Number",
    "Paging",
    "Query",
    "Strict",
    "Text",
    "Whole",
    "anything",
    "choice",
    "field",
    "fields_of",
    "flag",
    "list_of",
    "map_of",
    "name_text",
    "node_of",
    "number",
    "scalar",
    "text",
    "whole",
    "with_settings",
]

B = TypeVar("B", bound="Body")
REQUIRED = colander.required
KEPT = object()  # for an option that is left as it is


class _Fields(type(colander.Schema)):  # type: ignore[misc]
    """Each class has nodes of its own, in the order in which they are written, so that fields may be shared."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        for key, value in namespace.items():
            if isinstance(value, colander.SchemaNode):
                namespace[key] = _copy(value)
        return super().__new__(cls, name, bases, namespace)


class Body(colander.Schema, metaclass=_Fields):
    """Base of every schema for a JSON object."""

    schema_type = strict.StrictMapping
    component: str | None = None  # its name in the API document (`web.shapes`), where that is not the class's
    sample: JsonObject = {}  # of its fields, for the API document (`web.examples`): what cannot be made
    across: Callable[[dict[str, Any]], dict[str, str]] | None = None
    """What no single field shows, by path, for a static method: told in one answer with what single fields show. It
    gets those values that are sound by themselves, so any may be missing."""


class Query(Body):
    """Base of every schema for a query string; its values arrive as strings and are parsed by `parse_query`."""


def field(
    kind: Any,
    *,
    default: Any = KEPT,
    optional: bool = False,
    null: bool = False,
    check: Check | None = None,
    name: str = "",
) -> Any:
    """A field of any kind: a type, a schema, or another field."""
    node = node_of(kind)
    node = _copy(node) if node is kind else node
    if null:
        node.typ = strict.Nullable(node.typ)
    if optional or default is not KEPT:
        node.missing = colander.drop if optional else default
    if check is not None:
        node.validator = _validator(check)
    if name:
        node.name = name
    return node


def node_of(kind: Any) -> Any:
    """A type, a schema (or the class of one), or a field, as colander knows it."""
    kind = kind() if isinstance(kind, type) else kind
    return kind if isinstance(kind, colander.SchemaNode) else colander.SchemaNode(kind)


def _copy(node: Any) -> Any:
    copy = node.clone()
    take_order_of(copy, colander.SchemaNode(node.typ))
    return copy


def _validator(check: Check) -> Callable[[colander.SchemaNode, Any], None]:
    def validator(node: colander.SchemaNode, value: Any) -> None:
        message = check(value)
        if message:
            raise colander.Invalid(node, message)

    return validator


def text(
    low: int = 0,
    high: int = 1000,
    *,
    pattern: str | None = None,
    example: str | None = None,
    must: str | None = None,
    **options: Any,
) -> Any:
    """A string of `low` to `high` characters. One that does not match `pattern` is told what it `must` do, or what it
    should look like."""
    return field(strict.Text(low, high, pattern=pattern, example=example, must=must), **options)


def name_text(high: int = 200, **options: Any) -> Any:
    """What people call a thing by: something that can be seen, and looks like what it is."""
    seen = rf"[^{DECEIVING}]*[^\s{DECEIVING}][^{DECEIVING}]*"
    must = "not be blank, nor hold characters that control text or its direction"
    return text(1, high, pattern=seen, must=must, **options)


def whole(low: int | None = None, high: int | None = None, **options: Any) -> Any:
    """An integer."""
    return field(strict.Whole(low, high), **options)


def number(low: float | None = None, high: float | None = None, **options: Any) -> Any:
    return field(strict.Number(low, high), **options)


def flag(**options: Any) -> Any:
    return field(strict.Flag(), **options)


def choice(*choices: str, **options: Any) -> Any:
    return field(strict.Choice(*choices), **options)


def scalar(**options: Any) -> Any:
    """A string, a number, a flag or null."""
    return field(strict.Scalar(), **options)


def anything(**options: Any) -> Any:
    """Any JSON value that can be stored and sent back, checked elsewhere."""
    return field(strict.Anything(), **options)


def list_of(item: Any, high: int = 1000, *, low: int = 0, unique: bool = False, **options: Any) -> Any:
    """`item`: a field, a type or a schema. With `unique`, no value may stand twice."""
    return field(strict.ListOf(node_of(item), high, low=low, unique=unique), **options)


def map_of(item: Any, high: int = 1000, key: Any = None, **options: Any) -> Any:
    """An object of free names (`key`: a text) to one kind of value."""
    return field(strict.MapOf(node_of(item), high, key and key.typ), **options)


def with_settings(settings: type[Body], *names: str) -> Callable[[type[B]], type[B]]:
    """Of a record, which writes down only what is not a setting: it has all settings beside (or those with these
    names), and leaves none out. A field that the record has of its own stays."""

    def recorded(record: type[B]) -> type[B]:
        own = {node.name for node in record().children}
        shown = [node for node in settings().children if node.name not in own and (not names or node.name in names)]
        fields = {node.name: field(node, default=REQUIRED) for node in shown}
        return type(record.__name__, (record,), {"__doc__": record.__doc__, "__module__": record.__module__, **fields})

    return recorded


class Paging(Query):
    """What every list takes."""

    limit = whole(1, 1000, default=None)
    offset = whole(0, 10**9, default=0)


def order(*names: str) -> Any:
    """`sort` of a list (`paging.in_order`): by one of these, or the other way round with "-" before its name. Left out:
    as the list is without it."""
    return choice(*names, *("-" + name for name in names), default=None)


class AsOf(Query):
    """What every answer takes that can be given as it was at a time (`node.transact_at`)."""

    as_of = whole(0, 10**10, default=None)
