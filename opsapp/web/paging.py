"""A page of a list that is at hand, and the header that says how long the whole is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyramid.request import Request


def page_of(request: Request, rows: Sequence[Any]) -> list[Any]:
    """What `limit` and `offset` of the query (`fields.Paging`) choose; `X-Total-Count` counts all."""
    request.response.headers["X-Total-Count"] = str(len(rows))
    return list(rows[slice_of(request)])


def slice_of(request: Request) -> slice:
    """The rows of the page."""
    limit, offset = request.valid_query["limit"], request.valid_query["offset"]
    return slice(offset, None if limit is None else offset + limit)
