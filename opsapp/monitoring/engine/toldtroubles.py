"""Incidents of no monitor, told by another system or a person, who also says when it is over.

Transaction functions. Must not: know what the other system sent, or decide what it is about.
"""

from __future__ import annotations

from opsapp.lib.durations import roughly
from opsapp.lib.problems import Conflict
from opsapp.monitoring.logic.told import ToldTrouble
from opsapp.monitoring.onpages import put_on
from opsapp.monitoring.resources import Incident, incidents_of
from opsapp.monitoring.shownon import ids_of
from opsapp.notify.engine import tell
from opsapp.tree.reading import is_sound
from opsapp.tree.root import Root

from .changes import add_update, tell_incident

MILD = {
    "info": "info",
    "information": "info",
    "informational": "info",
    "notice": "info",
    "none": "info",
    "low": "info",
    "warning": "warning",
    "warn": "warning",
    "minor": "warning",
    "medium": "warning",
    "average": "warning",
}  # any other severity, and none at all, is critical


def open_told(root: Root, told: ToldTrouble, now: float, pages: tuple[str, ...] = ()) -> str:
    """`pages`: paths of the status pages on which it is shown."""
    incidents = incidents_of(root)
    incident = incidents.start_told(told, now)
    put_on(incidents, incident, ids_of(root, pages))
    tell_incident(root, incident, "opened", now)
    text = told.description if told.summary in told.description else f"{told.summary}\n{told.description}".strip()
    _say(root, incident, "incident.opened", told.title, "\n".join((text, *told.links)).strip(), now)
    return incident.id


def close_by_hand(root: Root, incident: Incident, user: str, note: str, now: float) -> None:
    if incident.told is None or not incident.told.opened_by:
        raise Conflict("It was not opened by hand: what opened it ends it.", code="not_by_hand")
    if incident.resolved is not None:
        raise Conflict("This incident is over.", code="resolved")
    if note:
        add_update(root, incident, user, "resolved", note, now, public=False)
    close_told(root, incident.id, now)


def close_told(root: Root, incident_id: str, now: float, why: str = "") -> None:
    """`why`: it ends for another reason than that the sender said so."""
    incidents = incidents_of(root)
    if incident_id not in incidents.open:
        return
    if not is_sound(incidents, "incident", incident_id, incidents.get(incident_id)):
        incidents.open.remove(incident_id)  # nobody can say any more when it began
        incidents.open_of_none.discard(incident_id)
        return
    incident = incidents.end(incident_id, now, why)
    tell_incident(root, incident, "resolved", now)
    if why:
        _say(root, incident, "incident.closed", f"The incident of {incident.monitor_name} is closed", why, now)
    else:
        text = f"It lasted {roughly(now - incident.started)}: {incident.cause}".rstrip(": ")
        _say(root, incident, "incident.resolved", f"{incident.monitor_name} is over", text, now)


def severity_of(incident: Incident) -> str:
    """How severe a message about it is; a monitor that is down is critical."""
    return "critical" if incident.told is None else MILD.get(incident.told.severity.lower(), "critical")


def _say(root: Root, incident: Incident, kind: str, title: str, text: str, now: float) -> None:
    """What one inlet says of one name within a while is one message: a storm is no thousand of them."""
    told = incident.told
    assert told is not None
    severity = severity_of(incident)
    key = f"inlet:{told.inlet}:{told.name}" if told.inlet else f"incident:{incident.id}"
    ids = {"incident": incident.id} | ({"inlet": told.inlet} if told.inlet else {})
    tell(root, now, key=key, kind=kind, severity=severity, title=title, text=text, ids=ids)
