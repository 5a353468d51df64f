"""/api/healing over the resources and the engine. One file per kind of thing; what all of them need is here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyramid.request import Request

WORST_FIRST = ("critical", "error", "warning", "info")


def page(request: Request, rows: Sequence[Any]) -> list[Any]:
    """The part of a list that the query asks for, and how many there are."""
    query = request.valid_query
    request.response.headers["X-Total-Count"] = str(len(rows))
    stop = None if query["limit"] is None else query["offset"] + query["limit"]
    return list(rows[query["offset"] : stop])
