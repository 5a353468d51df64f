"""What people are told of incidents: that one has opened, and how it ended. In the transaction that makes it so."""

from __future__ import annotations

from opsapp.lib.durations import roughly
from opsapp.monitoring.resources import Incident, Monitor
from opsapp.notify.engine import tell
from opsapp.tree.root import Root


def opened(root: Root, monitor: Monitor, incident: Incident, now: float) -> None:
    cause = incident.cause or "no cause is known"
    _say(root, monitor, incident, "incident.opened", f"{incident.monitor_name} is down", cause, now)


def resolved(root: Root, monitor: Monitor, incident: Incident, now: float) -> None:
    text = f"It was down for {roughly(now - incident.started)}: {incident.cause}".rstrip(": ")
    _say(root, monitor, incident, "incident.resolved", f"{incident.monitor_name} is up again", text, now)


def closed(root: Root, monitor: Monitor, incident: Incident, why: str, now: float) -> None:
    """It ended, and not because the monitor came back."""
    title = f"The incident of {incident.monitor_name} is closed"
    _say(root, monitor, incident, "incident.closed", title, why, now)


def _say(root: Root, monitor: Monitor, incident: Incident, kind: str, title: str, text: str, now: float) -> None:
    """The end is as severe as the beginning, so that it reaches whoever was told of the beginning."""
    tell(
        root,
        now,
        key=f"incident:{monitor.id}",
        kind=kind,
        severity="critical",
        title=title,
        text=text,
        tags=monitor.record.tags,
        target=monitor.id,
        ids={"monitor": monitor.id, "incident": incident.id},
        phase="begins" if kind == "incident.opened" else "over",
        name=incident.monitor_name,
    )
