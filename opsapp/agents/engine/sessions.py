"""The sessions of this node: who is connected here, what has to go out to them, who ends when a key does. Hub only."""

from __future__ import annotations

import logging
from typing import Any

import gevent
from gevent.event import AsyncResult

from opsapp.agents.resources import with_open_commands
from opsapp.lib.problems import Unavailable
from opsapp.runtime.cluster import peers
from opsapp.runtime.cluster.fence import store_id
from opsapp.runtime.events import Event
from opsapp.runtime.node import Node
from opsapp.wire import frames
from opsapp.wire.messages import Settings
from opsapp.wire.probemessages import ProbeAsked
from opsapp.wire.probes import Outcome
from opsapp.wire.records import made
from opsapp.wire.reports import Measurement, Passed

from . import commands, records
from .directory import CHANGED
from .memory import memory_of
from .policies import ShownKey
from .session import AgentSession, SessionLine
from .store_waits import Patience
from .streams import AgentStream

log = logging.getLogger(__name__)

KEY = "opsapp.agents.sessions"
PUSH_EVERY_S = 0.25
MEASURE = "/node-measure"
PROBE = "/node-probe"
PROBE_GRACE_S = 2.0  # for the way there and back, beyond the time that the agent has


class Sessions:
    """One per node."""

    def __init__(self, node: Node):
        self.node = node
        self.live: dict[str, AgentSession] = {}
        self._pushing = False
        self._seen_transaction: Any = None
        self._settings: Settings | None = None
        self.sent = self.refused = 0
        self.patience = Patience(node.clock)

    def serve(self, agent_id: str, key: ShownKey, line: SessionLine, ip: str) -> None:
        """Serve the session until it ends, in the connection's greenlet."""
        if not self._pushing:
            self._pushing = True
            self.node.supervisor.add("agents-push", self.push, every=PUSH_EVERY_S, wake=(commands.QUEUE,))
        AgentSession(self, agent_id, key, line, ip).run()

    def admit(self, session: AgentSession) -> bool:
        """Admit a session, which takes over from an older one of the same machine; False: the agent is a clone."""
        present = self.live.get(session.agent_id)
        if present is not None and not present.ended:
            if present.machine_id != session.machine_id:
                return False
            present.stop(frames.CLOSE_TAKEN_OVER, "taken over by a newer session")
        self.live[session.agent_id] = session
        return True

    def welcomed(self) -> None:
        """What was committed while its hello was being read must not be overlooked."""
        self._seen_transaction = None
        self.node.wake(commands.QUEUE)

    def leave(self, session: AgentSession) -> bool:
        """Whether it was the live one."""
        if self.live.get(session.agent_id) is not session:
            return False
        del self.live[session.agent_id]
        return True

    def push(self) -> bool:
        """Send the commands once they are marked as offered."""
        self._tell_settings()
        last = self.node.last_transaction()
        if last == self._seen_transaction or not self.live:
            return False
        self._seen_transaction = last  # before anything is read: who is welcomed meanwhile takes it back
        try:
            return self._push_waiting()
        except BaseException:
            self._seen_transaction = None
            raise

    def _push_waiting(self) -> bool:
        ready = {}  # of those with open commands: all of them, at every commit, would hold the hub up
        for agent_id in self.node.transact(with_open_commands):
            session = self.live.get(agent_id)
            if session is not None and session.number and not session.ended:
                ready[agent_id] = session.id
        offers = self.node.transact(commands.claim, ready) if ready else {}
        for agent_id, (sent, cancels) in offers.items():
            session = self.live.get(agent_id)
            if session is not None and session.id == ready[agent_id]:
                session.offer(sent, cancels)
                self.sent += len(sent)
        return bool(offers)

    def settings(self) -> Settings:
        memory = memory_of(self.node)
        return Settings(memory.interval, tuple(memory.protected))

    def _tell_settings(self) -> None:
        now = self.settings()
        if self._settings not in (None, now):
            for session in list(self.live.values()):
                if session.number and not session.ended:
                    session.renew_settings()
        self._settings = now

    def on_event(self, event: Event) -> None:
        """Something was committed, here or on another node, that may end a session of ours."""
        session = self.live.get(event.data.get("agent_id", "")) if event.kind == CHANGED else None
        if session is None:
            return
        if event.data.get("deleted"):
            gevent.spawn(session.deleted, event.data["unfinished"])
        elif event.data.get("key_digest", session.key.digest) != session.key.digest:
            session.stop(frames.CLOSE_BAD_KEY, "the key was replaced or revoked")
        elif session.number and event.data.get("session_number", 0) > session.number:
            session.stop(frames.CLOSE_TAKEN_OVER, "taken over on another node")
        elif session.number and event.data.get("policy_version", 0) > session.policy_version:
            session.renew_policies()

    def open_stream(self, agent_id: str, kind: str, params: Passed) -> AgentStream:
        """Open a stream to an agent that is connected here."""
        session = open_session(self.node, agent_id)
        if session is None:
            raise Unavailable("The agent is not connected.", code="agent_offline", retry_after=10)
        return session.streams.open(kind, params)


