"""Strict JSON types for colander: `"7"`, `true`, 1.9 are not integers, `"yes"` is no boolean, unknown keys are errors.

`web.fields` has the short form of each, which schemas use; colander's own lenient types are used nowhere.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import colander

DEEPEST = 50
FARTHEST = sys.float_info.max


def _unsound(value: Any, levels: int) -> str | None:
    """What would break whoever writes this value as JSON again."""
    if isinstance(value, str):
        return "has characters that are not allowed" if any("\ud800" <= char <= "\udfff" for char in value) else None
    if not isinstance(value, dict | list):
        too_far = isinstance(value, int | float) and not -FARTHEST <= value <= FARTHEST
        return "is no number that can be kept" if too_far else None
    if not levels:
        return "is nested too deeply"
    parts = [*value, *value.values()] if isinstance(value, dict) else value
    return next((wrong for part in parts if (wrong := _unsound(part, levels - 1))), None)


def _out_of(value: float, low: float | None, high: float | None) -> str | None:
    if (low is None or value >= low) and (high is None or value <= high):
        return None
    if high is None:
        return f"must be at least {low}"
    return f"must be at most {high}" if low is None else f"must be {low} to {high}"


def _bounds(low: float | None, high: float | None) -> dict[str, Any]:
    return ({} if low is None else {"minimum": low}) | ({} if high is None else {"maximum": high})


class Strict(colander.SchemaType):
    """A JSON value that must be of one Python type. `openapi` says it to `web.openapi`."""

    openapi: dict[str, Any] = {}

    def deserialize(self, node: colander.SchemaNode, cstruct: Any) -> Any:
        if cstruct is colander.null:
            return colander.null
        problem = self.problem(cstruct)
        if problem:
            raise colander.Invalid(node, problem)
        return self.value(cstruct)

    def problem(self, cstruct: Any) -> str | None:
        raise NotImplementedError

    def value(self, cstruct: Any) -> Any:
        return cstruct


class Text(Strict):
    """A string of `low` to `high` characters that can be stored and shown: no NUL, no lone surrogates. One that does
    not match `pattern` is told what it `must` do, or what it should look like."""

    def __init__(
        self,
        low: int = 0,
        high: int = 1000,
        *,
        pattern: str | None = None,
        example: str | None = None,
        must: str | None = None,
    ):
        self.low, self.high, self.example = low, high, example
        self.form = f"must {must}" if must else f"must look like {example}" if example else "has the wrong form"
        self.pattern = colander.Regex(pattern) if pattern else None
        self.openapi = {"type": "string", "minLength": low, "maxLength": high}
        if pattern:
            self.openapi["pattern"] = f"^(?:{pattern})$"  # JSON Schema searches; the server matches the whole

    def problem(self, cstruct: Any) -> str | None:
        if not isinstance(cstruct, str):
            return "must be a string"
        if not self.low <= len(cstruct) <= self.high:
            return f"must have {self.low} to {self.high} characters"
        if "\0" in cstruct or any("\ud800" <= char <= "\udfff" for char in cstruct):
            return "has characters that are not allowed"
        if self.pattern and not self.pattern.match_object.fullmatch(cstruct):
            return self.form
        return None


class Whole(Strict):
    """An integer within bounds."""

    def __init__(self, low: int | None = None, high: int | None = None):
        self.low, self.high = low, high
        self.openapi = {"type": "integer"} | _bounds(low, high)

    def problem(self, cstruct: Any) -> str | None:
        if isinstance(cstruct, bool) or not isinstance(cstruct, int):
            return "must be an integer"
        return _out_of(cstruct, self.low, self.high)


class Number(Strict):
    """A finite number within bounds."""

    def __init__(self, low: float | None = None, high: float | None = None):
        self.low, self.high = low, high
        self.openapi = {"type": "number"} | _bounds(low, high)

    def problem(self, cstruct: Any) -> str | None:
        if isinstance(cstruct, bool) or not isinstance(cstruct, int | float):
            return "must be a number"
        if not -FARTHEST <= cstruct <= FARTHEST:  # infinity, NaN, and integers that no float can hold
            return "must be a finite number"
        return _out_of(cstruct, self.low, self.high)


class Flag(Strict):
    openapi = {"type": "boolean"}

    def problem(self, cstruct: Any) -> str | None:
        return None if isinstance(cstruct, bool) else "must be true or false"


class Choice(Strict):
    """One of a few strings."""

    def __init__(self, *choices: str):
        self.choices = choices
        self.openapi = {"type": "string", "enum": list(choices)}

    def problem(self, cstruct: Any) -> str | None:
        if isinstance(cstruct, str) and cstruct in self.choices:
            return None
        return "must be one of " + ", ".join(self.choices)


class Scalar(Strict):
    """A JSON value that is neither a list nor an object."""

    openapi = {"type": ["string", "number", "boolean", "null"]}

    def problem(self, cstruct: Any) -> str | None:
        if isinstance(cstruct, list | dict):
            return "must not be a list or an object"
        return _unsound(cstruct, 0)


class Anything(Strict):
    """Any JSON value that can be stored and sent back, checked elsewhere (inputs, an automation's params by type)."""

    def problem(self, cstruct: Any) -> str | None:
        return _unsound(cstruct, DEEPEST)


class Nullable(colander.SchemaType):
    """Another type, or null, which then means None instead of missing."""

    def __init__(self, inner: Any):
        self.inner = inner

    def deserialize(self, node: colander.SchemaNode, cstruct: Any) -> Any:
        return None if cstruct is None else self.inner.deserialize(node, cstruct)


class ListOf(colander.SchemaType):
    """A list of one kind of value; with `unique`, no value twice."""

    def __init__(self, item: Any, high: int = 1000, *, low: int = 0, unique: bool = False):
        self.item = item
        self.low, self.high, self.unique = low, high, unique

    def deserialize(self, node: colander.SchemaNode, cstruct: Any) -> Any:
        if cstruct is colander.null:
            return colander.null
        if not isinstance(cstruct, list):
            raise colander.Invalid(node, "must be a list")
        if not self.low <= len(cstruct) <= self.high:
            raise colander.Invalid(node, f"must have {self.low} to {self.high} entries")
        values = _collect(node, ((str(n), self.item, value) for n, value in enumerate(cstruct)))
        result = [values[str(n)] for n in range(len(cstruct))]
        if self.unique and any(value in result[:n] for n, value in enumerate(result)):
            raise colander.Invalid(node, "has an entry twice")
        return result


class MapOf(colander.SchemaType):
    """An object of free names to one kind of value."""

    def __init__(self, item: Any, high: int = 1000, key: Text | None = None):
        self.item = item
        self.high = high
        self.key = key or Text(1, 200)

    def deserialize(self, node: colander.SchemaNode, cstruct: Any) -> Any:
        if cstruct is colander.null:
            return colander.null
        if not isinstance(cstruct, dict):
            raise colander.Invalid(node, "must be an object")
        if len(cstruct) > self.high:
            raise colander.Invalid(node, f"must have at most {self.high} entries")
        for name in cstruct:
            problem = self.key.problem(name)
            if problem:
                raise colander.Invalid(node, f"the name {name[:40]!a} {problem}")
        return _collect(node, ((name, self.item, value) for name, value in cstruct.items()))


class StrictMapping(colander.Mapping):
    """An object with known keys. null counts as missing, unless the key's type is Nullable."""

    def deserialize(self, node: colander.SchemaNode, cstruct: Any) -> Any:
        if cstruct is colander.null:
            return colander.null
        if not isinstance(cstruct, dict):
            raise colander.Invalid(node, "must be an object")
        known = {child.name: child for child in node.children}
        rows = [(name, child, cstruct.get(name, colander.null)) for name, child in known.items()]
        unknown = [name for name in cstruct if name not in known]
        return _collect(node, rows, getattr(node, "across", None), unknown)


def _collect(
    node: colander.SchemaNode,
    rows: Iterable[tuple[str, colander.SchemaNode, Any]],
    across: Callable[[dict[str, Any]], dict[str, str]] | None = None,
    unknown: Iterable[str] = (),
) -> dict[str, Any]:
    """Every row's value by name; all that is wrong in one Invalid, which has the other values as `sound` and the names
    that the schema does not have as `unknown`. One node serves every entry of a list: a copy for each is what made a
    megabyte of entries cost seconds."""
    values: dict[str, Any] = {}
    wrong = colander.Invalid(node)
    for name, child, value in rows:
        try:
            answer = child.deserialize(colander.null if value is None and not takes_null(child) else value)
        except colander.Invalid as problem:
            problem.field = name
            wrong.add(problem)
        else:
            if answer is not colander.drop:
                values[name] = answer
    _add(wrong, across(values) if across else {})
    wrong.unknown = list(unknown)
    if wrong.children or wrong.unknown:
        wrong.sound = values
        raise wrong
    return values


def _add(wrong: colander.Invalid, problems: dict[str, str]) -> None:
    """Mistakes by path, where no other is known in that place."""
    known = {_name_of(child) for child in wrong.children}
    for path, text in problems.items():
        first, *others = path.split(".")
        if first not in known:
            problem = colander.Invalid(colander.SchemaNode(Anything(), name=[first, *others][-1]), text)
            for name in reversed([first, *others][:-1]):
                outer = colander.Invalid(colander.SchemaNode(Anything(), name=name))
                outer.add(problem)
                problem = outer
            wrong.add(problem)


def takes_null(node: colander.SchemaNode) -> bool:
    """Whether null is a value here, and not the same as nothing."""
    return isinstance(node.typ, Nullable | Scalar | Anything)


def fields_of(problem: colander.Invalid) -> dict[str, str]:
    """Every wrong field by its dotted path."""
    problems: dict[str, str] = {}
    _gather(problem, "", problems)
    return problems


def _gather(problem: colander.Invalid, path: str, problems: dict[str, str]) -> None:
    if problem.msg is not None:
        problems[path] = "; ".join(str(text) for text in problem.messages()).replace("Required", "is required")
    before = f"{path}." if path else ""
    for child in problem.children:
        _gather(child, before + _name_of(child), problems)
    problems.update((before + name, "is not known here") for name in getattr(problem, "unknown", ()))


def _name_of(problem: colander.Invalid) -> str:
    """The field that is wrong: what `_collect` calls it, else what its schema does."""
    return getattr(problem, "field", problem.node.name)
