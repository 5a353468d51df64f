"""Who reads a page, and how it is to be told. `shapes` make their words from it. Must not: know a request."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from typing import Any, Generic, NamedTuple, TypeVar, get_args, get_origin, overload
from urllib.parse import urlencode
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from opsapp.wire.records import made

T = TypeVar("T")
UTC = "UTC"
MOST_IDS = 100  # that a list is asked for at once
NO_ID = "none"  # a list that is asked for it has no row
_LIKE_ID = re.compile("[a-z0-9]{1,64}")


class Reader(NamedTuple):
    """`query` is what the address asks for; `may` says whether the API would take a call like "POST /api/…/{id}"."""

    now: float
    zone: str
    username: str
    role: str
    query: Mapping[str, str]
    may: Callable[[str], bool]
    given: Mapping[str, str] = {}  # what is filled in and not saved, on a page that is a draft
    wrong: Mapping[str, str] = {}  # what the API says is wrong with it, by its field
    service_zone: str = UTC
    problem: str = ""  # why it was not done, in a sentence
    traced: bool = False  # spans go to a collector: pages say under which id
    limited: bool = False  # in a team: of a page only what keeps within what the team may see is shown

    def asked(self, name: str) -> str:
        """What the address asks for by this name; "" where it says nothing."""
        return self.query.get(name, "")

    def asks(self, *names: str) -> bool:
        """Whether the address asks for any of these."""
        return any(map(self.asked, names))


class AnswerOf(str, Generic[T]):
    """The name of a part with the class of its answer: `answers[HOSTS]` is that. `builder.show` refuses another."""

    of: type[T]

    def __new__(cls, name: str, of: type[T]) -> AnswerOf[T]:
        told = super().__new__(cls, name)
        told.of = of
        return told

    def check(self, value: object) -> None:
        rows = get_args(self.of)
        if not isinstance(value, get_origin(self.of) or self.of):
            raise TypeError(f"{self} is {type(value)}, and not {self.of}")
        if isinstance(value, list) and not all(isinstance(row, rows) for row in value[:1]):
            raise TypeError(f"{self} has {type(value[0])}, and not {rows}")

    def read(self, value: Any) -> Any:
        return value


class ReadAs(AnswerOf[T]):
    def read(self, value: Any) -> Any:
        rows = get_args(self.of)
        return [made(rows[0], row) for row in value] if rows else made(self.of, value)


class Answers(dict[str, Any]):
    """The answers by the names of the parts. A list that was left out has no rows; `known` says whether something else
    was."""

    @overload
    def __getitem__(self, part: AnswerOf[T], /) -> T: ...
    @overload
    def __getitem__(self, part: str, /) -> Any: ...
    def __getitem__(self, part: Any, /) -> Any:
        value = super().__getitem__(part)
        if value is not None or not isinstance(part, AnswerOf):
            return value
        if get_origin(part.of) is not list:
            raise LookupError(f"{part} was left out")
        return []

    def known(self, part: AnswerOf[T]) -> T | None:
        """None where the part was left out."""
        value: T | None = self.get(part)
        return value


TemplateValues = dict[str, object]
Shape = Callable[[Answers, Reader], TemplateValues]


def merged(*shapes: Shape) -> Shape:

    def shape(answers: Answers, reader: Reader) -> TemplateValues:
        return {name: value for part in shapes for name, value in part(answers, reader).items()}

    return shape


BEFORE = "before"
# Of an address: what is said once, or depends on the rest.
PASSING = ("said", "failed", "undo", "pick", BEFORE)
OFFSET = "offset"  # so begins the name of where the page of a list begins


def query_with(query: Mapping[str, str], **changes: object) -> str:
    """The query of the same list with something else asked of it; "" where nothing is."""
    kept = {name: text for name, text in query.items() if text and name not in PASSING and not name.startswith(OFFSET)}
    return urlencode({name: value for name, value in (kept | changes).items() if value not in (None, "")})


def with_query(path: str, query: str) -> str:
    return f"{path}?{query}" if query else path


def dig(value: Any, field: str) -> Any:
    """What stands there in an answer, whether that is a declared record or not declared yet."""
    for step in field.split("."):
        value = (
            value.get(step) if isinstance(value, dict) else getattr(value, step, None) if is_dataclass(value) else None
        )
    return value


def rows_named(ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The query for these rows alone, where each of `ids` may be the id of one."""
    wanted = sorted({name for name in ids if _LIKE_ID.fullmatch(name)})
    return {"ids": tuple(wanted[:MOST_IDS]) or (NO_ID,)}


def known_zone(name: str | None) -> str:
    """The zone if it is known, else UTC. The name comes from a browser."""
    try:
        return name if name and len(name) < 65 and ZoneInfo(name) else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC
