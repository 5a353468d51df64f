"""Agents as others see them. Inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import NamedTuple

from opsapp.agents import logic
from opsapp.agents.problems import problems_of, silent_since, stopped_since
from opsapp.agents.records import AgentDetail, AgentRow, FleetRow, HostProblem, Line, MeasuredRow
from opsapp.agents.resources import Agent, AgentState, agents_of
from opsapp.lib.durations import whole
from opsapp.lib.jsontypes import JsonObject
from opsapp.runtime.node import Node, node_of
from opsapp.tree.damage import NAMELESS
from opsapp.tree.rights import Sight
from opsapp.tree.root import Root
from opsapp.wire.records import extended
from opsapp.wire.reports import AgentMetrics
from opsapp.wire.version import VERSION

from .directory import AgentFacts, directory_of, facts_of, lives_elsewhere
from .memory import memory_of, subject

FLEET_STEP, FLEET_STEPS = 900_000, 24  # ms; six hours, for a line in a row
LISTED = ("id", "label", "hostname", "ip", "os", "version", "tags")
NEWEST = (*logic.MEASURED, "uptime_s")


class HostFacts(NamedTuple):
    """A host as rules and plans see it. Nothing here changes with every report: what is made of many of these is kept
    for as long as they are equal."""

    agent_id: str
    hostname: str
    label: str
    tags: tuple[str, ...]
    interval: float
    online: bool
    usable: frozenset[str] | None
    ambiguous: bool
    unheard: bool = False  # not online, and nobody can know yet whether it is away


class SilentHost(NamedTuple):
    """A host that was heard once and is not heard now."""

    agent_id: str
    hostname: str
    last_seen: float | None
    unheard: bool
    stopped_at: float | None


class HostsStanding(NamedTuple):
    heard: int
    online: int
    silent: list[SilentHost]


class Presence(NamedTuple):
    online: bool
    last_seen: float | None
    interval: float
    host: str
    unheard: bool = False  # not online, and perhaps only because we were away, or it starts again
    stopped_at: float | None = None


def presence(node: Node, agent_id: str) -> Presence:
    memory = memory_of(node)
    seen = memory.last_seen(agent_id, None)
    directory = directory_of(node)
    status_now = logic.status_of(
        seen, agent_id in memory.connected, node.clock.now(), memory.interval, directory.silent_at(agent_id)
    )
    host, facts = directory.name_of(agent_id) or agent_id, directory.known_facts(agent_id)
    stopped_at = None if facts is None else facts.stopped_at
    is_stopped = logic.is_stopped(seen, agent_id in memory.connected, stopped_at)
    if status_now == "online" or facts is None:
        online = status_now == "online" and not is_stopped
        return Presence(online, seen, memory.interval, host, is_stopped, stopped_at if is_stopped else None)
    unheard = AgentStatuses(node).is_waited_for(facts, seen)
    return Presence(False, seen, memory.interval, host, unheard, stopped_at if is_stopped else None)


def hosts(root: Root) -> list[HostFacts]:
    """Every agent that was ever heard."""
    node = node_of(root)
    statuses = AgentStatuses(node)
    return [_host(node, facts, statuses) for facts in directory_of(node).all(root) if facts.status != "pending"]


def standing_of_hosts(root: Root, sight: Sight | None = None) -> HostsStanding:
    """Of those that `sight` sees. Cheap where nearly all are heard: only for the others it looks up when they were."""
    node = node_of(root)
    statuses = AgentStatuses(node)
    known = [facts for facts in directory_of(node).all(root) if sight is None or sight.sees(facts.tags)]
    heard = [facts for facts in known if facts.status != "pending"]
    away = [(facts, statuses.of(facts)) for facts in heard if not statuses.is_online(facts)]
    silent = [SilentHost(facts.id, host_name(facts), *status[1:]) for facts, status in away]
    return HostsStanding(len(heard), len(heard) - len(silent), silent)


def host_ids(root: Root, names: Collection[str]) -> dict[str, str]:
    """The ids of hosts by their hostnames or labels."""
    heard = [facts for facts in directory_of(node_of(root)).all(root) if facts.status != "pending"]
    return {name: facts.id for facts in heard for name in (host_name(facts), facts.label) if name in names}


def host_name(facts: AgentFacts) -> str:
    return facts.hostname or facts.label


def host_of(root: Root, agent_id: str) -> HostFacts | None:
    node = node_of(root)
    facts = directory_of(node).get(root, agent_id)
    return None if facts is None or facts.status == "pending" else _host(node, facts, AgentStatuses(node))


def _host(node: Node, facts: AgentFacts, statuses: AgentStatuses) -> HostFacts:
    online = statuses.is_online(facts)
    return HostFacts(
        facts.id,
        host_name(facts),
        facts.label,
        facts.tags,
        statuses.interval,
        online,
        facts.usable,
        directory_of(node).shares_name(facts),
        not online and statuses.of(facts).unheard,
    )


class AgentStatus(NamedTuple):
    """`unheard`: it is not online, and perhaps only because we were away, or because it starts again. Nobody is told
    yet. `stopped_at`: when its last word was that it was stopped."""

    status: str
    last_seen: float | None
    unheard: bool = False
    stopped_at: float | None = None


class AgentStatuses:
    """The statuses of agents at one moment; what is the same for all is looked up once."""

    def __init__(self, node: Node) -> None:
        self.node, self.memory, self.now = node, memory_of(node), node.clock.now()
        self.interval = self.memory.interval

    def of(self, facts: AgentFacts) -> AgentStatus:
        if facts.status == "pending":
            return AgentStatus("pending", None)
        seen = self.memory.last_seen(facts.id, facts.last_seen)
        connected = is_connected(self.node, facts, facts.id)
        status = logic.status_of(seen, connected, self.now, self.interval, facts.silent_at)
        is_stopped = logic.is_stopped(seen, connected, facts.stopped_at)
        unheard = is_stopped if status == "online" else self.is_waited_for(facts, seen)
        return AgentStatus("offline" if unheard else status, seen, unheard, facts.stopped_at if is_stopped else None)

    def is_waited_for(self, facts: AgentFacts, seen: float | None) -> bool:
        """Whether one that is not online has time left to come back, since reports can reach us again: it was online,
        and was not heard since then. Who fell silent before we were away is away."""
        since = self.memory.listens_since
        not_heard_since = seen is None or seen < since
        return facts.status == "online" and not_heard_since and self.now - since <= logic.waited_for_s(self.interval)

    def is_online(self, facts: AgentFacts) -> bool:
        """Whether the agent is online; where one sign of life is enough, no other is looked for."""
        if facts.status == "pending":
            return False
        heard = self.memory.heard.get(facts.id)
        if heard is not None and self._is_online(heard.at, facts):
            return True
        return self.of(facts).status == "online"

    def _is_online(self, heard_at: float, facts: AgentFacts) -> bool:
        if logic.is_stopped(heard_at, False, facts.stopped_at):
            return False
        return logic.status_of(heard_at, False, self.now, self.interval, facts.silent_at) == "online"


def is_connected(node: Node, state: AgentState | AgentFacts, agent_id: str) -> bool:
    """Whether the agent is connected here or, as far as the record says, to another node."""
    return agent_id in memory_of(node).connected or lives_elsewhere(node, state)


def session_elsewhere(root: Root, agent_id: str) -> str | None:
    node, agent = node_of(root), agents_of(root).get(agent_id)
    return None if agent is None or agent_id in memory_of(node).connected else held_by(node, agent)


def held_by(node: Node, agent: Agent) -> str | None:
    """The node that holds the agent's session; None when it is here or nowhere."""
    connected_here = agent.id in memory_of(node).connected
    return agent.state.node.partition(":")[0] if not connected_here and lives_elsewhere(node, agent.state) else None


