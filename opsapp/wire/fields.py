"""Strict checks for values that come from outside: types, bounds, and one error that names every wrong field.

Must not: know any message; coerce ("7" is no integer, true is no number).
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Callable, Dict, List, NamedTuple, Optional

Check = Callable[[Any], Any]
JsonObject = Dict[str, Any]  # a document on its way in or out: parameters, a report, the state in a snapshot, a frame
MAX_DEPTH = 16
MAX_INT_DIGITS = 19


class WireError(ValueError):
    """`code` is stable, `fields` names what is wrong."""

    def __init__(self, message: str, code: str = "invalid", fields: Optional[Dict[str, str]] = None):
        super().__init__(message)
        self.code = code
        self.fields = fields or {}


class FieldProblem(ValueError):
    """What one check says; `record` collects them into a WireError."""


class WireField(NamedTuple):
    check: Check
    required: bool = False
    default: Any = None

    def describe(self) -> JsonObject:
        """The field as listings describe it."""
        return {**getattr(self.check, "told", {}), "required": self.required, "default": self.default}


def need(check: Check) -> WireField:
    return WireField(check, True)


def may(check: Check, default: Any = None) -> WireField:
    """A field that may be left out or null."""
    return WireField(check, False, default)


def _telling(check: Check, kind: str, **bounds: Any) -> Check:
    told = {"type": kind, **{name: value for name, value in bounds.items() if value is not None}}
    setattr(check, "told", told)  # noqa: B010 (a function has no such attribute for the type checker)
    return check


def text(
    limit: int = 255,
    low: int = 0,
    pattern: Optional[str] = None,
    nul: bool = False,
    also: Callable[[str], Optional[str]] = lambda value: None,
) -> Check:
    """`also` says what else is wrong with a text that is right so far, or None."""
    matcher = re.compile(pattern) if pattern else None

    def check(value: Any) -> str:
        if not isinstance(value, str):
            raise FieldProblem("must be text")
        if len(value) > limit:
            raise FieldProblem(f"must have at most {limit} characters")
        if len(value) < low:
            raise FieldProblem(f"must have at least {low} characters")
        if not nul and "\0" in value:
            raise FieldProblem("must not contain NUL")
        _encodable(value)
        if matcher and not matcher.fullmatch(value):
            raise FieldProblem("has characters or a form that are not allowed here")
        wrong = also(value)
        if wrong:
            raise FieldProblem(wrong)
        return value

    return _telling(check, "string", max_length=limit, pattern=pattern)


def integer(low: int = -(2**63), high: int = 2**63 - 1) -> Check:
    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise FieldProblem("must be an integer")
        if not low <= value <= high:
            raise FieldProblem(f"must be between {low} and {high}")
        return value

    return _telling(check, "integer", minimum=low, maximum=high)


def number(low: float = -1e300, high: float = 1e300) -> Check:
    def check(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise FieldProblem("must be a number")
        if isinstance(value, float) and not math.isfinite(value):
            raise FieldProblem("must be a finite number")
        if not low <= value <= high:
            raise FieldProblem(f"must be between {low:g} and {high:g}")
        return value

    return _telling(check, "number", minimum=low, maximum=high)


def boolean() -> Check:
    def check(value: Any) -> bool:
        if not isinstance(value, bool):
            raise FieldProblem("must be true or false")
        return value

    return _telling(check, "boolean")


def choice(*values: str) -> Check:
    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in values:
            raise FieldProblem("must be one of " + ", ".join(values))
        return value

    return _telling(check, "string", choices=list(values))


def listing(item: Check, limit: int) -> Check:
    def check(value: Any) -> List[Any]:
        if not isinstance(value, list):
            raise FieldProblem("must be a list")
        if len(value) > limit:
            raise FieldProblem(f"must have at most {limit} entries")
        return [_at(index, item, entry) for index, entry in enumerate(value)]

    return _telling(check, "array", items=getattr(item, "told", None))


def mapping(item: Check, limit: int, key: Optional[Check] = None, sparse: bool = False) -> Check:
    """`sparse`: an entry that is null is one that is not there."""
    key = key or text(255, low=1)

    def check(value: Any) -> JsonObject:
        if not isinstance(value, dict):
            raise FieldProblem("must be an object")
        if len(value) > limit:
            raise FieldProblem(f"must have at most {limit} entries")
        present = {name: entry for name, entry in value.items() if not (sparse and entry is None)}
        return {_at("key", key, name): _at(name, item, entry) for name, entry in present.items()}

    return check


def json_value(limit: int = 65536) -> Check:
    """A check for what is passed through, bounded in size and depth."""

    def check(value: Any) -> Any:
        _walk(value, 0)
        if len(dumps(value)) > limit:
            raise FieldProblem(f"is larger than {limit} bytes")
        return value

    return check


def json_object(limit: int = 65536) -> Check:
    whole = json_value(limit)

    def check(value: Any) -> JsonObject:
        if not isinstance(value, dict):
            raise FieldProblem("must be an object")
        return whole(value)

    return _telling(check, "object")


def nested(fields: Dict[str, WireField], unknown: str = "ignore") -> Check:
    def check(value: Any) -> JsonObject:
        try:
            return record(value, fields, unknown)
        except WireError as error:
            inside = "; ".join(f"{name} {message}" for name, message in error.fields.items())
            raise FieldProblem(inside or str(error)) from None

    return _telling(check, "object", properties={name: field.describe() for name, field in fields.items()})


def record(value: Any, fields: Dict[str, WireField], unknown: str = "ignore", what: str = "message") -> JsonObject:
    """The validated copy, defaults filled in; a WireError names every wrong field at once."""
    if not isinstance(value, dict):
        raise WireError(f"{what} must be an object", "not_an_object")
    clean: JsonObject = {}
    wrong: Dict[str, str] = {}
    for name, field in fields.items():
        given = value.get(name)
        if given is None:
            if field.required:
                wrong[name] = "is required"
            else:
                clean[name] = field.default
            continue
        try:
            clean[name] = field.check(given)
        except FieldProblem as problem:
            wrong[name] = str(problem)
    if unknown == "refuse":
        wrong.update({_printable(name): "is not known" for name in value if name not in fields})
    if wrong:
        listed = "; ".join(f"{name} {message}" for name, message in list(wrong.items())[:8])
        raise WireError(f"{what}: {listed}", "invalid", wrong)
    return clean


def loads(data: Any) -> Any:
    """Parse JSON without NaN, endless digits or bottomless nesting; WireError instead of anything else."""
    try:
        return json.loads(data, parse_constant=_refuse_constant, parse_int=_bounded_int)
    except WireError:
        raise
    except (ValueError, RecursionError) as error:
        raise WireError(f"not JSON: {type(error).__name__}", "not_json") from None


def dumps(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8")


def _at(where: Any, check: Check, value: Any) -> Any:
    try:
        return check(value)
    except FieldProblem as problem:
        raise FieldProblem(f"[{_printable(where)}] {problem}") from None


def _printable(name: Any) -> str:
    return str(name).encode("utf-8", "replace").decode("utf-8")[:80]


def _encodable(value: str) -> None:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise FieldProblem("is not valid Unicode text") from None


def _walk(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise FieldProblem(f"is nested deeper than {MAX_DEPTH}")
    if isinstance(value, str):
        _encodable(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise FieldProblem("must not contain NaN or infinity")
    elif isinstance(value, dict):
        for name, entry in value.items():
            if not isinstance(name, str):
                raise FieldProblem("must have text keys")
            _encodable(name)
            _walk(entry, depth + 1)
    elif isinstance(value, list):
        for entry in value:
            _walk(entry, depth + 1)
    elif value is not None and not isinstance(value, (bool, int, float)):
        raise FieldProblem("must be plain JSON")


def _refuse_constant(name: str) -> Any:
    raise WireError(f"{name} is not allowed", "not_json")


def _bounded_int(digits: str) -> int:
    if len(digits) > MAX_INT_DIGITS + 1:
        raise WireError("a number has too many digits", "not_json")
    return int(digits)
