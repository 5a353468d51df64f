"""Queries and smaller answers of both families."""

from __future__ import annotations

from typing import Annotated, Literal

from opsapp.lib.queries import PageQuery
from opsapp.wire.dataclass import dataclass
from opsapp.wire.kinds import Text
from opsapp.wire.records import Most


@dataclass(frozen=True)
class WindowEnded:
    status: Literal["deleted", "ended"]


@dataclass(frozen=True)
class WindowQuery(PageQuery):
    active: bool | None = None


@dataclass(frozen=True)
class CoverageQuery:
    scope: Annotated[tuple[Annotated[str, Text(1, 255)], ...] | None, Most(1000)] = None
