"""What is read of another program's file: declared records (`wire.records`).

Other programs are not strict (a number may be a text, a flag 1), so these kinds take what they can make sense of.
`retryInterval` and `query-name` are `retry_interval` and `query_name`. Must not: know any program.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, TypeVar

from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import LEFT_OUT, Anything, JsonKind, Wrong
from opsapp.wire.records import DeclaredObject, Most, ReadOnly, made


class NotImported(ValueError):
    """This entry has no counterpart here; the text says why."""


class LooseKind(JsonKind):
    """What a function makes of a value, if it can."""

    def __init__(self, make: Callable[[Any], object]):
        self.make = make

    def read(self, value: Any, path: str, wrong: Wrong) -> Any:
        try:
            return self.make(value)
        except (TypeError, ValueError, AttributeError, OverflowError) as problem:
            wrong[path] = str(problem)
            return None


class LooseNumber(LooseKind):
    """`read_leniently` does without one that is no number."""


def json_value(text: Any) -> Any:
    """`200` and `true` as JSON has them, any other text as it is."""
    try:
        return json.loads(text) if isinstance(text, str) else text
    except ValueError:
        return text


Word = Annotated[str, LooseKind(lambda value: str(value or ""))]
Label = Annotated[str, LooseKind(str)]
Switch = Annotated[bool, LooseKind(bool)]


def _finite(value: Any) -> float:
    number = float(value or 0)
    if not math.isfinite(number):
        raise ValueError("is no number of anything")
    return number


Number = Annotated[int | None, LooseNumber(lambda value: None if value == "" else int(value))]
Figure = Annotated[int, LooseNumber(lambda value: int(value or 0))]
Measure = Annotated[float, LooseNumber(_finite)]
Json = Annotated[Any, LooseKind(json_value)]  # a value, or a text that says one
AsItIs = Annotated[Any, Anything()]
MANY = Most(100_000)
Labels = Annotated[tuple[Label, ...] | None, MANY]


@frozen(kw_only=True)
class ForeignRecord:
    """`besides`: the names of what nobody here reads and that says something. `doubts`: what should have been numbers,
    each as people read it:
    its name, a space, and what stood there."""

    besides: Annotated[tuple[str, ...], ReadOnly()] = ()
    doubts: Annotated[tuple[str, ...], ReadOnly()] = ()


R = TypeVar("R", bound=ForeignRecord)


class PartOf(LooseKind):
    """A record in a record; what is left out is as its field says."""

    default = LEFT_OUT

    def __init__(self, record: type[ForeignRecord]):
        super().__init__(lambda value: read(record, value))


def read(record: type[R], given: Any) -> R:
    """The record of what is known of it; NotImported, with all that makes no sense."""
    if not isinstance(given, dict):
        raise NotImported("it is no object")
    of: Any = record
    kind, wrong = _kind_of(of), Wrong()
    named = {_as_python(str(name)): value for name, value in given.items()}
    values = kind.read({name: value for name, value in named.items() if name in kind.names}, "", wrong)
    if wrong:
        raise NotImported("it cannot be understood: " + "; ".join(f"{name} {text}" for name, text in wrong.items()))
    said = (str(name) for name, value in given.items() if value not in (None, "", [], {}))
    return replace(made(record, values), besides=tuple(sorted(n for n in said if _as_python(n) not in kind.names)))


def read_leniently(record: type[R], given: Any) -> R:
    """Read as `read` does; what should be a number and is none counts as left out, and stands in `doubts`."""
    try:
        return read(record, given)
    except NotImported:
        odd = {name: str(value) for name, value in _odd_numbers(record, given)}
        if not odd:
            raise
    sound = {name: value for name, value in given.items() if str(name) not in odd}
    return replace(read(record, sound), doubts=tuple(f"{name} {text[:40]!r}" for name, text in odd.items()))


def _odd_numbers(record: Any, given: Any) -> Iterator[tuple[str, object]]:
    numbers = {entry.name: entry for entry in _kind_of(record).entries if isinstance(entry.kind, LooseNumber)}
    for name, value in given.items() if isinstance(given, dict) else ():
        entry, wrong = numbers.get(_as_python(str(name))), Wrong()
        if entry is not None and value is not None:
            entry.kind.read(value, "", wrong)
        if wrong:
            yield str(name), value


@cache
def _kind_of(record: Any) -> DeclaredObject:
    return DeclaredObject(record)


def _as_python(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().replace("-", "_")


def note_besides(record: ForeignRecord, notes: list[str]) -> None:
    if record.besides:
        notes.append(f"not taken of it: {', '.join(record.besides)}")


def named(entry: Any) -> str:
    """What the report calls an entry that may be anything."""
    name = entry.get("name") if isinstance(entry, dict) else entry
    return str(name or "without a name")
