"""The inputs of a run: what was declared against what was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

LONGEST = 20_000


def problem(declared: Mapping[str, Any], value: Any) -> str | None:
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


def values(declared: Sequence[Mapping[str, Any]], given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """(every input's value, defaults filled in; what is wrong by name). null counts as missing."""
    found, wrong = {}, {}
    known = {each["name"]: each for each in declared}
    for name, each in known.items():
        value = given.get(name)
        if value is None:
            value = each.get("default")
            if value is not None:
                found[name] = value
            elif each.get("required"):
                wrong[name] = "is required"
            else:
                found[name] = ""
            continue
        said = problem(each, value)
        if said:
            wrong[name] = said
        else:
            found[name] = value
    wrong.update({name: "is not known here" for name in given if name not in known})
    return found, wrong


def declaration_problem(declared: Mapping[str, Any]) -> str | None:
    """What is wrong with how an input is declared."""
    if declared["type"] == "choice" and not declared.get("choices"):
        return "a choice needs choices"
    if declared["type"] != "choice" and declared.get("choices"):
        return "only a choice has choices"
    if declared.get("default") is not None:
        said = problem(declared, declared["default"])
        return f"the default {said}" if said else None
    return None
