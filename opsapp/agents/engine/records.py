"""Agents as others see them: the list's rows, the detail, hosts for rooms above. Inside the caller's transaction."""

from __future__ import annotations

from typing import NamedTuple

from opsapp.agents import logic
from opsapp.agents.resources import Agent, AgentState, agents_of, conflicting, whole
from opsapp.lib.jsontypes import JsonObject
from opsapp.runtime.node import Node, node_of
from opsapp.tree.damage import NAMELESS
from opsapp.tree.root import Root

from .directory import AgentFacts, directory_of, facts_of, lives_elsewhere
from .memory import memory_of, subject

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
    """Whether an agent is heard, when it was heard last, and how often it reports."""

    online: bool
    last_seen: float | None
    interval: float


def presence(node: Node, agent_id: str) -> Presence:
    """From this node's memory."""
    memory = memory_of(node)
    seen = memory.last_seen(agent_id, None)
    status_now = logic.status_of(seen, agent_id in memory.connected, node.clock.now(), memory.interval)
    return Presence(status_now == "online", seen, memory.interval)


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
    here = agent.id in memory_of(node).connected
    return agent.state.node.partition(":")[0] if not here and lives_elsewhere(node, agent.state) else None


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
    found = sorted(directory.all(root), key=lambda facts: (facts.label, facts.id))
    rows = [row(node, facts, directory.shares_name(facts)) for facts in found]
    lost = {each: damage.reason for each, damage in directory.damaged.items()}
    known = {facts.id for facts in found}
    unread = [{**UNREAD, "id": each, "unreadable": why} for each, why in lost.items() if each not in known]
    return unread + [each | {"unreadable": lost[each["id"]]} if each["id"] in lost else each for each in rows]


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


def history(root: Root, agent: Agent, *, range_h: int, resolution: int) -> list[JsonObject]:
    """Means per bucket of everything that is kept; a bucket without a report is left out."""
    node = node_of(root)
    now, width = int(node.clock.now() * 1000), resolution * 1000
    reading = node.series.reading(root)
    points: dict[int, JsonObject] = {}
    for name, number in sorted(agent.series.items()):
        for bucket in reading.buckets(number, now - range_h * 3_600_000, now + 1, width):
            if bucket.mean is None:
                continue
            point = points.setdefault(bucket.start, {"time": bucket.start // 1000, "disks": {}})
            if name.startswith("disk."):
                point["disks"][name.removeprefix("disk.").removesuffix(".percent")] = round(bucket.mean, 3)
            else:
                point[name] = round(bucket.mean, 3)
    return [points[start] for start in sorted(points)]
