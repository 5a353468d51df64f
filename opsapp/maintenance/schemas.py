"""Queries and smaller answers of both families."""

from __future__ import annotations

from typing import Annotated, Literal

from opsapp.lib.queries import PageQuery
from opsapp.wire.dataclass import dataclass
from opsapp.wire.kinds import Choice, Text
from opsapp.wire.records import Most

from .records import WINDOW_STATES, WindowRecord


@dataclass(frozen=True)
class WindowEnded:
    status: Literal["deleted", "ended"]


@dataclass(frozen=True)
class WindowQuery(PageQuery):
    active: bool | None = None
    state: Annotated[str | None, Choice(*WINDOW_STATES)] = None

    def takes(self, row: WindowRecord) -> bool:
        return self.active in (None, row.active) and self.state in (None, row.state)


@dataclass(frozen=True)
class CoverageQuery:
    scope: Annotated[tuple[Annotated[str, Text(1, 255)], ...] | None, Most(1000)] = None
