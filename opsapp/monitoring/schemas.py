"""Bodies, queries and answers of /api/monitoring, and the `monitoring` section of the configuration."""

from __future__ import annotations

from typing import Any, cast

import colander

from opsapp.lib.jsontypes import JsonObject
from opsapp.monitoring.logic.history import RANGE_H, RESOLUTION_S
from opsapp.monitoring.logic.score import GRADES as GRADE_BOUNDS
from opsapp.monitoring.logic.settings import METHODS, problems
from opsapp.monitoring.logic.state import STATUSES
from opsapp.monitoring.logic.statuspage import OVERALL
from opsapp.monitoring.logic.uptime import DAYS as SLA_DAYS
from opsapp.web.fields import (
    AsOf,
    Body,
    Paging,
    anything,
    choice,
    field,
    flag,
    list_of,
    map_of,
    name_text,
    number,
    text,
    whole,
)
from opsapp.wire.monitortypes import TYPES, Setting, settings_by_types

GRADES = tuple(name for _, name in GRADE_BOUNDS)
TAG = text(1, 64)
ID = text(1, 64, pattern=r"[a-z0-9]+", example="0123456789abcdef")
HEADER = text(1, 100, pattern=r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", example="X-Name")
HEADER_VALUE = text(0, 4000, pattern=r"[^\x00-\x08\x0a-\x1f\x7f]*", example="a line of text")
INCIDENT_STAGES = ("investigating", "identified", "monitoring", "resolved")


def _own_setting(setting: Setting) -> colander.SchemaNode:
    """A setting that only some types of monitors have, as its declaration says."""
    kind = {"text": text(1, setting.most), "flag": flag(), "json": anything()}[setting.kind]

    def problem(value: Any) -> str | None:
        return None if value is None else setting.problem(value)

    return field(kind, null=setting.default is None, check=problem, optional=True)


OwnSettings: Any = type(
    "OwnSettings", (Body,), {setting.name: _own_setting(setting) for setting, _ in settings_by_types()}
)


class MonitorSettings(OwnSettings):
    """A monitor as it is written."""

    name = name_text()
    url = text(0, 2000, optional=True)
    type = choice(*TYPES)
    interval = whole(5, 86400, optional=True)
    timeout = whole(1, 60, optional=True)
    expected_status = whole(100, 599, optional=True, null=True)
    retries = whole(0, 10, optional=True)
    tags = list_of(TAG, 50, unique=True, optional=True)
    agent_id = field(ID, optional=True, null=True)
    enabled = flag(optional=True)
    method = choice(*METHODS, optional=True)
    headers = map_of(HEADER_VALUE, 50, HEADER, optional=True)
    follow_redirects = flag(optional=True)
    verify_tls = flag(optional=True)
    degraded_ms = whole(1, 60_000, optional=True, null=True)
    probe_from = list_of(ID, 50, unique=True, optional=True)
    quorum = whole(1, 50, optional=True)


class NewMonitor(MonitorSettings):
    """A monitor that is made: what its type needs must be there. (A change is judged over the stored record.)"""

    @staticmethod
    def across(sound: JsonObject) -> dict[str, str]:
        if "type" in sound or "url" in sound:
            return problems(sound)
        return {"url": "is required for every type but push", **problems(sound)}


class MonitorReadings(Body):
    """What a record has beside the settings."""

    id = ID
    status = choice(*STATUSES)
    response_time_ms = whole(null=True)
    last_check = whole(null=True)
    uptime_24h = number(null=True)
    since = whole()
    cause = text(0, 2000)
    flapping = flag()
    cert_days = number(null=True)
    phases = map_of(number(), null=True)
    protocol = text(null=True)
    incident_id = field(ID, null=True)
    created_at = whole()
    push_url = text(optional=True, null=True)


READ_ONLY = tuple(node.name for node in MonitorReadings().children)  # accepted and ignored in a PUT


def _given(setting: colander.SchemaNode) -> colander.SchemaNode:
    """A setting in an answer: never left out."""
    node = field(setting)
    node.missing = colander.required
    return cast(colander.SchemaNode, node)


MonitorRecord: Any = type(
    "MonitorRecord",
    (MonitorReadings,),
    {node.name: _given(node) for node in MonitorSettings().children}
    | {"name": text(0, 200), "unreadable": text(optional=True)},  # one that cannot be read has no name
)


class MonitorList(AsOf, Paging):
    q = text(0, 200, default="")
    status = choice(*STATUSES, default=None)
    tag = field(TAG, default=None)


class IncidentList(Paging):
    limit = whole(1, 1000, default=50)
    status = choice("open", "resolved", "all", default="all")
    monitor_id = field(ID, default=None)


class IncidentNote(Body):
    time = whole()
    user = text()
    stage = choice(*INCIDENT_STAGES, "acknowledged")
    message = text(0, 5000)


class IncidentRecord(Body):
    id = ID
    monitor_id = ID
    monitor_name = text()
    started = whole()
    resolved = whole(optional=True)
    duration_minutes = number(0)
    cause = text()
    status = choice("open", "resolved")
    acknowledged_by = text(null=True)
    updates = list_of(IncidentNote)
    unreadable = text(optional=True)


class Acknowledgement(Body):
    note = text(0, 5000, default="")


class Acknowledged(Body):
    status = choice("acknowledged")


class IncidentUpdate(Body):
    stage = choice(*INCIDENT_STAGES)
    message = text(1, 5000)


class UpdateAdded(Body):
    status = choice("created")


class RelatedMonitor(Body):
    id = ID
    name = text()
    status = choice(*STATUSES)
    tags = list_of(TAG)
    cause = text(0, 2000)
    since = whole()


class WarRoomEvent(Body):
    time = whole()
    kind = text()
    said = text(0, 10_000, name="text")
    user = text(optional=True)
    run_id = text(optional=True)
    ledger_id = whole(optional=True)


class SuggestedRemedy(Body):
    """An automation with what its runs have shown, or an action with what its heals have shown."""

    score = number()
    success_rate = number(null=True)
    id = text(optional=True)
    name = text(optional=True)
    type = text(optional=True)
    runs = whole(optional=True)
    succeeded = whole(optional=True)
    tried_here = whole(optional=True)
    helped_here = whole(optional=True)
    action_type = text(optional=True)
    condition = text(optional=True)
    total = whole(optional=True)
    verified = whole(optional=True)
    failed = whole(optional=True)
    lower_bound = number(null=True, optional=True)


class StandsOn(Body):
    target = text()
    depends_on = text()
    path = list_of(text())
    root_cause = flag()


class WarRoom(Body):
    incident = IncidentRecord()
    monitor = field(MonitorRecord, null=True)
    related_monitors = list_of(RelatedMonitor)
    events = list_of(WarRoomEvent)
    suggested_automations = list_of(SuggestedRemedy)
    dependencies = list_of(StandsOn)
    heals = list_of(map_of(anything()))


class PushTaken(Body):
    status = choice("ok")


class HistoryRange(Paging):
    range_h = whole(*RANGE_H, default=24)
    resolution = whole(*RESOLUTION_S, default=300)


class ResponsePoint(Body):
    time = whole()
    status = choice(*STATUSES)
    response_time_ms = whole(null=True)
    min_ms = number(null=True)
    max_ms = number(null=True)
    p95_ms = number(null=True)
    checks = whole(1)


class SlaWindow(Paging):
    days = whole(*SLA_DAYS, default=30)


class SlaEntry(Body):
    monitor_id = ID
    name = text()
    uptime_percent = number(0, 100, null=True)
    total_checks = whole(0)
    downtime_minutes = number(0)
    maintenance_minutes = number(0)
    unknown_minutes = number(0)
    incidents = whole(0)
    mttr_minutes = number(0, null=True)


class ScoreComponent(Body):
    score = number(0, 100, null=True)
    weight = number(0, 100)
    value = number(null=True)
    detail = text()


class ScoreComponents(Body):
    uptime = ScoreComponent()
    response_time = ScoreComponent()
    certificate = ScoreComponent()


class ScoreLine(Body):
    monitor_id = ID
    name = text()
    score = number(0, 100, null=True)
    grade = choice(*GRADES, null=True)


class MonitorScore(ScoreLine):
    components = ScoreComponents()


class AggregateScore(Body):
    score = number(0, 100, null=True)
    grade = choice(*GRADES, null=True)
    monitors = list_of(ScoreLine)
    components = ScoreComponents()
    unknown = whole(0)


class PublicNote(Body):
    time = whole()
    stage = choice(*INCIDENT_STAGES)
    message = text(0, 5000)


class PublicIncident(Body):
    id = ID
    monitor_id = ID
    monitor_name = text()
    started = whole()
    resolved = whole(null=True)
    duration_minutes = number(0)
    status = choice("open", "resolved")
    part_of = text(null=True)
    updates = list_of(PublicNote)


class StatusDay(Body):
    date = text()
    uptime = number(0, 100, null=True)
    incidents = whole(0)


class StatusComponent(Body):
    id = ID
    name = text()
    status = choice(*STATUSES)
    uptime_90d = number(0, 100, null=True)
    incidents = list_of(PublicIncident)
    days = list_of(StatusDay)


class PublicWindow(Body):
    name = text()
    start = whole()
    end = whole()
    active = flag()
    monitors = list_of(text())


class IncidentDay(Body):
    date = text()
    incidents = list_of(PublicIncident)


class StatusDocument(Body):
    overall = choice(*OVERALL)
    monitors = list_of(StatusComponent)
    active_incidents = list_of(PublicIncident)
    maintenance = list_of(PublicWindow)
    history = list_of(IncidentDay)
    generated_at = whole()
