"""The answer of /api/overview: what a person who is called at night needs first. Declared once (`wire.records`)."""

from __future__ import annotations

from typing import Annotated, Literal

from opsapp.monitoring.records import Cause, CertificateEnd, Status
from opsapp.wire.dataclass import dataclass
from opsapp.wire.records import Between, Most

from .health_answers import HoldRecord
from .records import Count

Ids = Annotated[dict[str, str], Most(10_000)]


@dataclass(frozen=True)
class MonitorCounts:
    """How many monitors stand how."""

    total: Count
    pending: Count
    up: Count
    down: Count
    degraded: Count
    maintenance: Count
    paused: Count
    unknown: Count


@dataclass(frozen=True)
class FleetCount:
    total: Count
    reporting: Count
    waiting: Count


@dataclass(frozen=True)
class AlikeTrouble:
    id: str | None
    name: str
    incident_id: str | None


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """What is wrong: a monitor that is not well, a host that is silent, a condition that people were told of, or an
    event from elsewhere that is about nothing here. `alike`: it stands for so many that are alike and began together,
    of which `others` are the next ones."""

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


@dataclass(frozen=True)
class NextStep:
    action: str
    params: str


@dataclass(frozen=True)
class CaseUnderWay:
    """An open case of healing. `stage` counts the six stages from 0; `due` is when it is looked at next; while it is
    verified, the latest moment of that."""

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


@dataclass(frozen=True)
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


@dataclass(frozen=True)
class WrongCounts:
    """How much is wrong; `down`, `degraded` and `unknown` count monitors and hosts, `causes` are those that are down
    and hang on nothing else that is shown, `silent` the hosts among those that are down, `alerts` the conditions on
    hosts that people were told of, `events` the incidents of no monitor."""

    down: Count
    degraded: Count
    unknown: Count
    causes: Count
    alerts: Count
    events: Count
    silent: Count = 0


@dataclass(frozen=True)
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
