"""Monitors from the tree of a time. What was measured is not in it: those fields are null."""

from __future__ import annotations

from opsapp.lib.addresses import public
from opsapp.lib.problems import NotFound
from opsapp.monitoring.engine.monitorlists import push_url
from opsapp.monitoring.logic.settings import searched
from opsapp.monitoring.queries import MonitorQuery
from opsapp.monitoring.records import MonitorRecord
from opsapp.monitoring.resources import Monitor, monitors_of
from opsapp.tree.root import Root
from opsapp.wire.records import extended


def page(then: Root, query: MonitorQuery, secrets: bool) -> tuple[list[MonitorRecord], int]:
    words, tag, status, ids = query.words, query.tag, query.status, query.ids

    def is_wanted(monitor: Monitor) -> bool:
        settings = monitor.record
        text = searched(settings.name, settings.url, settings.tags)
        return (
            (ids is None or monitor.id in ids)
            and (tag is None or tag in settings.tags)
            and query.type in (None, settings.type)
            and (status is None or monitor.state.status == status)
            and all(word in text for word in words)
        )

    monitors = [monitor for monitor in monitors_of(then).values() if is_wanted(monitor)]
    monitors.sort(key=lambda monitor: (monitor.name.casefold(), monitor.id))
    return [record(monitor, secrets=secrets) for monitor in query.cut(monitors)], len(monitors)


def one(then: Root, monitor_id: str, secrets: bool) -> MonitorRecord:
    monitor = monitors_of(then).get(monitor_id)
    if monitor is None:
        raise NotFound("There was no such monitor at that time.")
    return record(monitor, secrets=secrets)


def record(monitor: Monitor, *, secrets: bool) -> MonitorRecord:
    """The status is the one that was stored then."""
    state = monitor.state
    return extended(
        MonitorRecord,
        monitor.record.for_editors if secrets else monitor.record.for_viewers,
        id=monitor.id,
        status=state.status,
        down_in_window=state.is_down_in_window,
        since=int(state.since),
        cause=state.cause if secrets else public(state.cause),
        flapping=state.flapping,
        incident_id=state.incident_id,
        created_at=monitor.created_at,
        push_url=push_url(monitor.push_token, secrets=secrets),
    )
