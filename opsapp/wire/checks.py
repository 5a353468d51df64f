"""The checks of a message from a declared record (`records`), in the words of the wire.

Must not: know a record.
"""

from __future__ import annotations

from typing import Any, Dict, NamedTuple

from .fields import Check, WireField, boolean, choice, integer, json_value, listing, mapping, may, need, nested, number
from .fields import text as wire_text
from .kinds import LEFT_OUT, REQUIRED, Choice, DeclaredField, Flag, JsonKind, ListOf, MapOf, Number, Text, Whole
from .records import DeclaredObject, parts_of


class OnWire(NamedTuple):
    """A mark: how a message checks a value of which its kind says less."""

    check: Check


def checks_of(record: Any) -> Dict[str, WireField]:
    return {part.name: checked(part) for part in parts_of(record)}


def checked(part: DeclaredField) -> WireField:
    mark = part.mark(OnWire)
    check = mark.check if mark else check_of(part.kind)
    if part.default is REQUIRED:
        return need(check)
    return may(check, None if part.default is LEFT_OUT else part.default)


def check_of(kind: JsonKind) -> Check:
    """In a map a null value counts as absent."""
    if isinstance(kind, DeclaredObject):
        return nested(checks_of(kind.owner))
    if isinstance(kind, MapOf):
        return mapping(check_of(kind.item.kind), kind.high, check_of(kind.key), sparse=True)
    if isinstance(kind, ListOf):
        return listing(check_of(kind.item.kind), kind.high)
    if isinstance(kind, Text):
        return wire_text(kind.high, kind.low, kind.pattern and kind.pattern.pattern)
    if isinstance(kind, Number):
        bounds = {"low": kind.low, "high": kind.high}
        given: Any = {name: bound for name, bound in bounds.items() if bound is not None}
        return integer(**given) if isinstance(kind, Whole) else number(**given)
    if isinstance(kind, Choice):
        return choice(*kind.choices)
    return boolean() if isinstance(kind, Flag) else json_value()