def status_of(node: Node, agent: Agent) -> str:
    return AgentStatuses(node).of(facts_of(agent)).status


def rows(
    root: Root, ids: Collection[str] | None = None, status: str | None = None, sight: Sight | None = None
) -> list[AgentRow]:
    """Agents' rows from memory, by label; with `status` only those that have it. `sight`: of those that it sees,
    without a word of others."""
    node = node_of(root)
    directory = directory_of(node)
    chosen = [
        facts
        for facts in directory.all(root)
        if (ids is None or facts.id in ids) and (sight is None or sight.sees(facts.tags))
    ]
    listed = sorted(chosen, key=lambda facts: (facts.label, facts.id))
    statuses = AgentStatuses(node)
    standing = ((facts, statuses.of(facts)) for facts in listed)
    rows = [
        row(facts, stands, sight is None and directory.shares_name(facts))
        for facts, stands in standing
        if status in (None, stands.status)
    ]
    damaged = directory.damaged.items()
    lost = {agent_id: damage.reason for agent_id, damage in damaged if ids is None or agent_id in ids}
    if sight is not None:
        lost = {agent_id: why for agent_id, why in lost.items() if any(facts.id == agent_id for facts in listed)}
    if not lost:
        return rows
    known = [replace(shown, unreadable=lost[shown.id]) if shown.id in lost else shown for shown in rows]
    for facts in listed:
        lost.pop(facts.id, None)
    return [AgentRow(NAMELESS, id=agent_id, status="offline", unreadable=why) for agent_id, why in lost.items()] + known


