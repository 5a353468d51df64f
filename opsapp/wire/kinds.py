"""Kinds of JSON values: what each may be, what is said of one that is not, and how the API document says it.

Must not: know a declaration (`records`), coerce (`"7"`, `true` and 1.9 are not integers), stop at the first mistake.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, NamedTuple

from .dataclass import dataclass

Wrong = dict[str, str]  # what is wrong, by dotted path
DEEPEST = 50
FARTHEST = sys.float_info.max
REQUIRED: Any = object()  # as a default: there is none
LEFT_OUT: Any = object()  # as a default: what is left out stays out
ABSENT: Any = object()  # as a value: there is none
_LONE = re.compile("[\ud800-\udfff]")


class JsonKind:
    openapi: Any = {}
    default: Any = REQUIRED
    takes_null = False

    def problem(self, value: Any) -> str | None:
        raise NotImplementedError

    def read(self, value: Any, path: str, wrong: Wrong) -> Any:
        """The value as it is kept; what is wrong with it goes to `wrong`, under its path."""
        problem = self.problem(value)
        if problem:
            wrong[path] = problem
        return value

    def beside(self, _values: Mapping[str, Any]) -> JsonKind:
        """One of these values of the same object may say what kind another is (`ByField`)."""
        return self

    def made(self, value: Any) -> Any:
        """The value of a declared record's field, from JSON that was checked."""
        return value

    def plain(self, value: Any) -> Any:
        """The JSON of a declared record's field."""
        return value

    def plain_rows(self, values: Any) -> list[Any]:
        return list(map(self.plain, values))

    @property
    def rewrites(self) -> bool:
        """Whether JSON is anything but what a declared record has."""
        return type(self).plain is not JsonKind.plain

    @property
    def is_encoded(self) -> bool:
        """Whether an encoder of JSON takes what a declared record has."""
        return not self.rewrites

    @property
    def rebuilds(self) -> bool:
        """Whether a declared record has it otherwise than it was read."""
        own = type(self)
        return own.made is not JsonKind.made or own.beside is not JsonKind.beside


class CheckedBy(NamedTuple):
    """A mark: a function that answers what is wrong with a value, or None. It is not asked about null."""

    problem: Callable[[Any], str | None]


class DeclaredField(NamedTuple):
    """`attribute`: the name of the record's field. A node of colander (`web.strict`) is as good."""

    name: str
    kind: JsonKind
    null: bool = False
    default: Any = REQUIRED
    marks: tuple[Any, ...] = ()
    attribute: str = ""

    def mark(self, of: type) -> Any:
        return next((mark for mark in self.marks if isinstance(mark, of)), None)

    def problem(self, value: Any) -> str | None:
        checks = (mark.problem(value) for mark in self.marks if isinstance(mark, CheckedBy) and value is not None)
        return next(filter(None, checks), None)


def below(path: str, name: str) -> str:
    return f"{path}.{name}" if path and name else path or name


def takes_null(entry: DeclaredField) -> bool:
    return entry.null or entry.kind.takes_null


def read_entry(entry: DeclaredField, value: Any, path: str, wrong: Wrong) -> Any:
    """null counts as left out, unless it is a value here. `wrong` is empty before."""
    if value is ABSENT or (value is None and not takes_null(entry)):
        if entry.default is not REQUIRED:
            return entry.default
        wrong[path] = "is required"
        return LEFT_OUT
    read = None if value is None else entry.kind.read(value, path, wrong)
    problem = None if wrong else entry.problem(read)
    if problem:
        wrong[path] = problem
    return read


def _read_all(rows: Iterable[tuple[str, DeclaredField, Any]], path: str, wrong: Wrong) -> dict[str, object]:
    """Read the entries, and keep only what is sound. One entry serves every value of a list."""
    values: dict[str, object] = {}
    mistakes: Wrong = {}
    stem = path and path + "."
    for name, entry, value in rows:
        read = read_entry(entry, value, stem + name, mistakes)
        if mistakes:
            wrong.update(mistakes)
            mistakes.clear()
        elif read is not LEFT_OUT:
            values[name] = read
    return values


