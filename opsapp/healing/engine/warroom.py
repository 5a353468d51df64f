"""What healing knows about an incident: the heals of its monitor and host, what it depends on, what has helped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsapp.healing.resources import healing_of
from opsapp.healing.stages.ledger import effectiveness
from opsapp.monitoring.resources import monitors_of
from opsapp.tree.root import Root

from .reach import reach_of

MOST = 50
BEFORE_S = 3600


def section(root: Root, incident: Mapping[str, Any], now: float) -> dict[str, list[Any]]:
    """An `IWarRoomSection`."""
    healing, names = healing_of(root), _names(root, incident)
    ledger = healing["ledger"]
    rows = {row["id"]: row for name in names for row in ledger.page(None, name, MOST, 0)[1]}
    since, until = incident["started"] - BEFORE_S, incident.get("resolved") or now
    heals = sorted((row for row in rows.values() if since <= row["created_at"] <= until), key=lambda row: row["id"])
    return {"heals": heals, "events": [_event(row) for row in heals], "dependencies": _dependencies(healing, names),
            "suggested_automations": _helped(ledger, rows.values())}  # fmt: skip


def _names(root: Root, incident: Mapping[str, Any]) -> list[str]:
    """What the ledger may call the incident's monitor and the host that it runs on."""
    monitor = monitors_of(root).get(incident["monitor_id"])
    agent_id = monitor.settings["agent_id"] if monitor is not None else None
    hosts = [place.name for place in reach_of(root).places(root) if place.is_agent and place.agent_id == agent_id]
    return [incident["monitor_name"], *hosts]


def _event(row: Mapping[str, Any]) -> dict[str, Any]:
    outcome = row["outcome"] or row["state"]
    what = f"{row['action_type']} on {row['target']}" if row["action_type"] else row["target"]
    return {
        "time": row["finished_at"] or row["created_at"],
        "kind": "heal",
        "text": f"{what}: {outcome}" + (f" ({row['reason']})" if row["reason"] else ""),
        "ledger_id": row["id"],
    }


def _dependencies(healing: Any, names: list[str]) -> list[dict[str, Any]]:
    graph = healing["dependencies"].graph()
    return [
        {"target": name, "depends_on": above, "path": list(path)}
        for name in names
        for above, path in graph.ancestors(name).items()
    ]


def _helped(ledger: Any, rows: Any) -> list[dict[str, Any]]:
    """Actions that were tried for these conditions, best first by the lower bound of their success."""
    tried = {(row["action_type"], row["condition"]) for row in rows if row["action_type"]}
    found = [effectiveness(action, condition, *ledger.statistics(action, condition)) for action, condition in tried]
    measured = [one for one in found if one["total"]]
    return sorted(measured, key=lambda one: (-(one["lower_bound"] or 0), one["action_type"]))
