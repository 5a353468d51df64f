"""Incidents as the API says them, for what other rooms add to a war room."""

from opsapp.monitoring.records import IncidentRecord


def open_incident(monitor_id, name, started):
    return IncidentRecord(
        id="i1", monitor_id=monitor_id, monitor_name=name, started=int(started), duration_minutes=1, cause="",
        status="open", acknowledged_by=None,
    )  # fmt: skip