class Text(JsonKind):
    """No NUL, no lone surrogates. One that does not match `pattern` is told what it `must` do, or should look like."""

    def __init__(
        self,
        low: int = 0,
        high: int = 1000,
        pattern: str | None = None,
        example: str | None = None,
        must: str | None = None,
    ):
        self.low, self.high, self.example = low, high, example
        self.form = f"must {must}" if must else f"must look like {example}" if example else "has the wrong form"
        self.pattern = re.compile(pattern) if pattern else None
        self.openapi = {"type": "string", "minLength": low, "maxLength": high}
        if pattern:
            self.openapi["pattern"] = f"^(?:{pattern})$"  # JSON Schema searches; this matches the whole

    def problem(self, value: Any) -> str | None:
        if not isinstance(value, str):
            return "must be a string"
        if not self.low <= len(value) <= self.high:
            return f"must have {self.low} to {self.high} characters"
        if "\0" in value or _LONE.search(value):
            return "has characters that are not allowed"
        return self.form if self.pattern and not self.pattern.fullmatch(value) else None


class Number(JsonKind):
    name, noun, farthest = "number", "a number", FARTHEST
    types: Any = (int, float)

    def __init__(self, low: float | None = None, high: float | None = None):
        self.low, self.high = low, high
        bounds = {"minimum": low, "maximum": high}
        self.openapi = {"type": self.name, **{name: bound for name, bound in bounds.items() if bound is not None}}

    def problem(self, value: Any) -> str | None:
        if isinstance(value, bool) or not isinstance(value, self.types):
            return f"must be {self.noun}"
        if not -self.farthest <= value <= self.farthest:  # infinity, NaN, and integers that no float can hold
            return "must be a finite number"
        low, high = self.low, self.high
        if (low is None or value >= low) and (high is None or value <= high):
            return None
        if high is None:
            return f"must be at least {low}"
        return f"must be at most {high}" if low is None else f"must be {low} to {high}"


class Whole(Number):
    """What a record knows more exactly is written without fractions."""

    name, noun, types, farthest = "integer", "an integer", (int,), float("inf")

    def plain(self, value: Any) -> Any:
        return int(value)


class Flag(JsonKind):
    openapi = {"type": "boolean"}

    def problem(self, value: Any) -> str | None:
        return None if isinstance(value, bool) else "must be true or false"


class Choice(JsonKind):
    def __init__(self, *choices: str):
        self.choices = choices
        self.openapi = {"type": "string", "enum": list(choices)}

    def problem(self, value: Any) -> str | None:
        return None if isinstance(value, str) and value in self.choices else "must be one of " + ", ".join(self.choices)


class Anything(JsonKind):
    """Any JSON value that can be stored and sent back; checked elsewhere."""

    takes_null = True

    def problem(self, value: Any) -> str | None:
        return _unsound(value, DEEPEST)


class Scalar(JsonKind):
    openapi = {"type": ["string", "number", "boolean", "null"]}
    takes_null = True

    def problem(self, value: Any) -> str | None:
        return "must not be a list or an object" if isinstance(value, (list, dict)) else _unsound(value, 0)


def _unsound(value: Any, levels: int) -> str | None:
    """What would break whoever writes this value as JSON again."""
    if isinstance(value, str):
        return "has characters that are not allowed" if _LONE.search(value) else None
    if not isinstance(value, (dict, list)):
        too_far = isinstance(value, (int, float)) and not -FARTHEST <= value <= FARTHEST
        return "is no number that can be kept" if too_far else None
    if not levels:
        return "is nested too deeply"
    parts = [*value, *value.values()] if isinstance(value, dict) else value
    return next((wrong for part in parts if (wrong := _unsound(part, levels - 1))), None)


@dataclass(eq=False)
class ListOf(JsonKind):
    """A list of one kind; with `unique`, no value twice. None stands for an entry that is wrong."""

    item: DeclaredField
    high: int = 1000
    low: int = 0
    unique: bool = False

    def read(self, value: Any, path: str, wrong: Wrong) -> Any:
        if not isinstance(value, (list, tuple)):  # a tuple was read before
            wrong[path] = "must be a list"
        elif not self.low <= len(value) <= self.high:
            wrong[path] = f"must have {self.low} to {self.high} entries"
        else:
            rows = ((str(n), self.item, entry) for n, entry in enumerate(value))
            sound = _read_all(rows, path, wrong)
            values = [sound.get(str(n)) for n in range(len(value))]
            if self.unique and not wrong and any(entry in values[:n] for n, entry in enumerate(values)):
                wrong[path] = "has an entry twice"
            return values
        return []

    @property
    def is_encoded(self) -> bool:
        return not self.item.kind.rewrites  # a tuple is written as a list

    def made(self, value: Any) -> Any:
        return tuple(map(self.item.kind.made, value)) if self.item.kind.rebuilds else tuple(value)

    def plain(self, value: Any) -> Any:
        return self.item.kind.plain_rows(value) if self.item.kind.rewrites else list(value)


