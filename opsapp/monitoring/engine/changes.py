"""What changes the store for monitors and incidents, each in the caller's one transaction, and tells of it."""

from __future__ import annotations

from typing import Any

from opsapp.agents.resources import agents_of
from opsapp.auth.resources import users_of
from opsapp.lib.ids import new_token
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Conflict, Invalid
from opsapp.monitoring.earlier import forget
from opsapp.monitoring.interfaces import IIncidentTold
from opsapp.monitoring.logic.settings import NOTHING, MonitoringSettings, MonitorSettings, agent_of, complete, problems
from opsapp.monitoring.logic.state import Standing
from opsapp.monitoring.records import IncidentNote
from opsapp.monitoring.resources import (
    Incident,
    Monitor,
    add_monitor,
    incidents_of,
    monitors_of,
    place_monitor,
    push_addresses,
    remove_monitor,
)
from opsapp.runtime import events
from opsapp.runtime.node import node_of, now_of
from opsapp.series import NONE, erasure
from opsapp.tree.counted import LAST
from opsapp.tree.reading import is_sound
from opsapp.tree.root import Root
from opsapp.wire.records import plain

from . import notifications


def with_defaults(root: Root, given: JsonObject) -> MonitorSettings:
    return complete(given, node_of(root).config[MonitoringSettings].defaults)


def create(root: Root, settings: MonitorSettings, series: int, now: float) -> str:
    refuse(unknown_agents(root, settings, NOTHING))
    monitor = add_monitor(root, settings, series, now)
    tell(root, monitor, "created", now)
    return monitor.id


def update(root: Root, monitor: Monitor, settings: MonitorSettings, now: float) -> None:
    """What does not fit together is refused."""
    before = monitor.record
    refuse(misfits(root, before, settings))
    if settings == before:
        return
    if settings.type != before.type:
        _move_push_address(root, monitor, settings.type)
    if before.enabled and not settings.enabled:
        _resolve(root, monitor, now, "The monitor was paused.")
    if settings.looked_at != before.looked_at:
        _forget_metrics(root, monitor, now)
    monitor.change(settings, now)
    tell(root, monitor, "updated", now)


def delete(root: Root, monitor: Monitor, now: float) -> None:
    """The monitor is deleted at once, and cannot be brought back."""
    take_out(root, monitor, now)
    let_go(root, monitor)


def take_out(root: Root, monitor: Monitor, now: float) -> None:
    """Take out a monitor, which may be put back: what it has measured stays."""
    _resolve(root, monitor, now, "The monitor was deleted.")
    # A pause lasts until the next observation: without this one its series would be carried on for ever.
    node_of(root).series.journal.mark(monitor.series, int(now * 1000), NONE, 0)
    remove_monitor(root, monitor)
    events.emit(root, "monitor", {"id": monitor.id, "name": monitor.name, "change": "deleted"})


def put_back(root: Root, monitor: Monitor) -> None:
    place_monitor(root, monitor, monitor.id)
    tell(root, monitor, "restored", now_of(root))


def let_go(root: Root, monitor: Monitor) -> None:
    forget(root, monitor.id)
    _forget_metrics(root, monitor, now_of(root))


def settle(
    root: Root, monitor_id: str, revision: int, standing: Standing, now: float, cert_ends: float | None = None
) -> bool:
    """A verdict becomes the state, and its incident opens or is resolved with it. `cert_ends`: another certificate was
    seen. False: the settings have changed since that check began."""
    monitor = monitors_of(root).get(monitor_id)
    if monitor is None or monitor.revision != revision:
        return False
    previous = monitor.state.status
    changed = standing.committed != monitor.state.standing().committed
    if standing.alarmed and monitor.state.incident_id is None:
        incident = incidents_of(root).start(monitor, standing.cause, now)
        tell_incident(root, incident, "opened", now)
        notifications.opened(root, monitor, incident, now)
    elif not standing.alarmed:
        _resolve(root, monitor, now)
    monitor.state.take(standing)
    if cert_ends is not None:
        monitor.state.cert_ends = cert_ends
    tell(root, monitor, "status" if cert_ends is None or changed else "certificate", now, previous=previous)
    return True


def acknowledge(root: Root, incident: Incident, user: str, note: str, now: float) -> None:
    incident.acknowledge(user, note, now)
    tell_incident(root, incident, "acknowledged", now, user=user)


