"""What the beginning and the end of a session leave in the store. Transactions only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from opsapp.agents.resources import Agent, agents_of, find_agent
from opsapp.lib.problems import Unauthenticated
from opsapp.runtime.cluster.fence import store_id
from opsapp.runtime.node import node_of, now_of
from opsapp.tree.root import Root
from opsapp.wire.commands import CommandSent
from opsapp.wire.messages import Hello
from opsapp.wire.reports import HostProfile, HostReport, LocalOutcome

from . import clockmoves, commands, policies, reports
from .directory import lives_elsewhere, touched
from .memory import memory_of
from .reports import Clone

Offered = tuple[list[CommandSent], list[str]]
Opened = tuple[int, Offered, policies.NewerPolicies | None]


def open_session(root: Root, agent_id: str, key: policies.ShownKey, session: str, hello: Hello, ip: str) -> Opened:
    """Its number among the agent's sessions, the commands that wait for it, and its policies where it holds older ones.
    What it holds is put against what it should hold: see `Commands.reconcile`."""
    agent = agents_of(root).get(agent_id)
    if agent is None or agent.key_digest != key.digest:
        raise Unauthenticated("The key has been replaced or revoked.")
    node, state = node_of(root), agent.state
    now = node.clock.now()
    if lives_elsewhere(node, state) and state.machine_id != hello.machine_id:
        raise Clone("Another machine is connected with this key.")
    profile = HostProfile(hello.hostname, hello.os, hello.version, machine_id=hello.machine_id, boot_id=hello.boot_id)
    reports.note_host(root, agent, profile, ip)
    reports.note_manifest(root, agent, hello.capabilities)
    state.machine_id = hello.machine_id
    state.session_number += 1
    touched(root, agent.id, session_number=state.session_number)
    reports.become(root, agent, "online", session=session)
    ended = agent.commands.reconcile(hello.held, now, delivered_before=now, machine=state.machine_id)
    clockmoves.settle(root, agent)
    offered = agent.commands.offer(session, now, again=True, store=store_id(root), machine=state.machine_id)
    commands.settle(root, agent, ended=ended)
    policies.catch_up(root, agent, hello.policy_version)
    secret = key.secret_for(hello.features)
    return state.session_number, offered, policies.newer_than(agent, hello.policy_version, secret)


def close_session(root: Root, agent_id: str, session: str) -> None:
    """Close the session unless another one has taken its place; the agent may only be restarted."""
    agent = _without_session(root, agent_id, session)
    if agent is not None:
        agent.state.last_seen = now_of(root)


def stop_session(root: Root, agent_id: str, session: str) -> None:
    """Note a goodbye. Nobody is told before it has had the time that any other has to come back."""
    agent = _without_session(root, agent_id, session)
    if agent is not None:
        reports.note_stop(root, agent)


class EndedLine(Protocol):
    """The line of a session that has ended."""

    def fell_silent(self) -> bool: ...

    def said_goodbye(self) -> bool: ...


def end_of(line: EndedLine) -> Callable[[Root, str, str], None]:
    """What such an end leaves in the store."""
    if line.fell_silent():
        return lose_session
    return stop_session if line.said_goodbye() else close_session


def lose_session(root: Root, agent_id: str, session: str) -> None:
    """Note a lost session: not even an answer to a ping was heard, so the agent is offline."""
    agent, node = _without_session(root, agent_id, session), node_of(root)
    if agent is not None:
        agent.state.last_seen = memory_of(node).last_seen(agent_id, agent.state.last_seen)
        agent.state.silent_at = node.clock.now()
        reports.become(root, agent, "offline")


def _without_session(root: Root, agent_id: str, session: str) -> Agent | None:
    """None: another session has taken its place."""
    agent = agents_of(root).get(agent_id)
    if agent is None or agent.state.session != session:
        return None
    agent.state.session = ""
    touched(root, agent_id)
    return agent


def flag_clone(root: Root, agent_id: str) -> None:
    agent = agents_of(root).get(agent_id)
    if agent is not None:
        agent.state.clone_at = now_of(root)
        at = int(agent.state.clone_at)
        reports.emit_of(root, agent, agent.state.status, clone_detected_at=at, at=at)


def store_report(root: Root, agent_id: str, report: HostReport, ip: str, session: str) -> None:
    """Store the report when it says something that the store does not know."""
    agent = find_agent(root, agent_id)
    if agent.state.session == session:
        reports.take_report(root, agent, report, ip=ip, session=session)
        for result in report.results:
            commands.take_result(root, agent_id, result, session)


def store_outcome(root: Root, agent_id: str, outcome: LocalOutcome) -> None:
    reports.take_outcome(root, agent_id, outcome, memory_of(node_of(root)).skew(agent_id))