ANY_NAME = Text(1, 200)


@dataclass(eq=False)
class MapOf(JsonKind):
    """An object of free names to one kind of value."""

    item: DeclaredField
    high: int = 1000
    key: Any = ANY_NAME  # a `Text`

    def read(self, value: Any, path: str, wrong: Wrong) -> Any:
        if not isinstance(value, dict):
            wrong[path] = "must be an object"
        elif len(value) > self.high:
            wrong[path] = f"must have at most {self.high} entries"
        else:
            names = ((name, self.key.problem(name)) for name in value)
            problem = next((f"the name {name[:40]!a} {problem}" for name, problem in names if problem), None)
            if problem is None:
                return _read_all(((name, self.item, entry) for name, entry in value.items()), path, wrong)
            wrong[path] = problem
        return value

    @property
    def rewrites(self) -> bool:
        return self.item.kind.rewrites

    @property
    def rebuilds(self) -> bool:
        return self.item.kind.rebuilds

    def made(self, value: Any) -> Any:
        return {name: self.item.kind.made(entry) for name, entry in value.items()}

    def plain(self, value: Any) -> Any:
        return {name: self.item.kind.plain(entry) for name, entry in value.items()}


class ByField(MapOf):
    """`field` beside it says which of these it is. As long as that says nothing sound it is an object of free names:
    whoever knows reads it again."""

    def __init__(self, field: str, choices: Mapping[str, JsonKind]):
        super().__init__(DeclaredField("", Anything()))
        self.field, self.choices = field, choices

    rewrites = rebuilds = True  # it depends

    def beside(self, values: Mapping[str, Any]) -> JsonKind:
        return self.choices.get(values.get(self.field, ""), self)


def _says(value: Any, entry: DeclaredField) -> bool:
    """Whether a change says something of this field."""
    said = value.get(entry.name, ABSENT)
    return said is not ABSENT and (said is not None or takes_null(entry) or entry.default is None)


@dataclass(eq=False)
class Object(JsonKind):
    """Its owner's static method `across` says what no single field shows, by path: it is asked about the values that
    are sound by themselves, so any may be missing. `partial`: what is left out keeps its value, and null, where it
    means nothing of its own, counts as left out. `ignored`: names that may come back, as they were answered, and mean
    nothing."""

    owner: Any  # the class that declares it, if one does
    entries: Sequence[DeclaredField]
    partial: bool = False
    ignored: frozenset[str] = frozenset()

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(entry.name for entry in self.entries)

    @property
    def default(self) -> Any:
        """The defaults of its fields, if all have one."""
        whole = all(entry.default is not REQUIRED for entry in self.entries)
        return self.read({}, "", {}) if whole else REQUIRED

    def read(self, value: Any, path: str, wrong: Wrong) -> Any:
        if not isinstance(value, dict):
            wrong[path] = "must be an object"
            return {}
        entries = [entry for entry in self.entries if not self.partial or _says(value, entry)]
        values = _read_all(((entry.name, entry, value.get(entry.name, ABSENT)) for entry in entries), path, wrong)
        self._read_by_fields(values, path, wrong)
        across = getattr(self.owner, "across", None)
        known = {name[len(path) + bool(path) :].partition(".")[0] for name in wrong}
        for name, text in (across(values) if across else {}).items():
            if name.partition(".")[0] not in known:  # no other mistake is known in that place
                wrong[below(path, name)] = text
        strangers = (name for name in value if name not in self.names and name not in self.ignored)
        wrong.update({below(path, name): "is not known here" for name in strangers})
        return values

    def _read_by_fields(self, values: dict[str, object], path: str, wrong: Wrong) -> None:
        """Read each field by itself; with mistakes it stays as it was sent, for whoever tells more of it."""
        for entry in self.entries:
            kind = entry.kind.beside(values)
            if kind is not entry.kind and entry.name in values:
                mistakes: Wrong = {}
                read = kind.read(values[entry.name], below(path, entry.name), mistakes)
                values[entry.name] = values[entry.name] if mistakes else read
                wrong.update(mistakes)


AnyValues = Annotated[dict[str, Any], MapOf(DeclaredField("", Anything()))]  # an object that is checked elsewhere
