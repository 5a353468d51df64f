"""What automations have to say about an incident: runs for its host during it, and which have worked there before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsapp.agents import engine as agents
from opsapp.automations.logic import ranking
from opsapp.automations.resources import Automation, automations_of, runs_of
from opsapp.monitoring.resources import monitors_of
from opsapp.tree.root import Root

MOST = 10
LOOKED_AT = 50  # of the newest runs of each
BEFORE_S = 3600


def section(root: Root, incident: Mapping[str, Any], now: float) -> dict[str, list[Any]]:
    """An `IWarRoomSection`."""
    monitor = monitors_of(root).get(incident["monitor_id"])
    if monitor is None:
        return {}
    host = next((each for each in agents.hosts(root) if each.agent_id == monitor.settings["agent_id"]), None)
    tags = {*monitor.settings["tags"], *(host.tags if host else ())}
    found = [each for each in automations_of(root).values() if concerns(each, host, tags)]
    suggested = sorted((suggestion(root, each) for each in found), key=lambda row: (-row["score"], row["name"]))
    since, until = incident["started"] - BEFORE_S, incident.get("resolved") or now
    events = [event for each in found for event in _events(root, each, since, until)]
    return {"suggested_automations": suggested[:MOST], "events": events}


def concerns(automation: Automation, host: Any, tags: set[str]) -> bool:
    """Whether it acts on this host, or on what shares a tag with it."""
    params = automation.definition.params
    if params.get("tag"):
        return params["tag"] in tags
    if host is None:
        return False
    return params.get("agent_id") == host.agent_id or params.get("hostname") in (host.hostname, host.label)


def suggestion(root: Root, automation: Automation) -> dict[str, Any]:
    """With what its runs have shown: `score` is what at least may be expected of it, not the bare rate."""
    statuses = [runs_of(root)[run_id].status for run_id in automation.history.newest(LOOKED_AT)]
    good = statuses.count("done")
    tried = good + sum(statuses.count(bad) for bad in ("failed", "timeout", "lost"))
    return {
        "id": automation.id,
        "name": automation.name,
        "type": automation.definition.kind,
        "runs": tried,
        "succeeded": good,
        "success_rate": round(100 * good / tried, 2) if tried else None,
        "score": round(ranking.at_least(good, tried), 4),
    }


def _events(root: Root, automation: Automation, since: float, until: float) -> list[dict[str, Any]]:
    runs = [runs_of(root)[run_id] for run_id in automation.history.newest(LOOKED_AT)]
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
