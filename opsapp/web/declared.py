"""colander's schemas of a declared record (`wire.records`), as sent and as answered; `web.api` asks here. Must not:
check anything: the kinds do."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import is_dataclass, replace
from functools import cache
from typing import Any

import colander

from opsapp.wire.kinds import LEFT_OUT, REQUIRED, ByField, DeclaredField, JsonKind, ListOf, MapOf
from opsapp.wire.records import AT_TIMES, DeclaredObject, InAnswers, parts_of, settings_in

from .fields import B, Body, Query, field
from .shapes import base_of
from .strict import FieldNode


@cache
def body_of(record: Any) -> type[Body]:
    """Its settings, as they are sent; in the API document NewThing, and ThingChange of a PUT."""
    return _schema(record, f"New{base_of(record)}", map(_sent, settings_in(record)))


@cache
def answer_of(record: Any) -> type[Body]:
    """All of it."""
    leaves_out = getattr(record, "leaves_out_null", False)
    return _schema(record, record.__name__, (_answered(part, leaves_out) for part in parts_of(record)))


@cache
def query_of(record: Any) -> type[Query]:
    """Null is nothing that a query string could say."""
    return _schema(record, record.__name__, (_sent(part._replace(null=False)) for part in settings_in(record)), Query)


def adapted(wanted: Any, adapt: Callable[[Any], type[Body]]) -> Any:
    """What a view takes or returns, with schemas in the place of records, at any depth of lists."""
    if isinstance(wanted, list | tuple):
        return type(wanted)(adapted(part, adapt) for part in wanted)
    return adapt(wanted) if isinstance(wanted, type) and is_dataclass(wanted) else wanted


def _schema(record: Any, name: str, nodes: Iterable[FieldNode], base: type[B] = Body) -> type[B]:
    about = {name: getattr(record, name) for name in ("across", "sample") if hasattr(record, name)}
    return type(name, (base,), about | {node.name: node for node in nodes})


def _sent(part: DeclaredField) -> FieldNode:
    default = colander.required if part.default is REQUIRED else part.default
    return field(_within(part.kind, body_of), name=part.name, null=part.null, default=default, check=part.problem)


def _answered(part: DeclaredField, leaves_out_null: bool) -> FieldNode:
    """Nothing is left out, but for what is told at times only, or if it was said."""
    at_times = AT_TIMES in part.marks or part.default is LEFT_OUT
    told, optional = part.mark(InAnswers), at_times or (leaves_out_null and part.null)
    kind = told.kind if told else _within(part.kind, answer_of)
    null = told.null if told else part.null and not (optional and part.default is None)
    return field(kind, name=part.name, null=null, optional=optional)


def _within(kind: JsonKind, adapt: Callable[[Any], type[Body]]) -> JsonKind:
    """The records inside an answer leave nothing out either."""
    if isinstance(kind, ByField):  # each of its choices is read where it is known which it is
        return kind
    if isinstance(kind, DeclaredObject):
        return adapt(kind.owner)().kind
    if isinstance(kind, ListOf | MapOf):
        return replace(kind, item=kind.item._replace(kind=_within(kind.item.kind, adapt)))
    return kind
