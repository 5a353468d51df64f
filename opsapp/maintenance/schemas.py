"""Queries and smaller answers of both families."""

from __future__ import annotations

from typing import Annotated, Literal

from opsapp.lib.queries import PageQuery
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import Choice, Text
from opsapp.wire.records import Most

from .records import WINDOW_STATES, WindowRecord


@frozen
class WindowEnded:
    status: Literal["deleted", "ended"]


@frozen
class WindowQuery(PageQuery):
    active: bool | None = None
    state: Annotated[str | None, Choice(*WINDOW_STATES)] = None

    def takes(self, row: WindowRecord) -> bool:
        return self.active in (None, row.active) and self.state in (None, row.state)


@frozen
class CoverageQuery:
    scope: Annotated[tuple[Annotated[str, Text(1, 255)], ...] | None, Most(1000)] = None