def assign(root: Root, incident: Incident, user: str, to: str, note: str, now: float) -> None:
    """Assign the incident to somebody who is here; it need not have had an owner."""
    if incident.resolved is not None:
        raise Conflict("This incident is over.", code="resolved")
    person = users_of(root).get(to)
    if person is None or person.disabled:
        raise Invalid({"username": "there is no such user"})
    incident.assign(user, to, note, now)
    tell_incident(root, incident, "assigned", now, user=user)


def give_back(root: Root, username: str, now: float) -> None:
    """Take the open incidents from a user who was disabled or deleted; what was said of them stays."""
    incidents = incidents_of(root)
    theirs = [incident_id for _, incident_id in incidents.taken.keys((username, ""), (username, LAST))]
    for incident in incidents.some(theirs):
        incident.become_of(None)
        tell_incident(root, incident, "given_back", now, user=username)


def add_update(
    root: Root, incident: Incident, user: str, stage: str, message: str, now: float, *, public: bool
) -> None:
    """`public`: visitors of the status page read it."""
    note = incident.add_update(user, stage, message, now, public=public)
    tell_incident(root, incident, "updated", now, note, update=plain(note))


def tell(root: Root, monitor: Monitor, change: str, now: float, **more: Any) -> None:
    state = monitor.state
    data = {
        "id": monitor.id,
        "name": monitor.name,
        "change": change,
        "status": state.status,
        "cause": state.cause,
        "since": state.since,
        "flapping": state.flapping,
        "time": int(now),
    }
    events.emit(root, "monitor", data | more)


def tell_incident(
    root: Root, incident: Incident, change: str, now: float, note: IncidentNote | None = None, **more: Any
) -> None:
    """What changed; never all that people said before."""
    told = plain(incident.summary(now))
    del told["updates"]
    events.emit(root, "incident", told | {"change": change} | more)
    for _, heard in node_of(root).registry.getUtilitiesFor(IIncidentTold):
        heard(root, incident, change, now, note)


def misfits(root: Root, before: MonitorSettings, settings: MonitorSettings) -> dict[str, str]:
    """What does not fit together once this is written over what is stored."""
    return unknown_agents(root, settings, before) | problems(settings)


def refuse(wrong: dict[str, str]) -> None:
    if wrong:
        raise Invalid(wrong)


def unknown_agents(root: Root, settings: MonitorSettings, before: MonitorSettings) -> dict[str, str]:
    """Only agents that the monitor newly names are checked: one that is gone since does not hinder other changes."""
    agents = agents_of(root)
    wrong = {}
    host = settings.agent_id
    if host and host != before.agent_id and host not in agents:
        wrong["agent_id"] = "no such agent"
    fresh = set(settings.probe_from) - set(before.probe_from)
    missing = sorted(agent_id for agent_id in fresh if agent_id not in agents)
    if missing:
        wrong["probe_from"] = "no such agent: " + ", ".join(missing)
    declared = settings.declared
    if fresh and declared is not None and not declared.by_agents:
        who = "the service alone" if declared.on_service else "nobody"
        wrong["probe_from"] = f"must be empty for the type {declared.name}: {who} looks at it"
    moved = (settings.type, settings.url) != (before.type, before.url)
    if moved and settings.type == "agent" and agent_of(settings.url) not in agents:
        wrong["url"] = "no such agent"
    return wrong


def _resolve(root: Root, monitor: Monitor, now: float, why: str = "") -> None:
    """`why`: it ends for another reason than that all is well again."""
    incidents, incident_id = incidents_of(root), monitor.state.incident_id
    if incident_id is None:
        return
    monitor.state.incident_id = None
    if not is_sound(incidents, "incident", incident_id, incidents.get(incident_id)):
        incidents.open.remove(incident_id)  # nobody can say any more when it began
    else:
        incident = incidents.end(incident_id, now, why)
        tell_incident(root, incident, "resolved", now)
        if why:
            notifications.closed(root, monitor, incident, why, now)
        else:
            notifications.resolved(root, monitor, incident, now)


def _forget_metrics(root: Root, monitor: Monitor, now: float) -> None:
    if monitor.metrics:
        erasure.forget(root, [metric.series for metric in monitor.metrics.values()], int(now * 1000))
        monitor.keep_metrics({})


def _move_push_address(root: Root, monitor: Monitor, kind: str) -> None:
    addresses = push_addresses(root)
    if monitor.push_token:
        del addresses[monitor.push_token]
    monitor.push_token = new_token() if kind == "push" else None
    if monitor.push_token:
        addresses[monitor.push_token] = monitor.id
