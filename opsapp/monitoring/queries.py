"""What the lists and reports of /api/monitoring are asked with.

Must not: know how they are answered.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.months import month_problem
from opsapp.lib.queries import At, PageQuery
from opsapp.lib.zones import zone_problem
from opsapp.monitoring.logic.history import RANGE_H, RESOLUTION_S
from opsapp.monitoring.logic.report import BY, SORTS, TARGET, TARGETS
from opsapp.monitoring.logic.settings import Id
from opsapp.monitoring.logic.state import STATUSES
from opsapp.monitoring.logic.told import ToldTrouble
from opsapp.monitoring.logic.uptime import DAYS
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import CheckedBy, Choice, Text
from opsapp.wire.monitortypes import TYPES
from opsapp.wire.records import Between, Most

Tag = Annotated[str, Text(1, 64)]
HOUR = 3_600_000
ORDERS = ("name", "worst", "response", "uptime")


@frozen
class MonitorQuery(PageQuery):
    """`ids`: these alone."""

    as_of: At | None = None
    ids: Annotated[tuple[Id, ...] | None, Most(100)] = None
    q: Annotated[str, Text(0, 200)] = ""
    status: Annotated[str | None, Choice(*STATUSES)] = None
    tag: Tag | None = None
    type: Annotated[str | None, Choice(*TYPES)] = None
    sort: Annotated[str, Choice(*ORDERS, *("-" + name for name in ORDERS))] = "name"
    recent: Annotated[int, Between(0, 100)] = 0

    @property
    def words(self) -> list[str]:
        return self.q.casefold().split()

    def cut(self, matches: list[Any]) -> list[Any]:
        return matches[self.offset :][: self.limit]


@frozen
class IncidentQuery(PageQuery):
    limit: Annotated[int, Between(1, 1000)] = 50
    status: Literal["open", "resolved", "all"] = "all"
    monitor_id: Id | None = None
    owner: Tag | None = None
    q: Annotated[str | None, Text(0, 200)] = None
    severity: Literal["critical", "error", "warning", "info"] | None = None
    kind: Literal["monitor", "event", "by_hand"] | None = None
    tag: Tag | None = None
    before: Id | None = None
    together: bool = False

    @property
    def chooses(self) -> bool:
        """Whether the query chooses by what stands in an incident itself."""
        return any((self.owner, self.q, self.severity, self.kind, self.tag))

    def passes(self, name: str, owner: str | None, tags: tuple[str, ...], told: ToldTrouble | None) -> bool:
        kind = "monitor" if told is None else "by_hand" if told.opened_by else "event"
        return (
            all(word in name.casefold() for word in (self.q or "").casefold().split())
            and self.owner in (None, owner)
            and self.severity in (None, None if told is None else told.severity)
            and self.kind in (None, kind)
            and (self.tag is None or self.tag in tags)
        )


@frozen
class NoticeQuery(PageQuery):
    status: Literal["open", "ended", "all"] = "all"


@frozen
class HistoryQuery(PageQuery):
    range_h: Annotated[int, Between(*RANGE_H)] = 24
    resolution: Annotated[int, Between(*RESOLUTION_S)] = 300
    until: Annotated[int | None, Between(0, 10**11)] = None

    def span(self, now: int) -> tuple[int, int, int]:
        """In milliseconds: from, until, and how long a bucket is."""
        end = now if self.until is None else min(now, self.until * 1000)
        return max(0, end - self.range_h * HOUR), end + 1, self.resolution * 1000


@frozen
class SlaQuery(PageQuery):
    days: Annotated[int, Between(*DAYS)] = 30
    sort: Literal["name", "-name", "worst", "-worst"] = "name"


@frozen
class ReportQuery(PageQuery):
    """Without `month` and `days`: the last calendar month. `zone` is that of the service where it is left out."""

    month: Annotated[str | None, CheckedBy(month_problem)] = None
    days: Annotated[int | None, Between(*DAYS)] = None
    zone: Annotated[str | None, Text(1, 64), CheckedBy(zone_problem)] = None
    target: Annotated[float, Between(*TARGETS)] = TARGET
    tag: Tag | None = None
    by: Annotated[str, Choice(*BY)] = "monitor"
    sort: Annotated[str, Choice(*SORTS)] = "worst"

    @staticmethod
    def across(sound: JsonObject) -> dict[str, str]:
        both = sound.get("month") is not None and sound.get("days") is not None
        return {"days": "give only one of month and days"} if both else {}
