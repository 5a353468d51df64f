"""Bodies and answers of /api/healing/inlets and /api/healing/events."""

from __future__ import annotations

from opsapp.web.fields import Body, Paging, anything, choice, field, list_of, map_of, number, text, whole

from .logic.eventforms import FIRING, RESOLVED


class LabelMapping(Body):
    """Which label names the host, and which the monitor."""

    host = text(1, 200, default="instance", example="instance")
    monitor = text(1, 200, default="monitor", example="monitor")


class NewInlet(Body):
    name = text(1, 100, example="Alertmanager")
    mapping = field(LabelMapping, default=None, null=True)


class InletRecord(Body):
    id = text()
    name = text()
    mapping = field(LabelMapping)
    created_by = text()
    created_at = whole()
    firing = whole()
    unknown_targets = whole()
    last_event_at = whole(null=True)
    refused = whole()
    last_refusal = text(0, 4000)


class InletUpdated(InletRecord):
    status = choice("updated")


class EventList(Paging):
    limit = whole(1, 1000, default=100)


class EventSubject(Body):
    """The host or monitor that an event is about."""

    kind = choice("agent", "monitor")
    id = text()
    name = text()


class EventRecord(Body):
    """The last word about an event. Times by the sender's clock, `told_at` by ours. `became`: a `reading` of a host or
    monitor, an `incident` of its own, or `nothing`: it was over already."""

    id = text()
    fingerprint = text()
    name = text()
    status = choice(FIRING, RESOLVED)
    severity = text()
    target = text()
    labels = map_of(text())
    values = map_of(number())
    summary = text(0, 4000)
    description = text(0, 4000)
    links = list_of(text())
    starts_at = whole(null=True)
    ends_at = whole(null=True)
    told_at = whole()
    became = choice("reading", "incident", "nothing")
    about = field(EventSubject, null=True)
    incident_id = text(null=True)


class InletMade(InletRecord):
    token = text()
    url = text()


class SentBody(Body):
    """One event in the service's own form, or a webhook of Alertmanager (version 4) or Grafana with `alerts`."""

    component = "SentEvents"
    id = text(1, 1000, optional=True)
    status = choice(FIRING, RESOLVED, optional=True)
    target = text(0, 1000, optional=True)
    name = text(1, 1000, optional=True)
    severity = text(0, 1000, optional=True)
    labels = map_of(text(0, 1000), optional=True)
    values = map_of(anything(), optional=True)
    summary = text(0, 4000, optional=True)
    description = text(0, 4000, optional=True)
    links = list_of(text(), optional=True)
    starts_at = anything(optional=True)
    ends_at = anything(optional=True)
    alerts = list_of(anything(), optional=True)


class RefusedEvent(Body):
    place = text(example="alerts.17")
    why = text(0, 4000)


class EventsTaken(Body):
    received = whole()
    firing = whole()
    resolved = whole()
    repeated = whole()
    older = whole()
    unknown_targets = whole()
    refused = list_of(RefusedEvent)
    refused_count = whole()
