"""The real hosts and monitors behind `FleetAccess`; and the tools of a host."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from opsapp.agents.engine import (
    HostFacts,
    answer_of,
    changed_since,
    hosts,
    recall_command,
    request_report,
    send_command,
    subject,
)
from opsapp.agents.resources import agent_named, agents_of
from opsapp.healing.records import CapabilityRecord, Queued
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.problems import Problem
from opsapp.monitoring.engine import Entry, register_of, request_check, taken_since
from opsapp.monitoring.resources import monitors_of
from opsapp.runtime.node import Node, node_of
from opsapp.tree.root import Root
from opsapp.wire.heals import HostAnswer

from .inventory import Inventory, Member

HEALING = "healing"  # as who healing asks agents for something
log = logging.getLogger(__name__)


class Fleet:
    """An `IFleetAccess`."""

    recall = staticmethod(recall_command)

    def __init__(self) -> None:
        self._seen: tuple[Any, list[HostFacts], Inventory] | None = None  # what the inventory was made of

    def inventory(self, root: Root) -> Inventory:
        """Made anew only when an agent or a monitor has changed: it is asked for every two seconds, and there may be
        ten thousand."""
        register, agents, seen = register_of(node_of(root)), hosts(root), self._seen
        version = register.version
        if seen is not None and seen[0] == version and seen[1] == agents:
            return seen[2]
        monitors = [_monitor(entry) for entry in tuple(register.entries.values())]
        made = Inventory([_agent(host) for host in agents] + monitors)
        self._seen = (version, agents, made)
        return made

    def send(
        self, root: Root, agent_id: str, kind: str, params: JsonObject, *, timeout: int | None, expiry: float
    ) -> str:
        return send_command(root, agent_id, kind, params, requested_by=HEALING, timeout=timeout, expiry=expiry)

    def answer(self, root: Root, agent_id: str, command_id: str) -> HostAnswer | None:
        ended = answer_of(root, agent_id, command_id)
        return None if ended is None else HostAnswer.read(ended)

    def intervened(self, root: Root, subject: str, agent_id: str | None, since: float) -> float | None:
        changed = None if agent_id is None else changed_since(root, agent_id, since, without=HEALING)
        kind, _, name = subject.partition(":")
        taken = taken_since(root, name, since) if kind == "monitor" else None
        return min((at for at in (changed, taken) if at is not None), default=None)

    def knows(self, root: Root, subject: str) -> bool:
        kind, _, name = subject.partition(":")
        return name in (agents_of(root) if kind == "agent" else monitors_of(root))

    def doubtful(self, node: Node, subject: str) -> bool:
        entry = register_of(node).entries.get(subject.partition(":")[2])
        return entry is not None and entry.standing.failures > 0 and entry.standing.status != "down"

    def recheck(self, node: Node, subject: str, done: Callable[[float], None]) -> None:
        kind, _, name = subject.partition(":")
        node.spawn(_report if kind == "agent" else _check, node, name, done)


def _check(node: Node, monitor_id: str, done: Callable[[float], None]) -> None:
    try:
        done(request_check(node, monitor_id).time)
    except Problem as problem:
        log.warning("monitor not checked again monitor=%s: %s", monitor_id, problem)


def _report(node: Node, agent_id: str, done: Callable[[float], None]) -> None:
    began = node.clock.now()
    if request_report(node, agent_id, token=node.leases.held.get("healing", 0)) is None:
        log.info("no fresh report in time agent=%s", agent_id)
    else:
        done(began)


def _agent(host: HostFacts) -> Member:
    return Member(
        subject=subject(host.agent_id),
        name=host.hostname,
        agent_id=host.agent_id,
        names=tuple(dict.fromkeys(name for name in (host.hostname, host.agent_id, host.label) if name)),
        tags=host.tags,
        interval=host.interval,
        online=host.online,
        usable=host.usable,
        ambiguous=host.ambiguous,
        unheard=host.unheard,
    )


def _only_host(entry: Entry) -> str | None:
    """What a plugin measures on one host alone is a thing of that host."""
    hosts = entry.settings.lookers
    return hosts[0] if entry.settings.on_host and len(hosts) == 1 else None


def _monitor(entry: Entry) -> Member:
    settings = entry.settings
    return Member(
        subject=entry.subject,
        name=entry.name,
        agent_id=settings.agent_id or _only_host(entry),
        names=(entry.name, entry.id),
        tags=tuple(settings.tags),
        interval=float(settings.interval),
        online=settings.enabled,
    )


def capabilities_of(root: Root, hostname: str) -> CapabilityRecord:
    """Return the agent's capabilities as it last probed them; it is an error if several agents report the name."""
    agent = agent_named(root, hostname)
    values = agent.manifest.values if agent.manifest else {}
    tools = (values.get("capabilities") or {}).items()
    degraded = sorted(name for name, about in tools if about.get("available") and not about.get("usable"))
    probed_at = int(agent.manifest.at) if agent.manifest else None
    return CapabilityRecord(agent.hostname or hostname, values, probed_at, tuple(degraded))


def refresh_capabilities(root: Root, hostname: str, by: str) -> Queued:
    return Queued(send_command(root, agent_named(root, hostname).id, "capabilities", {}, requested_by=by))
