"""The inputs of a run: what was declared against what was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opsapp.wire.kinds import REQUIRED, Choice, DeclaredField, Flag, JsonKind, Number, Object, Text, Whole

from .settings import InputDeclaration

KINDS = {"string": Text(0, 20_000), "integer": Whole(), "number": Number(), "boolean": Flag()}


def _kind(declared: InputDeclaration) -> JsonKind:
    return KINDS.get(declared["type"]) or Choice(*declared.get("choices") or ())


def values(declared: Sequence[InputDeclaration], given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """(every input's value, defaults filled in; what is wrong by name). null counts as missing."""
    wrong: dict[str, str] = {}
    return Object(None, [_entry(declaration) for declaration in declared]).read(given, "", wrong), wrong


def _entry(declared: InputDeclaration) -> DeclaredField:
    default = declared.get("default")
    missing = REQUIRED if declared.get("required") else ""
    return DeclaredField(declared["name"], _kind(declared), default=missing if default is None else default)


def declaration_problem(declared: InputDeclaration) -> str | None:
    """What is wrong with how an input is declared."""
    if declared["type"] == "choice" and not declared.get("choices"):
        return "a choice needs choices"
    if declared["type"] != "choice" and declared.get("choices"):
        return "only a choice has choices"
    if declared.get("default") is not None:
        message = _kind(declared).problem(declared["default"])
        return f"the default {message}" if message else None
    return None
