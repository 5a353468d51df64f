"""An agent that is added, its key replaced, an agent deleted. Transactions; every node is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from opsapp.agents import resources
from opsapp.agents.resources import Agent, add_agent, agents_on, remove_agent, replace_key
from opsapp.runtime.events import emit
from opsapp.runtime.node import node_of, now_of
from opsapp.runtime.wakes import after_commit, wake_after_commit
from opsapp.series import erasure
from opsapp.tree.root import Root
from opsapp.wire.reports import HostProfile

from . import reports
from .commands import RESULTS
from .directory import touched
from .memory import memory_of


def create(root: Root, label: str, tags: Sequence[str]) -> tuple[str, str]:
    now = now_of(root)
    agent_id, key = add_agent(root, label, tags, now)
    touched(root, agent_id)
    told = {"agent_id": agent_id, "label": label, "hostname": "", "status": "pending", "previous": None}
    emit(root, "agent", {**told, "at": int(now)})
    return agent_id, key


class Enrolled(NamedTuple):
    """`before`: its (label, key's digest) where the record was there already; `others`: further records of the same
    machine."""

    agent_id: str
    key: str
    before: tuple[str, str] | None
    others: tuple[str, ...]


def enrol(root: Root, label: str | None, host: str, machine_id: str, hostname: str) -> Enrolled:
    """The record that the machine has, with a new key, or a new one. Two records of one machine would make its name
    ambiguous, and stop its heals."""
    present = sorted(agents_on(root, machine_id, hostname), key=lambda agent: agent.state.last_seen or 0.0)
    if not present:
        agent_id, key = create(root, label or host, [])
        profile = HostProfile(hostname, "", machine_id=machine_id)  # what is empty says nothing
        reports.note_host(root, resources.find_agent(root, agent_id), profile, "")
        return Enrolled(agent_id, key, None, ())
    agent = present[-1]
    before = (agent.label, agent.key_digest)
    agent.label = label or agent.label
    return Enrolled(agent.id, rotate_key(root, agent), before, tuple(other.id for other in present[:-1]))


def give_up(root: Root, enrolled: Enrolled) -> None:
    """It could not be installed: no record is left of it, or the earlier one as it was."""
    agent = resources.find_agent(root, enrolled.agent_id)
    if enrolled.before is None:
        delete(root, agent)
        return
    agent.label, digest = enrolled.before
    resources.put_key_back(root, agent, digest)
    touched(root, agent.id, key_digest=digest)


def rotate_key(root: Root, agent: Agent) -> str:
    """Give the agent a new key; sessions that know the old one are ended by whoever holds them."""
    key = replace_key(root, agent)
    touched(root, agent.id, key_digest=agent.key_digest)
    return key


def revoke_key(root: Root, agent: Agent) -> None:
    """Revoke the agent's key; a session ends as with `rotate_key`."""
    resources.revoke_key(root, agent)
    touched(root, agent.id, key_digest="")


class DeletedAgent(NamedTuple):
    """A deleted agent that can be put back, with the digest of the key that counted."""

    agent: Agent
    key_digest: str


def delete(root: Root, agent: Agent) -> None:
    let_go(root, take_out(root, agent))


def let_go(root: Root, gone: DeletedAgent) -> None:
    erasure.forget(root, gone.agent.series.values(), int(now_of(root) * 1000))


def put_back(root: Root, gone: DeletedAgent) -> None:
    """Its key counts again; it comes by itself."""
    gone.agent.state.session = ""
    resources.place_agent(root, gone.agent, gone.key_digest)
    touched(root, gone.agent.id, key_digest=gone.key_digest)


def take_out(root: Root, agent: Agent) -> DeletedAgent:
    gone = DeletedAgent(agent, agent.key_digest)
    node, agent_id = node_of(root), agent.id
    told = {"agent_id": agent_id, "label": agent.label, "hostname": agent.hostname}
    unfinished = [command.__name__ for command in agent.commands.unfinished()]
    reports.tell_of_end(root, agent, node.clock.now())
    remove_agent(root, agent)
    touched(root, agent_id, deleted=True, unfinished=unfinished)
    emit(root, "agent", {**told, "status": "deleted", "previous": agent.state.status, "at": int(node.clock.now())})
    after_commit(root, node.post, memory_of(node).forget, agent_id)
    wake_after_commit(root, RESULTS)
    return gone
