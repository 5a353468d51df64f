"""Bodies, queries and answers of /api/monitoring, and the `monitoring` section of the configuration."""

from __future__ import annotations

from typing import Any

import colander

from opsapp.monitoring.logic.history import RANGE_H, RESOLUTION_S
from opsapp.monitoring.logic.score import GRADES as GRADE_BOUNDS
from opsapp.monitoring.logic.settings import METHODS, problems
from opsapp.monitoring.logic.state import STATUSES
from opsapp.monitoring.logic.statuspage import OVERALL
from opsapp.monitoring.logic.uptime import DAYS as SLA_DAYS
from opsapp.web.fields import (
    Anything,
    AsOf,
    Body,
    Choice,
    Flag,
    ListOf,
    MapOf,
    Nullable,
    Number,
    Paging,
    Text,
    Whole,
    check,
    name_text,
)
from opsapp.wire.monitortypes import TYPES, Setting, settings_by_types

ABSENT = colander.drop  # a field that may be left out
GRADES = tuple(name for _, name in GRADE_BOUNDS)
TAG = Text(1, 64)
ID = Text(1, 64, pattern=r"[a-z0-9]+", example="0123456789abcdef")
HEADER = Text(1, 100, pattern=r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", example="X-Name")
HEADER_VALUE = Text(0, 4000, pattern=r"[^\x00-\x08\x0a-\x1f\x7f]*", example="a line of text")
INCIDENT_STAGES = ("investigating", "identified", "monitoring", "resolved")
# What a GET adds to the settings: accepted and ignored in a PUT.
READ_ONLY = (
    "id",
    "status",
    "response_time_ms",
    "last_check",
    "uptime_24h",
    "since",
    "cause",
    "flapping",
    "cert_days",
    "phases",
    "protocol",
    "push_url",
    "incident_id",
    "created_at",
)


def _own_settings(name: str, **more: Any) -> Any:
    """A schema of the settings that only some types of monitors have, as their declarations say."""
    return type(name, (Body,), {setting.name: _node(setting, **more) for setting, _ in settings_by_types()})


def _node(setting: Setting, **more: Any) -> colander.SchemaNode:
    value = {"text": Text(1, setting.most), "flag": Flag(), "json": Anything()}[setting.kind]
    sound = check(lambda given: None if given is None else setting.problem(given))
    return colander.SchemaNode(Nullable(value) if setting.default is None else value, validator=sound, **more)


class MonitorSettings(_own_settings("OwnSettings", missing=ABSENT)):  # type: ignore[misc]
    """A monitor as it is written."""

    name = colander.SchemaNode(name_text())
    url = colander.SchemaNode(Text(0, 2000), missing=ABSENT)
    type = colander.SchemaNode(Choice(*TYPES))
    interval = colander.SchemaNode(Whole(5, 86400), missing=ABSENT)
    timeout = colander.SchemaNode(Whole(1, 60), missing=ABSENT)
    expected_status = colander.SchemaNode(Nullable(Whole(100, 599)), missing=ABSENT)
    retries = colander.SchemaNode(Whole(0, 10), missing=ABSENT)
    tags = colander.SchemaNode(ListOf(TAG, 50, unique=True), missing=ABSENT)
    agent_id = colander.SchemaNode(Nullable(ID), missing=ABSENT)
    enabled = colander.SchemaNode(Flag(), missing=ABSENT)
    method = colander.SchemaNode(Choice(*METHODS), missing=ABSENT)
    headers = colander.SchemaNode(MapOf(HEADER_VALUE, 50, HEADER), missing=ABSENT)
    follow_redirects = colander.SchemaNode(Flag(), missing=ABSENT)
    verify_tls = colander.SchemaNode(Flag(), missing=ABSENT)
    degraded_ms = colander.SchemaNode(Nullable(Whole(1, 60_000)), missing=ABSENT)
    probe_from = colander.SchemaNode(ListOf(ID, 50, unique=True), missing=ABSENT)
    quorum = colander.SchemaNode(Whole(1, 50), missing=ABSENT)


class NewMonitor(MonitorSettings):
    """A monitor that is made: what its type needs must be there. (A change is judged over the stored record.)"""

    @staticmethod
    def across(sound: dict[str, Any]) -> dict[str, str]:
        if "type" in sound or "url" in sound:
            return problems(sound)
        return {"url": "is required for every type but push", **problems(sound)}


class Created(Body):
    id = colander.SchemaNode(ID)
    status = colander.SchemaNode(Choice("created"))


class Updated(Body):
    status = colander.SchemaNode(Choice("updated"))


class Deleted(Body):
    status = colander.SchemaNode(Choice("deleted"))


class MonitorRecord(_own_settings("OwnFields")):  # type: ignore[misc]
    id = colander.SchemaNode(ID)
    name = colander.SchemaNode(Text(1, 200))
    url = colander.SchemaNode(Text(0, 2000))
    type = colander.SchemaNode(Choice(*TYPES))
    interval = colander.SchemaNode(Whole())
    timeout = colander.SchemaNode(Whole())
    expected_status = colander.SchemaNode(Nullable(Whole()))
    retries = colander.SchemaNode(Whole())
    tags = colander.SchemaNode(ListOf(TAG))
    status = colander.SchemaNode(Choice(*STATUSES))
    response_time_ms = colander.SchemaNode(Nullable(Whole()))
    last_check = colander.SchemaNode(Nullable(Whole()))
    uptime_24h = colander.SchemaNode(Nullable(Number()))
    agent_id = colander.SchemaNode(Nullable(ID))
    enabled = colander.SchemaNode(Flag())
    method = colander.SchemaNode(Choice(*METHODS))
    headers = colander.SchemaNode(MapOf(Text(0, 4000)))
    follow_redirects = colander.SchemaNode(Flag())
    verify_tls = colander.SchemaNode(Flag())
    degraded_ms = colander.SchemaNode(Nullable(Whole()))
    probe_from = colander.SchemaNode(ListOf(ID))
    quorum = colander.SchemaNode(Whole())
    since = colander.SchemaNode(Whole())
    cause = colander.SchemaNode(Text(0, 2000))
    flapping = colander.SchemaNode(Flag())
    cert_days = colander.SchemaNode(Nullable(Number()))
    phases = colander.SchemaNode(Nullable(MapOf(Number())))
    protocol = colander.SchemaNode(Nullable(Text()))
    incident_id = colander.SchemaNode(Nullable(ID))
    created_at = colander.SchemaNode(Whole())
    push_url = colander.SchemaNode(Nullable(Text()), missing=ABSENT)
    unreadable = colander.SchemaNode(Text(), missing=ABSENT)


class MonitorList(AsOf, Paging):
    q = colander.SchemaNode(Text(0, 200), missing="")
    status = colander.SchemaNode(Choice(*STATUSES), missing=None)
    tag = colander.SchemaNode(TAG, missing=None)


class IncidentList(Paging):
    limit = colander.SchemaNode(Whole(1, 1000), missing=50)
    status = colander.SchemaNode(Choice("open", "resolved", "all"), missing="all")
    monitor_id = colander.SchemaNode(ID, missing=None)


class IncidentNote(Body):
    time = colander.SchemaNode(Whole())
    user = colander.SchemaNode(Text())
    stage = colander.SchemaNode(Choice(*INCIDENT_STAGES, "acknowledged"))
    message = colander.SchemaNode(Text(0, 5000))


class IncidentRecord(Body):
    id = colander.SchemaNode(ID)
    monitor_id = colander.SchemaNode(ID)
    monitor_name = colander.SchemaNode(Text())
    started = colander.SchemaNode(Whole())
    resolved = colander.SchemaNode(Whole(), missing=ABSENT)
    duration_minutes = colander.SchemaNode(Number(0))
    cause = colander.SchemaNode(Text())
    status = colander.SchemaNode(Choice("open", "resolved"))
    acknowledged_by = colander.SchemaNode(Nullable(Text()))
    updates = colander.SchemaNode(ListOf(IncidentNote()))


class Acknowledgement(Body):
    note = colander.SchemaNode(Text(0, 5000), missing="")


class Acknowledged(Body):
    status = colander.SchemaNode(Choice("acknowledged"))


class IncidentUpdate(Body):
    stage = colander.SchemaNode(Choice(*INCIDENT_STAGES))
    message = colander.SchemaNode(Text(1, 5000))


class UpdateAdded(Body):
    status = colander.SchemaNode(Choice("created"))


class WarRoom(Body):
    incident = colander.SchemaNode(Anything())
    monitor = colander.SchemaNode(Nullable(Anything()))
    related_monitors = colander.SchemaNode(ListOf(Anything()))
    events = colander.SchemaNode(ListOf(Anything()))
    suggested_automations = colander.SchemaNode(ListOf(Anything()))
    dependencies = colander.SchemaNode(ListOf(Anything()))
    heals = colander.SchemaNode(ListOf(Anything()))


class PushTaken(Body):
    status = colander.SchemaNode(Choice("ok"))


class HistoryRange(Paging):
    range_h = colander.SchemaNode(Whole(*RANGE_H), missing=24)
    resolution = colander.SchemaNode(Whole(*RESOLUTION_S), missing=300)


class HistoryPoint(Body):
    time = colander.SchemaNode(Whole())
    status = colander.SchemaNode(Choice(*STATUSES))
    response_time_ms = colander.SchemaNode(Nullable(Whole()))
    min_ms = colander.SchemaNode(Nullable(Number()))
    max_ms = colander.SchemaNode(Nullable(Number()))
    p95_ms = colander.SchemaNode(Nullable(Number()))
    checks = colander.SchemaNode(Whole(1))


class SlaWindow(Paging):
    days = colander.SchemaNode(Whole(*SLA_DAYS), missing=30)


class SlaEntry(Body):
    monitor_id = colander.SchemaNode(ID)
    name = colander.SchemaNode(Text())
    uptime_percent = colander.SchemaNode(Nullable(Number(0, 100)))
    total_checks = colander.SchemaNode(Whole(0))
    downtime_minutes = colander.SchemaNode(Number(0))
    maintenance_minutes = colander.SchemaNode(Number(0))
    unknown_minutes = colander.SchemaNode(Number(0))
    incidents = colander.SchemaNode(Whole(0))
    mttr_minutes = colander.SchemaNode(Nullable(Number(0)))


class ScoreComponent(Body):
    score = colander.SchemaNode(Nullable(Number(0, 100)))
    weight = colander.SchemaNode(Number(0, 100))
    value = colander.SchemaNode(Nullable(Number()))
    detail = colander.SchemaNode(Text())


class ScoreComponents(Body):
    uptime = ScoreComponent()
    response_time = ScoreComponent()
    certificate = ScoreComponent()


class ScoreLine(Body):
    monitor_id = colander.SchemaNode(ID)
    name = colander.SchemaNode(Text())
    score = colander.SchemaNode(Nullable(Number(0, 100)))
    grade = colander.SchemaNode(Nullable(Choice(*GRADES)))


class MonitorScore(ScoreLine):
    components = ScoreComponents()


class AggregateScore(Body):
    score = colander.SchemaNode(Nullable(Number(0, 100)))
    grade = colander.SchemaNode(Nullable(Choice(*GRADES)))
    monitors = colander.SchemaNode(ListOf(ScoreLine()))
    components = ScoreComponents()
    unknown = colander.SchemaNode(Whole(0))


class PublicNote(Body):
    time = colander.SchemaNode(Whole())
    stage = colander.SchemaNode(Choice(*INCIDENT_STAGES))
    message = colander.SchemaNode(Text(0, 5000))


class PublicIncident(Body):
    id = colander.SchemaNode(ID)
    monitor_id = colander.SchemaNode(ID)
    monitor_name = colander.SchemaNode(Text())
    started = colander.SchemaNode(Whole())
    resolved = colander.SchemaNode(Nullable(Whole()))
    duration_minutes = colander.SchemaNode(Number(0))
    status = colander.SchemaNode(Choice("open", "resolved"))
    part_of = colander.SchemaNode(Nullable(Text()))
    updates = colander.SchemaNode(ListOf(PublicNote()))


class StatusDay(Body):
    date = colander.SchemaNode(Text())
    uptime = colander.SchemaNode(Nullable(Number(0, 100)))
    incidents = colander.SchemaNode(Whole(0))


class StatusComponent(Body):
    id = colander.SchemaNode(ID)
    name = colander.SchemaNode(Text())
    status = colander.SchemaNode(Choice(*STATUSES))
    uptime_90d = colander.SchemaNode(Nullable(Number(0, 100)))
    incidents = colander.SchemaNode(ListOf(PublicIncident()))
    days = colander.SchemaNode(ListOf(StatusDay()))


class PublicWindow(Body):
    name = colander.SchemaNode(Text())
    start = colander.SchemaNode(Whole())
    end = colander.SchemaNode(Whole())
    active = colander.SchemaNode(Flag())
    monitors = colander.SchemaNode(ListOf(Text()))


class IncidentDay(Body):
    date = colander.SchemaNode(Text())
    incidents = colander.SchemaNode(ListOf(PublicIncident()))


class StatusDocument(Body):
    overall = colander.SchemaNode(Choice(*OVERALL))
    monitors = colander.SchemaNode(ListOf(StatusComponent()))
    active_incidents = colander.SchemaNode(ListOf(PublicIncident()))
    maintenance = colander.SchemaNode(ListOf(PublicWindow()))
    history = colander.SchemaNode(ListOf(IncidentDay()))
    generated_at = colander.SchemaNode(Whole())
