"""What the API answers about monitors, declared once (`wire.records`).

Must not: know the store, or look at anything.
"""

from __future__ import annotations

from typing import Annotated, Literal

from opsapp.monitoring.logic.settings import Id, MonitorSettings
from opsapp.monitoring.logic.state import STATUSES
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import AnyValues, Choice, Text
from opsapp.wire.probes import MOST_METRICS, UNIT_LENGTH
from opsapp.wire.records import AT_TIMES, Between, FormField, Most, Since

Status = Annotated[str, Choice(*STATUSES)]
Cause = Annotated[str, Text(0, 2000)]


@frozen
class MetricNow:
    """One of the things that a plugin measures; `unit` is s, B, %, c (a counter) or what the plugin calls it."""

    value: float
    unit: Annotated[str, Text(0, UNIT_LENGTH)]
    time: int


Metrics = Annotated[dict[str, MetricNow] | None, Most(MOST_METRICS)]


@frozen
class LatelyMeasured:
    """What lists draw of each monitor, asked for with `recent`: its last checks, and its last 24 hours."""

    statuses: tuple[Status, ...] = ()
    p95_ms: tuple[float | None, ...] = ()
    p95_24h_ms: float | None = None
    uptime_30d: Annotated[float | None, Between(0, 100)] = None


@frozen(kw_only=True)
class MonitorRecord(MonitorSettings):
    """A monitor and how it stands. Of one that nobody could read ever the defaults stand here; what nobody measured is
    None."""

    name: Annotated[str, Text(0, 200)]
    id: Id
    status: Status = "unknown"
    down_in_window: bool = False
    response_time_ms: int | None = None
    last_check: int | None = None
    uptime_24h: float | None = None
    since: int = 0
    cause: Cause = ""
    flapping: bool = False
    cert_days: float | None = None
    phases: dict[str, float] | None = None
    protocol: str | None = None
    output: Cause | None = None
    metrics: Metrics = None
    incident_id: Id | None = None
    created_at: int = 0
    unreadable: Annotated[str, AT_TIMES] = ""
    push_url: Annotated[str | None, AT_TIMES] = ""
    run_started: Annotated[int | None, AT_TIMES] = None
    recent: Annotated[LatelyMeasured | None, AT_TIMES] = None


@frozen
class TriedMonitor:
    """What a check would find. Nothing of it is stored."""

    status: Status
    cause: Cause
    response_time_ms: float | None
    http_status: int | None
    protocol: str | None
    phases: dict[str, float] | None
    cert_days: float | None
    detail: Cause
    metrics: Metrics


@frozen
class CertificateEnd:
    """`days` are left; below zero it has ended."""

    id: str
    name: str
    days: int


# -- incidents

INCIDENT_STAGES = ("investigating", "identified", "monitoring", "resolved")
SaidAtTimes = Annotated[str | None, AT_TIMES]


@frozen
class IncidentNote:
    """What somebody said of it; `to` says to whom it was handed over."""

    time: int
    user: str
    stage: Annotated[str, Choice(*INCIDENT_STAGES, "acknowledged", "assigned")]
    message: Annotated[str, Text(0, 5000)]
    public: bool
    to: SaidAtTimes = None


@frozen
class IncidentSource:
    """The inlet that told of an incident of no monitor, and the sender's name for the event."""

    inlet: str
    fingerprint: str


@frozen(kw_only=True)
class IncidentRecord:
    """What was told, or opened by hand, is of no monitor. `pages`: the status pages on which a person put it.
    `root_cause`: lists say what an open one comes from, or null."""

    id: Id
    monitor_id: Id | None
    monitor_name: str
    source: Annotated[IncidentSource | None, AT_TIMES] = None
    by_hand: Annotated[bool, AT_TIMES] = False
    opened_by: SaidAtTimes = None
    name: SaidAtTimes = None
    target: SaidAtTimes = None
    summary: Annotated[SaidAtTimes, Text(0, 4000)] = None
    description: Annotated[SaidAtTimes, Text(0, 5000)] = None
    severity: SaidAtTimes = None
    links: Annotated[tuple[str, ...] | None, AT_TIMES] = None
    pages: Annotated[tuple[str, ...], AT_TIMES] = ()
    started: int
    resolved: Annotated[int | None, AT_TIMES] = None
    duration_minutes: Annotated[float, Between(0)]
    cause: str
    status: Literal["open", "resolved"]
    acknowledged_by: str | None
    updates: tuple[IncidentNote, ...] = ()
    unreadable: Annotated[str, AT_TIMES] = ""
    root_cause: SaidAtTimes = ""

    @property
    def is_open(self) -> bool:
        return self.status == "open"


@frozen
class RelatedMonitor:
    id: Id
    name: str
    status: Status
    tags: tuple[Annotated[str, Text(1, 64)], ...]
    cause: Cause
    since: int


@frozen
class WarRoomEvent:
    time: int
    kind: str
    text: Annotated[str, Text(0, 10_000)]
    user: SaidAtTimes = None
    run_id: SaidAtTimes = None
    ledger_id: Annotated[int | None, AT_TIMES] = None


