"""The answer of /api/overview: what a person who is called at night needs first."""

from __future__ import annotations

from typing import Annotated, Literal

from opsapp.monitoring.records import Cause, CertificateEnd, Status
from opsapp.wire.dataclass import frozen
from opsapp.wire.records import Between, Most

from .health_answers import HoldRecord
from .records import Count

Ids = Annotated[dict[str, str], Most(10_000)]


@frozen
class MonitorCounts:
    total: Count
    pending: Count
    up: Count
    down: Count
    degraded: Count
    maintenance: Count
    paused: Count
    unknown: Count


@frozen
class FleetCount:
    total: Count
    reporting: Count
    waiting: Count


@frozen
class AlikeTrouble:
    id: str | None
    name: str
    incident_id: str | None


@frozen(kw_only=True)
class Trouble:
    """A monitor that is not well, a silent host, a condition that people were told of, or an event about nothing here.
    `alike`: so many that began together, of which `others` are the next."""

    kind: Literal["monitor", "host", "alert", "event"]
    id: str | None = None
    name: str
    status: str
    since: int | None
    cause: Cause = ""
    root_cause: str | None = None
    incident_id: str | None = None
    acknowledged_by: str | None = None
    case_id: str | None = None
    rule_id: str | None = None
    last_day: tuple[Status, ...] = ()
    alike: Count = 1
    others: tuple[AlikeTrouble, ...] = ()


@frozen
class NextStep:
    action: str
    params: str


@frozen
class CaseUnderWay:
    """`stage` counts from 0; `due`: the next look, while it is verified the latest."""

    id: str
    target: str
    rule_id: str
    condition: str
    state: str
    stage: Annotated[int, Between(0, 5)]
    step: Count
    steps: Count
    action: str | None
    params: str
    hostname: str | None
    agent_id: str | None
    opened_at: int
    due: int | None
    approval_id: str | None
    left_until: int | None
    waits: bool
    then: tuple[NextStep, ...]


@frozen
class NextBreak:
    """The forecast that comes true first."""

    agent_id: str
    hostname: str
    metric: str
    mount: str | None
    now: float
    threshold: float
    hits_at: int
    low: int | None
    high: int | None
    coverage: Annotated[float | None, Between(0, 1)]
    likely_by: int | None = None


@frozen
class WrongCounts:
    """`down`, `degraded`, `unknown`: monitors and hosts; `causes`: down, and hanging on nothing else shown; `silent`:
    hosts among those down; `stopped`: hosts whose agent was stopped, down or unknown; `unheard`: hosts that have time
    to come back after the service was away; `alerts`: conditions that people were told of; `events`: incidents of no
    monitor."""

    down: Count
    degraded: Count
    unknown: Count
    causes: Count
    alerts: Count
    events: Count
    silent: Count = 0
    stopped: Count = 0
    unheard: Count = 0


@frozen
class Overview:
    at: int
    monitors: MonitorCounts
    down_in_windows: Count
    agents: FleetCount
    troubles: tuple[Trouble, ...]
    wrong: WrongCounts
    troubles_total: Count
    cases: tuple[CaseUnderWay, ...]
    cases_total: Count
    holds: tuple[HoldRecord, ...]
    certificates: tuple[CertificateEnd, ...]
    next: NextBreak | None
    monitor_ids: Ids
    agent_ids: Ids
