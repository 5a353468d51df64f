"""The inputs of a run: what was declared against what was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .settings import InputDeclaration

LONGEST = 20_000


def problem(declared: InputDeclaration, value: Any) -> str | None:
    """What is wrong with a value for this input, or None."""
    kind = declared["type"]
    if kind == "boolean":
        return None if isinstance(value, bool) else "must be true or false"
    if kind in ("integer", "number"):
        whole = isinstance(value, int) and not isinstance(value, bool)
        if kind == "integer":
            return None if whole else "must be an integer"
        return None if whole or isinstance(value, float) else "must be a number"
    if not isinstance(value, str):
        return "must be a string"
    if kind == "choice" and value not in (declared.get("choices") or ()):
        return "must be one of " + ", ".join(declared.get("choices") or ())
    if len(value) > LONGEST:
        return f"must have at most {LONGEST} characters"
    return "has characters that are not allowed" if "\0" in value else None


def values(declared: Sequence[InputDeclaration], given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """(every input's value, defaults filled in; what is wrong by name). null counts as missing."""
    sound, wrong = {}, {}
    known = {declaration["name"]: declaration for declaration in declared}
    for name, declaration in known.items():
        value = given.get(name)
        if value is None:
            value = declaration.get("default")
            if value is not None:
                sound[name] = value
            elif declaration.get("required"):
                wrong[name] = "is required"
            else:
                sound[name] = ""
            continue
        message = problem(declaration, value)
        if message:
            wrong[name] = message
        else:
            sound[name] = value
    wrong.update({name: "is not known here" for name in given if name not in known})
    return sound, wrong


def declaration_problem(declared: InputDeclaration) -> str | None:
    """What is wrong with how an input is declared."""
    if declared["type"] == "choice" and not declared.get("choices"):
        return "a choice needs choices"
    if declared["type"] != "choice" and declared.get("choices"):
        return "only a choice has choices"
    if declared.get("default") is not None:
        message = problem(declared, declared["default"])
        return f"the default {message}" if message else None
    return None