def sessions_of(node: Node) -> Sessions:
    return node.registry[KEY]


def prepare(node: Node) -> None:
    """Called before anything is served."""
    sessions = node.registry[KEY] = Sessions(node)
    node.events.listen(sessions.on_event)


def request_report(node: Node, agent_id: str, timeout: float = 10.0, token: int = 0) -> Measurement | None:
    """Measured after this call, or None in time. On the hub: the calling greenlet waits. A connected agent is asked, by
    the node that holds its session; of one that polls the next report is awaited."""
    session = open_session(node, agent_id)
    if session is not None:
        return _measured_by(node, session, timeout, token)
    other_node = node.transact(records.session_elsewhere, agent_id)
    if other_node is not None:
        asked = {"agent_id": agent_id, "timeout": timeout, "token": token}
        told = _ask(node, other_node, MEASURE, asked, "report")
        return told and made(Measurement, told)
    arrived = AsyncResult()
    stop = memory_of(node).watch(agent_id, lambda report, at: arrived.set(report))
    try:
        return _within(arrived, timeout)
    finally:
        stop()


def measured_here(node: Node, agent_id: str, timeout: float, token: int) -> Measurement | None:
    """A measurement for another node that asks; None when there is no session here."""
    session = open_session(node, agent_id)
    return None if session is None else _measured_by(node, session, timeout, token)


def _measured_by(node: Node, session: AgentSession, timeout: float, token: int) -> Measurement | None:
    return _within(session.measure(token, node.transact(store_id)), timeout)


def request_probe(node: Node, agent_id: str, target: Passed) -> Outcome | None:
    """The agent's outcome of a probe; None: it is gone, or says nothing in time. On the hub: the calling greenlet
    waits. The agent is asked by the node that holds its session."""
    if open_session(node, agent_id) is not None:
        return probed_here(node, agent_id, target)
    other_node = node.transact(records.session_elsewhere, agent_id)
    told = other_node and _ask(node, other_node, PROBE, {"agent_id": agent_id, "target": target}, "outcome")
    return Outcome(**told) if told else None


def probed_here(node: Node, agent_id: str, target: Passed) -> Outcome | None:
    """A probe's outcome for another node that asks; None when there is no session here."""
    session = open_session(node, agent_id)
    if session is None:
        return None
    return _within(session.probe(target), made(ProbeAsked, target).timeout + PROBE_GRACE_S)


def open_session(node: Node, agent_id: str) -> AgentSession | None:
    """That of an agent which is connected here."""
    session = sessions_of(node).live.get(agent_id)
    return session if session is not None and session.number and not session.ended else None


def _ask(node: Node, name: str, path: str, asked: Passed, wanted: str) -> Any:
    try:
        return peers.ask(node, name, path, asked)[wanted]
    except Unavailable as problem:
        log.warning("no %s of agent=%s: %s", wanted, asked["agent_id"], problem)
        return None


def _within(arrived: AsyncResult, timeout: float) -> Any:
    try:
        return arrived.get(timeout=timeout)
    except gevent.Timeout:
        return None
