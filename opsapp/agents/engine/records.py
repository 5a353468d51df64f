"""Agents as others see them: the list's rows, the detail, hosts for rooms above. Inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from opsapp.agents import logic
from opsapp.agents.resources import Agent, AgentState, agents_of, conflicting, whole
from opsapp.lib.jsontypes import JsonObject
from opsapp.runtime.node import Node, node_of
from opsapp.tree.damage import NAMELESS
from opsapp.tree.root import Root
from opsapp.wire.version import VERSION

from .directory import AgentFacts, directory_of, facts_of, lives_elsewhere
from .memory import memory_of, subject

FLEET_STEP, FLEET_STEPS = 900_000, 24  # ms; six hours, for a line in a row
UNREAD: JsonObject = {
    "label": NAMELESS,
    "hostname": "",
    "ip": "",
    "os": "",
    "version": "",
    "status": "offline",
    "last_seen": None,
    "tags": (),
    "hostname_conflict": False,
    "clone_detected_at": None,
}


class HostFacts(NamedTuple):
    """An agent as rules and plans see it."""

    agent_id: str
    hostname: str
    label: str
    tags: tuple[str, ...]
    interval: float
    online: bool
    usable: frozenset[str] | None
    ambiguous: bool


class Presence(NamedTuple):
    """Whether an agent is heard, when it was heard last, how often it reports, and what its host is called."""

    online: bool
    last_seen: float | None
    interval: float
    host: str


def presence(node: Node, agent_id: str) -> Presence:
    """From this node's memory."""
    memory = memory_of(node)
    seen = memory.last_seen(agent_id, None)
    status_now = logic.status_of(seen, agent_id in memory.connected, node.clock.now(), memory.interval)
    host = directory_of(node).name_of(agent_id) or agent_id
    return Presence(status_now == "online", seen, memory.interval, host)


def hosts(root: Root) -> list[HostFacts]:
    """Every agent that was ever heard."""
    node = node_of(root)
    directory, interval = directory_of(node), memory_of(node).interval
    return [
        HostFacts(
            facts.id,
            facts.hostname or facts.label,
            facts.label,
            facts.tags,
            interval,
            status(node, facts) == "online",
            facts.usable,
            directory.shares_name(facts),
        )
        for facts in directory.all(root)
        if facts.status != "pending"
    ]


def is_connected(node: Node, state: AgentState | AgentFacts, agent_id: str) -> bool:
    """Whether it has an open session, here or, as far as the record says, on another node."""
    return agent_id in memory_of(node).connected or lives_elsewhere(node, state)


def session_elsewhere(root: Root, agent_id: str) -> str | None:
    """The other node that holds a session of it."""
    node, agent = node_of(root), agents_of(root).get(agent_id)
    return None if agent is None or agent_id in memory_of(node).connected else held_by(node, agent)


def held_by(node: Node, agent: Agent) -> str | None:
    """The name of the other node that holds its session; None when it is here or nowhere."""
    connected_here = agent.id in memory_of(node).connected
    return agent.state.node.partition(":")[0] if not connected_here and lives_elsewhere(node, agent.state) else None


def status(node: Node, facts: AgentFacts) -> str:
    if facts.status == "pending":
        return "pending"
    memory = memory_of(node)
    seen = memory.last_seen(facts.id, facts.last_seen)
    return logic.status_of(seen, is_connected(node, facts, facts.id), node.clock.now(), memory.interval)


def status_of(node: Node, agent: Agent) -> str:
    return status(node, facts_of(agent))


def rows(root: Root) -> list[JsonObject]:
    """The list, from memory; by label."""
    node = node_of(root)
    directory = directory_of(node)
    listed = sorted(directory.all(root), key=lambda facts: (facts.label, facts.id))
    rows = [row(node, facts, directory.shares_name(facts)) for facts in listed]
    lost = {agent_id: damage.reason for agent_id, damage in directory.damaged.items()}
    known = {facts.id for facts in listed}
    unread = [{**UNREAD, "id": agent_id, "unreadable": why} for agent_id, why in lost.items() if agent_id not in known]
    return unread + [shown | {"unreadable": lost[shown["id"]]} if shown["id"] in lost else shown for shown in rows]


