"""A page of a list that is at hand, its order, and how long the whole is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pyramid.request import Request

R = TypeVar("R")


def page_of(request: Request, rows: Sequence[Any], most: int | None = None) -> list[Any]:
    """The page of rows by `limit` and `offset`; `X-Total-Count` counts all. `most`: where no limit is given, of a list
    that grows with the years."""
    return counted(request, list(rows[slice_of(request, most)]), len(rows))


def counted(request: Request, page: list[R], count: int) -> list[R]:
    request.response.headers["X-Total-Count"] = str(count)
    return page


def in_order(rows: Sequence[R], sort: str | None, ranks: Mapping[str, Sequence[str]] = {}) -> Sequence[R]:
    """The rows by the field that `sort` names. What has no value stands last, either way round. `ranks`: the order of
    fields that are neither numbers nor names."""
    if sort is None:
        return rows
    name, backward = sort.removeprefix("-"), sort.startswith("-")

    def value_of(row: Any) -> Any:
        return row[name] if isinstance(row, Mapping) else getattr(row, name)

    def place(row: R) -> Any:
        value = value_of(row)
        if name in ranks:
            return ranks[name].index(value)
        return value.casefold() if isinstance(value, str) else value

    known = [row for row in rows if value_of(row) not in (None, "")]
    return sorted(known, key=place, reverse=backward) + [row for row in rows if value_of(row) in (None, "")]


def slice_of(request: Request, most: int | None = None) -> slice:
    limit, offset = request.valid_query["limit"] or most, request.valid_query["offset"]
    return slice(offset, None if limit is None else offset + limit)
