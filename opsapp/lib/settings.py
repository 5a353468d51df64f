"""What may stand in a section of the YAML file, said in the annotations of a frozen dataclass.

    @dataclass(frozen=True)
    class Retry:
        first_s: Annotated[float, Between(0.05, 3600)] = 5

`web.sections` makes the schema from it. A type without a mark (`bool`, `Literal`, another section) needs none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Between(NamedTuple):
    """A number: the lowest and the highest."""

    low: Any
    high: Any


class Length(NamedTuple):
    """A string: how many characters it may have, and what it must look like."""

    low: int
    high: int
    pattern: str | None = None
    example: str | None = None


class Most(NamedTuple):
    """A list: how many entries it may have."""

    entries: int


class SchemaAt(NamedTuple):
    """What an annotation cannot say, because this file must not import schemas: the dotted name of a schema's class."""

    dotted: str


class CheckedBy(NamedTuple):
    """A function that answers what is wrong with a value, or None. It is not asked about null."""

    problem: Callable[[Any], str | None]
