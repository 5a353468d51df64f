"""Schemas of JSON objects and query strings, and the short form of their fields.

    class NewThing(Body):
        name = name_text()
        tags = list_of(TAG, 50, unique=True, default=())

A field is required, unless it has `default=` or `optional=True` (left out, it stays out). `null=True`: null is a value;
`check=fn`: `fn(value)` answers what is wrong, or None. `field(TAG, default=None)` is a kept field with other options.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar

import colander

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.visible import name_kind
from opsapp.runtime.internals import take_order_of
from opsapp.wire import kinds
from opsapp.wire.kinds import JsonKind, Number, Text, Whole

from .strict import Check, FieldNode

B = TypeVar("B", bound="Body")
REQUIRED = colander.required
OPTIONS = {"default", "optional", "null", "check", "name"}
KEPT = object()  # for an option that is left as it is


class _Fields(type(FieldNode)):  # type: ignore[misc]
    """Each class has nodes of its own, in the order of writing, so that fields may be shared."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        for key, value in namespace.items():
            if isinstance(value, FieldNode):
                namespace[key] = _copy(value)
        return super().__new__(cls, name, bases, namespace)


class Body(FieldNode, metaclass=_Fields):
    schema_type = JsonKind
    component: str | None = None  # its name in the API document (`web.shapes`), where that is not the class's
    sample: JsonObject = {}  # of its fields, for the API document (`web.examples`): what cannot be made
    across: Callable[..., dict[str, str]] | None = None
    """What no single field shows, by path: a function of the class, told in one answer with what single fields show. It
    gets those values that are sound by themselves, so any may be missing."""

    @cached_property
    def kind(self) -> JsonKind:
        return kinds.Object(type(self), self.children)


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
    node = node_of(kind)
    node = _copy(node) if node is kind else node
    if null:
        node.null = True
    if optional or default is not KEPT:
        node.missing = colander.drop if optional else default
    if check is not None:
        node.check = check
    if name:
        node.name = name
    return node


def node_of(kind: Any) -> Any:
    kind = kind() if isinstance(kind, type) else kind
    return kind if isinstance(kind, FieldNode) else FieldNode(kind)


def _copy(node: Any) -> Any:
    copy = node.clone()
    take_order_of(copy, FieldNode(node.typ))
    return copy


def short(kind: Callable[..., JsonKind]) -> Callable[..., Any]:
    """A field of this kind: what is no option of a field goes to the kind."""

    def made(*bounds: Any, **given: Any) -> Any:
        options = {name: given.pop(name) for name in OPTIONS & given.keys()}
        return field(kind(*bounds, **given), **options)

    return made


text, whole, number = short(Text), short(Whole), short(Number)  # of `low` to `high` characters, or within these bounds
flag, choice, scalar = short(kinds.Flag), short(kinds.Choice), short(kinds.Scalar)
anything = short(kinds.Anything)  # checked elsewhere
name_text = short(name_kind)  # what people call a thing by
# an object of free names (`key`: a text) to one kind of value
map_of = short(lambda item, high=1000, key=kinds.ANY_NAME: kinds.MapOf(node_of(item), high, getattr(key, "typ", key)))
# of a field, a kind or a schema; with `unique`, no value may stand twice
list_of = short(lambda item, *bounds, **more: kinds.ListOf(node_of(item), *bounds, **more))


def with_settings(settings: type[Body], *names: str) -> Callable[[type[B]], type[B]]:
    """The record has all settings (or those with these names) beside its own fields, and leaves none out. A field of
    its own stays."""

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
    """`sort` of a list (`listpages.in_order`): by one of these, "-" before it for the other way round."""
    return choice(*names, *("-" + name for name in names), default=None)


class AsOf(Query):
    """What every answer takes that can be given as it was at a time (`node.transact_at`)."""

    as_of = whole(0, 10**10, default=None)
