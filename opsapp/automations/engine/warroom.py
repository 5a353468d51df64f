"""What automations have to say about an incident: the runs that belong to it, and which have ended an outage of its
monitor before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from opsapp.agents import engine as agents
from opsapp.automations.logic.params import Targeted
from opsapp.automations.resources import Automation, Run, automations_of, runs_of
from opsapp.automations.resources.runs import first_id
from opsapp.lib.rates import wilson
from opsapp.monitoring.interfaces import WarRoomSection
from opsapp.monitoring.records import IncidentRecord, SuggestedRemedy, WarRoomEvent
from opsapp.monitoring.resources import incidents_of, monitors_of
from opsapp.tree.counted import LAST, newest
from opsapp.tree.root import Root

MOST = 10
LOOKED_AT = 50  # of the newest runs of each
OUTAGES = 10  # the newest ones, in which somebody may have run something
BY_ITSELF = ("schedule", "catch_up", "webhook")
BEFORE_S = 3600
FROM = "incident:"  # the origin of a run that was started from one
SUCCEEDED, FAILED = ("done",), ("failed", "timeout", "lost")
Z = 1.645  # one-sided 95 %
SOON_S = 600.0  # an outage that ends so soon after a run was ended by it, as far as anybody can tell


def section(root: Root, incident: IncidentRecord, now: float) -> WarRoomSection:
    """An `IWarRoomSection`. A run belongs to the incident where it was started from it, or acted on its host during it;
    others that have to do with it are told apart."""
    monitor = monitors_of(root).find(incident.monitor_id)
    host = agents.host_of(root, monitor.record.agent_id) if monitor is not None and monitor.record.agent_id else None
    of_host = set(host.tags) if host is not None else set()
    tags = of_host | set(monitor.record.tags if monitor is not None else ())
    outages = [] if monitor is None else outages_of(root, monitor.__name__, now)
    since, until = incident.started, incident.resolved or now
    suggested: list[SuggestedRemedy] = []
    runs: dict[bool, list[WarRoomEvent]] = {True: [], False: []}  # whether they belong
    for automation in automations_of(root).values():
        on_host = concerns(automation, host, of_host)
        is_near = concerns(automation, host, tags) or was_tried(root, automation, outages[-OUTAGES:])
        suggested += [suggestion(root, automation, outages)] if is_near else []
        for run in _began_between(root, automation, since - BEFORE_S, until):
            belongs = _belongs(run, incident.id, since, on_host=on_host)
            runs[belongs] += [_event(run)] if belongs or is_near else []
    best = sorted(suggested, key=lambda remedy: (-remedy.score, remedy.name))
    return WarRoomSection(suggested_automations=best[:MOST], events=runs[True], other_runs=runs[False])


def concerns(automation: Automation, host: Any, tags: set[str]) -> bool:
    """Whether it acts on this host, or on what shares a tag with it."""
    params = automation.params
    if not isinstance(params, Targeted):
        return False
    if params.tag:
        return params.tag in tags
    return host is not None and (params.agent_id == host.agent_id or params.hostname in (host.hostname, host.label))


def was_tried(root: Root, automation: Automation, outages: Sequence[Outage]) -> bool:
    """Whether somebody ran it in one of these outages, wherever it acts. That it ran by itself then says nothing."""
    if not outages or (automation.state.last_run or 0) < outages[0].started:
        return False
    spans = [(first_id(outage.started), first_id(outage.ended + 0.001)) for outage in outages]
    asked = [
        run_id
        for run_id in automation.history.newest(LOOKED_AT)
        if any(first <= run_id < after for first, after in spans)
    ]
    runs = runs_of(root).some(asked)
    return any(run.origin not in BY_ITSELF and run.parent is None for run in runs)


class Outage(NamedTuple):
    started: float
    ended: float
    resolved: bool  # the monitor came back by then

    def ended_by(self, at: float) -> bool:
        return self.resolved and self.ended - at <= SOON_S


def outages_of(root: Root, monitor_id: str | None, now: float) -> list[Outage]:
    """The newest ones of a monitor."""
    incidents = incidents_of(root)
    of_monitor = incidents.by_monitor.get(monitor_id or "")
    ids = newest(of_monitor, None, LAST, 0, LOOKED_AT) if of_monitor else []
    past = list(incidents.some(ids[::-1]))
    return [
        Outage(incident.started, incident.resolved or now, bool(incident.resolved) and not incident.closed_because)
        for incident in past
    ]


def runs_on(root: Root, agent_id: str, since: float, until: float, most: int) -> list[Run]:
    """The newest runs of what acts on this host that began in that time."""
    host = agents.host_of(root, agent_id)
    if host is None:
        return []
    tags = set(host.tags)
    about = [automation for automation in automations_of(root).values() if concerns(automation, host, tags)]
    return _newest_of(root, about, since, until, most)


def runs_near(root: Root, since: float, until: float, most: int) -> list[Run]:
    """The newest runs that began in that time, wherever they act."""
    return _newest_of(root, automations_of(root).values(), since, until + 1, most)


def _newest_of(root: Root, about: Iterable[Automation], since: float, until: float, most: int) -> list[Run]:
    first, after = first_id(since), first_id(until)
    ids = [run_id for automation in about for run_id in automation.history.between(first, after)]
    return list(runs_of(root).some(sorted(ids)[-most:]))


def runs_in(root: Root, incident_id: str, agent_id: str | None, since: float, until: float) -> list[Run]:
    """The runs that belong to an incident of this host."""
    host = agents.host_of(root, agent_id) if agent_id else None
    tags = set(host.tags) if host is not None else set()
    return [
        run
        for automation in automations_of(root).values()
        for run in _began_between(root, automation, since, until)
        if _belongs(run, incident_id, since, on_host=concerns(automation, host, tags))
    ]


def _belongs(run: Run, incident_id: str, since: float, *, on_host: bool) -> bool:
    return run.origin == f"{FROM}{incident_id}" or (on_host and run.created_at >= since)


def suggestion(root: Root, automation: Automation, outages: Sequence[Outage]) -> SuggestedRemedy:
    """`score`: what at least may be expected of it against this: by what came of the monitor's outages in which it ran;
    else half of what its runs promise in general."""
    runs = list(runs_of(root).some(automation.history.newest(LOOKED_AT)))
    results = [ended for outage in outages if (ended := helped(runs, outage)) is not None]
    statuses = [run.status for run in runs]
    good = sum(status in SUCCEEDED for status in statuses)
    tried = good + sum(status in FAILED for status in statuses)
    return SuggestedRemedy(
        id=automation.id,
        name=automation.name,
        type=automation.settings.type,
        runs=tried,
        succeeded=good,
        success_rate=round(100 * good / tried, 2) if tried else None,
        tried_here=len(results),
        helped_here=sum(results),
        score=round(for_condition(sum(results), len(results), good, tried), 4),
    )


def helped(runs: Sequence[Run], outage: Outage) -> bool | None:
    """The outage ended soon after one of these that went well; None where none ran in it that somebody had asked for,
    or nobody can tell."""
    asked = [run for run in runs if run.origin not in BY_ITSELF and run.status in (*SUCCEEDED, *FAILED)]
    begun = [(run.started, run.status in SUCCEEDED) for run in asked if run.started is not None]
    within = [(at, went_well) for at, went_well in begun if outage.started <= at <= outage.ended]
    known = [(at, went_well) for at, went_well in within if outage.resolved or outage.ended - at > SOON_S]
    return any(went_well and outage.ended_by(at) for at, went_well in known) if known else None


def _began_between(root: Root, automation: Automation, since: float, until: float) -> list[Run]:
    if (automation.state.last_run or 0) < since:
        return []
    ids = list(automation.history.between(first_id(since), first_id(until + 0.001)))[-LOOKED_AT:]
    return [run for run in runs_of(root).some(ids) if run.started is not None]


def _event(run: Run) -> WarRoomEvent:
    text = f"{run.name}: {run.status}, asked for by {run.requested_by}"
    return WarRoomEvent(int(run.started or run.created_at), "run", text, run_id=run.id)


# -- how much is to be expected of what has worked so often out of so many times


def at_least(good: int, tried: int) -> float:
    """The lower bound of the success rate (Wilson); 0 with no trial at all."""
    return wilson(good, tried, Z).low if tried else 0.0


def for_condition(helped: int, tried_here: int, good: int, tried: int) -> float:
    """The score against this very condition. Where it was never tried, a general success counts half."""
    return at_least(helped, tried_here) if tried_here else at_least(good, tried) / 2