def row(node: Node, facts: AgentFacts, shares_name: bool) -> JsonObject:
    """A list's entry."""
    seen = None if facts.status == "pending" else memory_of(node).last_seen(facts.id, facts.last_seen)
    return {
        "id": facts.id,
        "label": facts.label,
        "hostname": facts.hostname,
        "ip": facts.ip,
        "os": facts.os,
        "version": facts.version,
        "status": status(node, facts),
        "last_seen": whole(seen),
        "tags": list(facts.tags),
        "hostname_conflict": shares_name,
        "clone_detected_at": whole(facts.clone_at),
    }


def detail(root: Root, agent: Agent) -> JsonObject:
    """Everything of one agent."""
    node = node_of(root)
    metrics, at = metrics_of(node, agent.id)
    connected, skew = is_connected(node, agent.state, agent.id), memory_of(node).skew(agent.id)
    return {
        **row(node, facts_of(agent), conflicting(root, agent)),
        "created_at": int(agent.created_at),
        "metrics": metrics,
        "metrics_at": whole(at),
        "capabilities": agent.manifest.values if agent.manifest else None,
        "connected": connected,
        "clock_skew_s": None if skew is None else round(skew, 1),
        "agent_node": (agent.state.node.partition(":")[0] or None) if connected else None,
    }


def metrics_of(node: Node, agent_id: str) -> tuple[JsonObject, float | None]:
    """The current snapshot and when it was measured."""
    heard = memory_of(node).heard.get(agent_id)
    if heard is not None and heard.report is not None:
        return logic.snapshot(heard.report), heard.at
    values = node.series.live.get(subject(agent_id))
    return logic.snapshot_of_values(values), max((at for _, at in values.values()), default=None)


def fleet(root: Root, rows: Iterable[JsonObject]) -> list[JsonObject]:
    """Rows of the list with their newest figures, and CPU and memory of the last hours as means."""
    node, agents = node_of(root), agents_of(root)
    reading = node.series.reading(root)
    end = int(node.clock.now() * 1000) // FLEET_STEP * FLEET_STEP + FLEET_STEP
    since = end - FLEET_STEPS * FLEET_STEP

    def line(row: JsonObject, name: str) -> list[float | None]:
        agent = None if "unreadable" in row else agents.get(row["id"])
        number = agent.series.get(name) if agent is not None else None
        means: dict[int, float | None] = {}
        if number is not None:
            buckets = reading.buckets(number, since, end, FLEET_STEP)
            means = {bucket.start: None if bucket.mean is None else round(bucket.mean, 1) for bucket in buckets}
        return [means.get(start) for start in range(since, end, FLEET_STEP)]

    return [
        {
            **row,
            **_newest(node, row["id"]),
            "outdated": logic.is_outdated(row["version"], VERSION),
            "since": since // 1000,
            "step_s": FLEET_STEP // 1000,
            "cpu": line(row, "cpu_percent"),
            "mem": line(row, "mem_percent"),
        }
        for row in rows
    ]


def measured(node: Node, rows: Iterable[JsonObject]) -> list[JsonObject]:
    """Rows of the list with their newest figures."""
    return [row | _newest(node, row["id"]) for row in rows]


def _newest(node: Node, agent_id: str) -> JsonObject:
    metrics, at = metrics_of(node, agent_id)
    shown = {name: metrics.get(name) for name in ("cpu_percent", "mem_percent", "disk_percent", "uptime_s")}
    return {**shown, "metrics_at": whole(at), "failed_units": len(metrics["failed_units"])}


def history(root: Root, agent: Agent, *, range_h: int, resolution: int, until: int | None = None) -> list[JsonObject]:
    """Means per bucket of everything that is kept, of the last `range_h` hours or those before `until`.

    A bucket without a report is left out."""
    node = node_of(root)
    now, width = int(node.clock.now() * 1000), resolution * 1000
    end = now if until is None else min(now, until * 1000)
    reading = node.series.reading(root)
    points: dict[int, JsonObject] = {}
    for name, number in sorted(agent.series.items()):
        for bucket in reading.buckets(number, max(0, end - range_h * 3_600_000), end + 1, width):
            if bucket.mean is None:
                continue
            point = points.setdefault(bucket.start, {"time": bucket.start // 1000, "disks": {}})
            if name.startswith("disk."):
                point["disks"][name.removeprefix("disk.").removesuffix(".percent")] = round(bucket.mean, 3)
            else:
                point[name] = round(bucket.mean, 3)
    return [points[start] for start in sorted(points)]