@frozen(kw_only=True)
class SuggestedRemedy:
    """An automation with what its runs have shown, or an action with what its heals have shown. `helped_here`: outages
    of this monitor that it ended, of those in which it was tried."""

    id: SaidAtTimes = None
    name: SaidAtTimes = None
    type: SaidAtTimes = None
    runs: Annotated[int | None, AT_TIMES] = None
    succeeded: Annotated[int | None, AT_TIMES] = None
    action_type: SaidAtTimes = None
    condition: SaidAtTimes = None
    total: Annotated[int | None, AT_TIMES] = None
    verified: Annotated[int | None, AT_TIMES] = None
    failed: Annotated[int | None, AT_TIMES] = None
    success_rate: float | None
    lower_bound: Annotated[float | None, AT_TIMES] = -1  # which nobody says of an automation
    tried_here: int
    helped_here: int
    score: float


@frozen
class StandsOn:
    target: str
    depends_on: str
    path: tuple[str, ...]
    root_cause: bool


@frozen
class WarRoom:
    """All that bears on an incident; `heals` are entries of the ledger, each with its wave."""

    incident: IncidentRecord
    monitor: MonitorRecord | None
    related_monitors: tuple[RelatedMonitor, ...]
    events: tuple[WarRoomEvent, ...]
    other_runs: tuple[WarRoomEvent, ...]
    suggested_automations: tuple[SuggestedRemedy, ...]
    dependencies: tuple[StandsOn, ...]
    heals: tuple[AnyValues, ...]


# -- reports


Share = Annotated[float | None, Between(0, 100)]
Minutes = Annotated[float, Between(0)]
Count = Annotated[int, Between(0)]
Grade = Literal["A", "B", "C", "D", "F"]


@frozen
class SlaFigures:
    uptime_percent: Share
    total_checks: Count
    downtime_minutes: Minutes
    maintenance_minutes: Minutes
    unknown_minutes: Minutes
    incidents: Count
    mttr_minutes: Minutes | None


@frozen
class UptimeFigures(SlaFigures):
    """How long a monitor was up over some days, and how much of them nobody knows."""

    days: Annotated[int, Between(1)]
    known_percent: Annotated[float, Between(0, 100)]


@frozen
class SlaEntry(SlaFigures):
    """`known_percent`: of the days that were asked for; the uptime is that of the time that is known."""

    monitor_id: Id
    name: str
    known_percent: Annotated[float, Between(0, 100)]


@frozen
class ScoreComponent:
    """One part of a score; `weight` in percent of the whole."""

    score: Share
    weight: Annotated[float, Between(0, 100)]
    value: float | None
    detail: str


@frozen
class ScoreComponents:
    uptime: ScoreComponent
    response_time: ScoreComponent
    certificate: ScoreComponent


@frozen
class ScoreLine:
    """A monitor's score; `score` and `grade` are None where less than half of the time is known."""

    monitor_id: Id
    name: str
    score: Share
    grade: Grade | None


@frozen
class MonitorScore(ScoreLine):
    components: ScoreComponents


@frozen
class AggregateScore:
    score: Share
    grade: Grade | None
    monitors: tuple[ScoreLine, ...]
    components: ScoreComponents
    unknown: Count


# -- the public status page

OVERALL = ("operational", "degraded", "partial_outage", "major_outage", "maintenance")
SEVERITIES = ("info", "warning", "critical")
Severity = Annotated[str, Choice(*SEVERITIES), FormField("How grave", "choice")]


@frozen
class PublicNotice:
    """A notice as visitors see it."""

    id: str
    title: str
    text: Annotated[str, Text(0, 5000)]
    severity: Severity
    started: Since
    ends_at: Since | None


@frozen
class PublicNote:
    time: int
    stage: Annotated[str, Choice(*INCIDENT_STAGES)]
    message: Annotated[str, Text(0, 5000)]


@frozen
class PublicIncident:
    """What the public may know of an incident: no cause, no name, and of what people said what they meant for it. One
    that was opened by hand is of no monitor, and `monitor_name` is its title."""

    id: Id
    monitor_id: Id | None
    monitor_name: str
    started: int
    resolved: int | None
    duration_minutes: Annotated[float, Between(0)]
    status: Literal["open", "resolved"]
    part_of: str | None
    updates: tuple[PublicNote, ...]
    by_hand: Annotated[bool, AT_TIMES] = False

    @classmethod
    def of(cls, record: IncidentRecord, name: str, part_of: str | None = None) -> PublicIncident:
        """`name`: that of its monitor at present."""
        return cls(
            record.id,
            record.monitor_id,
            name,
            record.started,
            record.resolved,
            record.duration_minutes,
            record.status,
            part_of,
            tuple(PublicNote(note.time, note.stage, note.message) for note in record.updates if note.public),
            record.by_hand,
        )


@frozen
class StatusDay:
    date: str
    uptime: Annotated[float | None, Between(0, 100)]
    incidents: Annotated[int, Between(0)]


@frozen
class StatusComponent:
    id: Id
    name: str
    status: Status
    down_in_window: bool
    uptime_90d: Annotated[float | None, Between(0, 100)]
    incidents: tuple[PublicIncident, ...]
    days: tuple[StatusDay, ...]


@frozen
class PublicWindow:
    """`monitors`: by name."""

    name: str
    start: int
    end: int
    active: bool
    monitors: tuple[str, ...]


@frozen
class IncidentDay:
    date: str
    incidents: tuple[PublicIncident, ...]


@frozen
class StatusDocument:
    overall: Annotated[str, Choice(*OVERALL)]
    notices: tuple[PublicNotice, ...]
    monitors: tuple[StatusComponent, ...]
    active_incidents: tuple[PublicIncident, ...]
    maintenance: tuple[PublicWindow, ...]
    history: tuple[IncidentDay, ...]
    generated_at: int
