"""Answers that mean the same in every room."""

from __future__ import annotations

from typing import Literal

from opsapp.wire.dataclass import frozen

from .fields import Body, Query, anything, list_of, map_of, text, whole


@frozen
class Created:
    id: str
    status: Literal["created"] = "created"


@frozen
class Updated:
    status: Literal["updated"] = "updated"


@frozen
class Deleted:
    status: Literal["deleted"] = "deleted"


class ArchiveQuery(Query):
    """`after` is what the page before has named; the first page is asked for without it."""

    after = text(0, 100, default="")


class ArchiveAnswer(Body):
    """`about`, of the first page, is what is needed to check the rows; `unreadable` ones are left out."""

    rows = list_of(map_of(anything()))
    after = text(null=True)
    unreadable = whole()
    about = map_of(anything())
