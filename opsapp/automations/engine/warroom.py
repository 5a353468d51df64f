"""What automations have to say about an incident: runs for its host during it, and which have worked there before, or
in an earlier outage of its monitor."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any, NamedTuple

from opsapp.agents import engine as agents
from opsapp.automations.logic.params import Targeted
from opsapp.automations.resources import Automation, Run, automations_of, runs_of
from opsapp.automations.resources.runs import first_id
from opsapp.lib.jsontypes import JsonObject
from opsapp.monitoring.resources import incidents_of, monitors_of
from opsapp.runtime.projection import among, readable
from opsapp.tree.root import Root

from .edits import KIND

MOST = 10
LOOKED_AT = 50  # of the newest runs of each
OUTAGES = 10  # the newest ones, in which somebody may have run something
BY_ITSELF = ("schedule", "catch_up", "webhook")
BEFORE_S = 3600
SUCCEEDED, FAILED = ("done",), ("failed", "timeout", "lost")
Z = 1.645  # one-sided 95 %
SOON_S = 600.0  # an outage that ends so soon after a run was ended by it, as far as anybody can tell


def section(root: Root, incident: JsonObject, now: float) -> dict[str, list[Any]]:
    """An `IWarRoomSection`."""
    monitor = monitors_of(root).get(incident["monitor_id"] or "")
    if monitor is None:
        return {}
    host = agents.host_of(root, monitor.record.agent_id) if monitor.record.agent_id else None
    tags = {*monitor.record.tags, *(host.tags if host else ())}
    outages = outages_of(root, incident["monitor_id"], now)
    concerned = [
        automation
        for _, automation in readable(automations_of(root), KIND)
        if concerns(automation, host, tags) or was_tried(root, automation, outages[-OUTAGES:])
    ]
    rows = [suggestion(root, automation, outages) for automation in concerned]
    suggested = sorted(rows, key=lambda row: (-row["score"], row["name"]))
    since, until = incident["started"] - BEFORE_S, incident.get("resolved") or now
    events = [event for automation in concerned for event in _events(root, automation, since, until)]
    return {"suggested_automations": suggested[:MOST], "events": events}


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
    runs = among(runs_of(root), "run", asked)
    return any(run.origin not in BY_ITSELF and run.parent is None for _, run in runs)


class Outage(NamedTuple):
    started: float
    ended: float
    resolved: bool  # the monitor came back by then


def outages_of(root: Root, monitor_id: str, now: float) -> list[Outage]:
    """The newest ones of a monitor."""
    incidents = incidents_of(root)
    ids = list(incidents.by_monitor.get(monitor_id, ()))[-LOOKED_AT:]
    past = [incident for _, incident in among(incidents, "incident", ids)]
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
    present = (automation for _, automation in readable(automations_of(root), KIND))
    about = [automation for automation in present if concerns(automation, host, tags)]
    ids = [run_id for acting in about for run_id in acting.history.between(first_id(since), first_id(until))]
    return [run for _, run in among(runs_of(root), "run", sorted(ids)[-most:])]


def _newest(root: Root, automation: Automation) -> list[Run]:
    return [run for _, run in among(runs_of(root), "run", automation.history.newest(LOOKED_AT))]


def suggestion(root: Root, automation: Automation, outages: Sequence[Outage]) -> JsonObject:
    """With what its runs have shown. `score` is what at least may be expected of it against this: by what came of the
    monitor's outages in which it ran; else half of what its runs promise in general."""
    runs = _newest(root, automation)
    results = [result for run in runs if (result := helped(run, outages)) is not None]
    statuses = [run.status for run in runs]
    good = sum(status in SUCCEEDED for status in statuses)
    tried = good + sum(status in FAILED for status in statuses)
    return {
        "id": automation.id,
        "name": automation.name,
        "type": automation.settings.type,
        "runs": tried,
        "succeeded": good,
        "success_rate": round(100 * good / tried, 2) if tried else None,
        "tried_here": len(results),
        "helped_here": sum(results),
        "score": round(for_condition(sum(results), len(results), good, tried), 4),
    }


def helped(run: Run, outages: Sequence[Outage]) -> bool | None:
    """Whether an outage ended soon after a run that it had asked for; None where it ran in none, or nobody can tell."""
    if run.started is None or run.status not in (*SUCCEEDED, *FAILED):
        return None
    during = next((outage for outage in outages if outage.started <= run.started <= outage.ended), None)
    if during is None or not (during.resolved or during.ended - run.started > SOON_S):
        return None
    return run.status in SUCCEEDED and during.resolved and during.ended - run.started <= SOON_S


def _events(root: Root, automation: Automation, since: float, until: float) -> list[JsonObject]:
    runs = _newest(root, automation)
    return [
        {
            "time": int(run.started),
            "kind": "run",
            "text": f"{automation.name}: {run.status}, asked for by {run.requested_by}",
            "run_id": run.id,
        }
        for run in runs
        if run.started is not None and since <= run.started <= until
    ]


# -- how much is to be expected of what has worked so often out of so many times


def at_least(good: int, tried: int) -> float:
    """The lower bound of the success rate (Wilson); 0 with no trial at all."""
    if tried == 0:
        return 0.0
    rate, weight = good / tried, Z * Z / tried
    middle = rate + weight / 2
    spread = Z * sqrt(rate * (1 - rate) / tried + weight / (4 * tried))
    return max(0.0, (middle - spread) / (1 + weight))


def for_condition(helped: int, tried_here: int, good: int, tried: int) -> float:
    """What is to be expected against this very condition. Where it was never tried, a general success counts half."""
    return at_least(helped, tried_here) if tried_here else at_least(good, tried) / 2
