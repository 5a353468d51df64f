"""What is wrong now, what it comes from, and what healing is about, in one answer for the first page that people see.

Read-only, in the caller's transaction. It costs the same with ten incidents and with a thousand: lists are cut, and a
list says how many it was cut from. Must not: say what people should do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from opsapp.agents.engine import HostsStanding, SilentHost, host_ids, host_of, standing_of_hosts
from opsapp.agents.resources import agents_of
from opsapp.healing.logic.rules import RuleStep, names_of, steps
from opsapp.healing.resources import Healing, healing_of
from opsapp.healing.stages.case import CaseRecord, VerifyingCase
from opsapp.healing.stages.holdout import is_left_alone
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Unopened, Unreadable
from opsapp.monitoring.engine import (
    MonitorsStanding,
    TroubledMonitor,
    ending_certificates,
    last_day,
    register_of,
    standing_of_all,
)
from opsapp.monitoring.resources import incidents_of
from opsapp.runtime.node import Node, node_of
from opsapp.runtime.projection import among, readable
from opsapp.tree.root import Root

from . import holds
from .root_causes import causes_of

MOST_TROUBLES, MOST_CASES, MOST_DAYS = 60, 12, 16
NEWEST_ENTRIES = 40
CAUSE = 2000
FORESEEN = ("agent_id", "metric", "mount", "now", "threshold", "hits_at", "low", "high", "coverage")
STAGES = {"correlating": 0, "planning": 1, "awaiting_approval": 1, "executing": 2, "settling": 2, "verifying": 3}
WORST = ("down", "degraded", "unknown")
TOLD = {"critical": "down", "error": "down", "warning": "degraded", "info": "degraded"}  # as bad as that


def overview(root: Root, now: float) -> JsonObject:
    node, healing = node_of(root), healing_of(root)
    monitors, hosts = standing_of_all(node, root, now), standing_of_hosts(root)
    troubles = _troubles(root, healing, monitors, hosts, now)
    cases = [case.record for case in healing.book.all_open()]
    cases.sort(key=lambda case: (not case.acts, case.opened_at))
    shown = [_under_way(root, healing, case, now) for case in cases[:MOST_CASES]]
    agents, events = len(list(agents_of(root))), len(incidents_of(root).open_of_none)
    named = {name for entry in _newest(healing) for name in names_of(entry["target"])}
    named |= {name for row in (*troubles, *shown) for name in names_of(str(row.get("target") or row.get("name")))}
    named |= {trouble["root_cause"] for trouble in troubles if trouble["root_cause"]}
    return {
        "at": int(now),
        "monitors": {**monitors.counts, "total": sum(monitors.counts.values())},
        "agents": {"total": agents, "reporting": hosts.online, "waiting": agents - hosts.heard},
        "troubles": _with_days(node, root, troubles[:MOST_TROUBLES], monitors.troubled, now),
        "wrong": _counted(troubles) | {"events": events},
        "troubles_total": len(troubles) + max(0, events - MOST_TROUBLES),
        "cases": shown,
        "cases_total": len(cases),
        "holds": [hold._asdict() for hold in holds.standing(root, now)],
        "certificates": [certificate._asdict() for certificate in ending_certificates(node, root)],
        "next": _next_break(root, healing),
        "monitor_ids": {entry.name: entry.id for entry in register_of(node).entries.values() if entry.name in named},
        "agent_ids": host_ids(root, named),
    }


def _counted(troubles: list[JsonObject]) -> JsonObject:
    known = {trouble["name"] for trouble in troubles}
    alerts = sum(trouble["kind"] == "alert" for trouble in troubles)
    measured = [trouble for trouble in troubles if trouble["kind"] in ("monitor", "host")]
    statuses = [trouble["status"] for trouble in measured]
    down = [trouble for trouble in measured if trouble["status"] == "down"]
    causes = {trouble["root_cause"] if trouble["root_cause"] in known else trouble["name"] for trouble in down}
    counts = {status: statuses.count(status) for status in WORST}
    return {**counts, "causes": len(causes), "alerts": alerts}


def _next_break(root: Root, healing: Healing) -> JsonObject | None:
    for row in sorted(healing.foresight.soonest, key=lambda row: row["hits_at"]):
        host = host_of(root, row["agent_id"])
        if host is not None:
            return {**{name: row[name] for name in FORESEEN}, "hostname": host.hostname}
    return None


def _newest(healing: Healing) -> list[JsonObject]:
    return list(healing["ledger"].page(None, None, NEWEST_ENTRIES, 0)[1])


def _troubles(
    root: Root, healing: Healing, monitors: MonitorsStanding, hosts: HostsStanding, now: float
) -> list[JsonObject]:
    """Root causes before what hangs on them, down before slow before unknown, of alike ones the oldest first. What has
    an open incident stands with what is down: it was, and nobody knows better."""
    troubles = [_of_host(host) for host in hosts.silent]
    troubles += [_of_monitor(monitor) for monitor in monitors.troubled]
    troubles += _told(healing, {trouble["name"] for trouble in troubles})
    causes = causes_of(root, {trouble["name"] for trouble in troubles}, now)
    troubles += _of_nothing_here(root)
    for trouble in troubles:
        trouble["root_cause"] = causes.get(trouble["name"]) if trouble["kind"] != "event" else None
        trouble["case_id"] = healing.book.open_on.get(trouble["name"]) or healing.book.last_on.get(trouble["name"])
    known = {trouble["name"] for trouble in troubles}
    troubles.sort(key=lambda trouble: (trouble["root_cause"] in known, _rank(trouble), trouble["since"] or now))
    return troubles


def _rank(trouble: JsonObject) -> int:
    return 0 if trouble["incident_id"] else WORST.index(trouble["status"])


def _of_monitor(monitor: TroubledMonitor) -> JsonObject:
    known = {name: getattr(monitor, name) for name in ("id", "name", "status", "since", "cause")}
    about = {"incident_id": monitor.incident_id, "acknowledged_by": monitor.acknowledged_by, "rule_id": None}
    return {"kind": "monitor", **known, **about, "last_day": []}


def _of_host(host: SilentHost) -> JsonObject:
    return {
        "kind": "host",
        "id": host.agent_id,
        "name": host.hostname,
        "status": "unknown" if host.unheard else "down",
        "since": None if host.last_seen is None else int(host.last_seen),
        "cause": "",
        "incident_id": None,
        "acknowledged_by": None,
        "rule_id": None,
        "last_day": [],
    }


def _of_nothing_here(root: Root) -> list[JsonObject]:
    """Open incidents of which another system told; the newest of them, where they are many."""
    incidents = incidents_of(root)
    ids = list(incidents.open_of_none)[-MOST_TROUBLES:]
    return [
        {
            "kind": "event",
            "id": None,
            "name": incident.monitor_name,
            "status": "down",
            "since": incident.started,
            "cause": incident.cause[:CAUSE],
            "incident_id": incident.id,
            "acknowledged_by": incident.acknowledged_by,
            "rule_id": None,
            "last_day": [],
        }
        for _, incident in among(incidents, "incident", ids)
    ]


def _told(healing: Healing, known: Iterable[str]) -> list[JsonObject]:
    """Conditions on hosts that people were told of, and not that they are over."""
    told: Mapping[tuple[str, str], str] = healing.book.told or {}
    alerts: list[JsonObject] = []
    conditions = (
        {rule_id: rule.fields["condition"] for rule_id, rule in readable(healing["rules"], "rule")} if told else {}
    )
    for (rule_id, target), severity in told.items():
        if target in known or rule_id not in healing["rules"]:
            continue
        since = _since(healing, rule_id, target)
        alerts.append(
            {
                "kind": "alert",
                "id": None,
                "name": target,
                "status": TOLD.get(severity, "degraded"),
                "since": since,
                "cause": str(conditions.get(rule_id, "")),
                "incident_id": None,
                "acknowledged_by": None,
                "rule_id": rule_id,
                "last_day": [],
            }
        )
    return alerts


def _since(healing: Healing, rule_id: str, target: str) -> int | None:
    """When the case began that people were told of: the open one, else the last one of the rule and target."""
    for case in healing.book.open_cases(target):
        return int(case.record.opened_at)
    last = healing.book.last_of.get((rule_id, target))
    return None if last is None else int(last[0])


def _with_days(
    node: Node, root: Root, troubles: list[JsonObject], monitors: list[TroubledMonitor], now: float
) -> list[JsonObject]:
    """The first ones with how they stood in the last 24 hours: reading that is most of the cost."""
    series = {monitor.id: monitor.series for monitor in monitors}
    own = [trouble for trouble in troubles if trouble["kind"] == "monitor" and not trouble["root_cause"]]
    for trouble in own[:MOST_DAYS]:
        trouble["last_day"] = last_day(node, root, series[trouble["id"]], now)
    return troubles


def _under_way(root: Root, healing: Healing, case: CaseRecord, now: float) -> JsonObject:
    chain, heal = _chain_of(healing, case.rule_id), case.heal
    host = None if heal is None else host_of(root, heal.host)
    return {
        "id": case.id,
        "target": case.target,
        "rule_id": case.rule_id,
        "condition": case.about.rule_condition,
        "state": case.state,
        "stage": STAGES.get(case.state, 0),
        "step": case.step,
        "steps": len(chain),
        "action": None if heal is None else heal.action,
        "params": "" if heal is None else _told_params(heal.params),
        "hostname": None if host is None else host.hostname,
        "agent_id": None if heal is None else heal.host,
        "opened_at": int(case.opened_at),
        "due": _told_due(case),
        "approval_id": case.approval_id if case.state == "awaiting_approval" else None,
        "left_until": int(case.left_until) if is_left_alone(case, now) and case.left_until is not None else None,
        "waits": case.queued or case.waits_since is not None,
        "then": [_next(step) for step in chain[case.step + 1 :]],
    }


def _told_due(case: CaseRecord) -> int | None:
    """The next look; of a heal that waits for its proof its latest moment, because it is looked at each second."""
    due = case.deadline if isinstance(case, VerifyingCase) else case.due
    return int(due) if 0 < due < 1e11 else None


def _chain_of(healing: Healing, rule_id: str) -> list[RuleStep]:
    """None is known of a rule that is gone, damaged, or sealed with another key; what reads all rules says so."""
    try:
        return steps(healing["rules"][rule_id].fields)
    except (KeyError, Unreadable, Unopened):
        return []


def _next(step: RuleStep) -> JsonObject:
    return {"action": step.action, "params": _told_params(step.params)}


def _told_params(params: Mapping[str, object]) -> str:
    """Parameters as one would type them after the action."""
    return " ".join(value if isinstance(value, str) else json.dumps(value) for value in params.values() if value)