def row(facts: AgentFacts, status: AgentStatus, shares_name: bool) -> AgentRow:
    return AgentRow(
        **{name: getattr(facts, name) for name in LISTED},
        status=status.status,
        last_seen=whole(status.last_seen),
        unheard=status.unheard,
        stopped_at=whole(status.stopped_at),
        hostname_conflict=shares_name,
        clone_detected_at=whole(facts.clone_at),
    )


def detail(root: Root, agent: Agent) -> AgentDetail:
    node = node_of(root)
    facts, directory = facts_of(agent), directory_of(node)
    directory.catch_up(root)
    metrics, at = metrics_of(node, agent.id)
    connected, skew = is_connected(node, agent.state, agent.id), memory_of(node).skew(agent.id)
    return extended(
        AgentDetail,
        row(facts, AgentStatuses(node).of(facts), directory.shares_name(facts)),
        created_at=int(agent.created_at),
        metrics=metrics,
        metrics_at=whole(at),
        capabilities=agent.manifest.values if agent.manifest else None,
        connected=connected,
        clock_skew_s=None if skew is None else round(skew, 1),
        agent_node=(agent.state.node.partition(":")[0] or None) if connected else None,
    )


def metrics_of(node: Node, agent_id: str) -> tuple[AgentMetrics, float | None]:
    """The agent's newest metrics, and when they were measured."""
    heard = memory_of(node).heard.get(agent_id)
    if heard is not None and heard.report is not None:
        return heard.report, heard.at
    values = node.series.live.get(subject(agent_id))
    return logic.metrics_of_values(values), max((at for _, at in values.values()), default=None)


def fleet(root: Root, rows: Iterable[AgentRow]) -> list[FleetRow]:
    """The hosts with their newest figures, and CPU and memory of the last hours as means."""
    node, agents = node_of(root), agents_of(root)
    reading = node.series.reading(root)
    end = int(node.clock.now() * 1000) // FLEET_STEP * FLEET_STEP + FLEET_STEP
    since = end - FLEET_STEPS * FLEET_STEP

    def line(row: AgentRow, name: str) -> Line:
        agent = None if row.unreadable else agents.get(row.id)
        number = agent.series.get(name) if agent is not None else None
        means = [None] * FLEET_STEPS if number is None else reading.means(number, since, end, FLEET_STEP)
        return tuple(None if mean is None else round(mean, 1) for mean in means)

    return [
        FleetRow(
            **vars(measured(node, row)),
            outdated=logic.is_outdated(row.version, VERSION),
            since=since // 1000,
            step_s=FLEET_STEP // 1000,
            cpu=line(row, "cpu_percent"),
            mem=line(row, "mem_percent"),
        )
        for row in rows
    ]


def measured(node: Node, row: AgentRow) -> MeasuredRow:
    if isinstance(row, MeasuredRow):
        return row
    metrics, at = metrics_of(node, row.id)
    return MeasuredRow(
        **vars(row),
        **{name: getattr(metrics, name) for name in NEWEST},
        metrics_at=whole(at),
        failed_units=len(metrics.failed_units),
        failing=tuple(logic.failing_in(metrics)),
        problems=_problems(node, row, metrics),
    )


def _problems(node: Node, row: AgentRow, metrics: AgentMetrics) -> tuple[HostProblem, ...]:
    """What is not known, of one that we have not listened to for long enough, is no problem yet."""
    if row.status == "online":
        return problems_of(metrics, memory_of(node).skew(row.id))
    if row.stopped_at is not None:
        return (stopped_since(row.stopped_at, grave=not row.unheard),)
    is_known = row.status in ("offline", "dead") and not row.unheard
    return (silent_since(row.last_seen),) if is_known else ()


def history(root: Root, agent: Agent, *, range_h: int, resolution: int, until: int | None = None) -> list[JsonObject]:
    """Means per bucket of everything that is kept, of the last `range_h` hours or those before `until`. A bucket
    without a report is left out."""
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
