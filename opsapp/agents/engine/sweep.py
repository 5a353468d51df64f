"""Who has fallen silent, and which commands cannot end by themselves any more. One node does it, under a lease."""

from __future__ import annotations

from functools import partial

from opsapp.agents.resources import agents_of, at_work
from opsapp.runtime.cluster import leases
from opsapp.runtime.looks import QueueLook
from opsapp.runtime.node import Node, node_of
from opsapp.tree.reading import is_sound
from opsapp.tree.root import Root

from . import clockmoves, commands, records, reports
from .clockmoves import LEASE
from .directory import directory_of, facts_of
from .memory import memory_of

EVERY_S = 1.0
PAGE = 200


def start(node: Node) -> None:
    clockmoves.PIECES.carry(node)
    look = QueueLook(node, lambda root, _now: there_are(root))
    if "web" not in node.roles:
        node.supervisor.add("agents-listen", partial(listen, node), every=EVERY_S)
    node.supervisor.add("agents-sweep", partial(step, node), every=EVERY_S, lease=LEASE, look=look)


def listen(node: Node) -> bool:
    """Where agents report to other nodes alone: while none of these is alive, silence says nothing of a host."""
    if not node.nodes.alive("web"):
        memory_of(node).nobody_listens()
    return False


def there_are(root: Root) -> bool:
    return bool(directory_of(node_of(root)).all(root))


def step(node: Node) -> bool:
    silent = node.transact(_silent)
    for begin in range(0, len(silent), PAGE):
        node.transact(_mark, silent[begin : begin + PAGE])
    return bool(node.transact(_expire))


def _silent(root: Root) -> list[str]:
    """Agents that have come to another status than the record says, but for those that we wait for. From memory; those
    that are connected here, which are most of them, are online without a further look."""
    node = node_of(root)
    connected, statuses = memory_of(node).connected, records.AgentStatuses(node)
    return [
        facts.id
        for facts in directory_of(node).all(root)
        if not (facts.status == "online" and facts.id in connected) and _is_another(statuses.of(facts), facts.status)
    ]


def _is_another(status: records.AgentStatus, stored: str) -> bool:
    return status.status != stored and not status.unheard


def _mark(root: Root, agent_ids: list[str]) -> None:
    leases.check(root, LEASE)
    node = node_of(root)
    for agent_id in agent_ids:
        agent = agents_of(root).get(agent_id)
        if agent is None or not is_sound(agents_of(root), "agent", agent_id, agent):
            continue
        present = records.AgentStatuses(node).of(facts_of(agent))
        if present.status == "pending" or not _is_another(present, agent.state.status):
            continue
        seen = memory_of(node).last_seen(agent_id, agent.state.last_seen)
        if seen is not None and seen != agent.state.last_seen:
            agent.state.last_seen = seen
        reports.become(root, agent, present.status)


def _expire(root: Root) -> bool:
    """Whether commands are still to be moved with a clock that was set, by a node that was killed meanwhile: that
    comes first."""
    if clockmoves.PIECES.goes_on(root):
        return True
    node = node_of(root)
    for agent in at_work(root):
        seen = memory_of(node).last_seen(agent.id, agent.state.last_seen) or 0.0
        ended = agent.commands.expire(node.clock.now(), seen)
        if ended:
            leases.check(root, LEASE)
            commands.settle(root, agent, ended=ended)
    return False
