"""One agent's session, from its hello to its end, in the greenlet of its connection. See docs/wire.md.

What matters is committed before it is acknowledged. A store that is away holds this session up and nobody else.
Must not: know HTTP; `line` is all it has of the socket.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import gevent
from gevent.event import AsyncResult
from transaction.interfaces import TransientError

from opsapp.lib.ids import new_id
from opsapp.lib.problems import Problem, Unauthenticated
from opsapp.runtime.node import Node
from opsapp.runtime.queue import until_stored
from opsapp.wire import frames, messages
from opsapp.wire.commands import CommandSent, read_report
from opsapp.wire.fields import WireError
from opsapp.wire.messages import SessionMessage, StreamMessage
from opsapp.wire.monitortypes import TYPES
from opsapp.wire.probes import Outcome
from opsapp.wire.reports import Passed

from . import commands, policies, session_store
from .memory import memory_of
from .outputs import outputs_of
from .relay import relay_of
from .store_waits import Patience
from .streams import AgentStreams

log = logging.getLogger(__name__)

HELLO_S = 10.0
RATE = 500.0  # messages a second in the long run
BURST = 2000.0
QUEUE_MOST = 5000
SOON_S = 0.02


class LineClosed(Exception):
    """The connection is gone or going."""


class SessionLine(Protocol):
    """What a session needs of a WebSocket."""

    def receive(self, timeout: float | None = None) -> str | bytes | None:
        """The next message, None once it is closed; TimeoutError when none comes."""

    def send(self, message: str | bytes) -> None:
        """Waits while the peer is slow; LineClosed when it is gone."""

    def close(self, code: int, reason: str) -> None: ...

    def fell_silent(self) -> bool:
        """Whether it ended because nothing was heard, not even an answer to a ping."""

    def said_goodbye(self) -> bool:
        """Whether the agent ended it because somebody has stopped the agent."""


class NodeSessions(Protocol):
    """What a session needs of its node's sessions."""

    node: Node
    patience: Patience
    refused: int

    def admit(self, session: AgentSession) -> bool: ...

    def welcomed(self) -> None: ...

    def leave(self, session: AgentSession) -> bool: ...

    def settings(self) -> messages.Settings: ...


class AgentSession:
    def __init__(self, sessions: NodeSessions, agent_id: str, key: policies.ShownKey, line: SessionLine, ip: str):
        self.id = new_id()
        self.agent_id = agent_id
        self.key = key
        self.machine_id = ""
        self.number = 0
        self.policy_version = 0  # that it holds, or is being sent
        self.ended = False
        self.streams = AgentStreams(self._send_or_drop)
        self.measures: dict[str, AsyncResult] = {}
        self.probes: dict[str, AsyncResult] = {}
        self.features: frozenset[str] = frozenset()  # what the agent understands beyond the first protocol
        self._sessions = sessions
        self._node: Node = sessions.node
        self._memory = memory_of(sessions.node)
        self._line = line
        self._ip = ip
        self._waiting: deque[str] = deque()
        self._steps: list[commands.Step] = []
        self._pumping = False
        self._tokens, self._filled_at = BURST, self._node.clock.monotonic()

    # ---- from any greenlet
    def post(self, message: SessionMessage) -> None:
        """Send a message soon, in order, without making the caller wait for a slow agent."""
        if len(self._waiting) >= QUEUE_MOST:
            self.stop(frames.CLOSE_TOO_FAST, "the agent does not read")
            return
        self._waiting.append(messages.encode(message))
        if not self._pumping:
            self._pumping = True
            gevent.spawn(self._pump)

    def _pump(self) -> None:
        try:
            while self._waiting and not self.ended:
                self._line.send(self._waiting.popleft())
        except LineClosed:
            self._waiting.clear()
        finally:
            self._pumping = False

    def _send_or_drop(self, message: str | bytes) -> None:
        """Used by streams, which end with the session anyway."""
        try:
            self._line.send(message)
        except LineClosed:
            self.streams.end()

    def offer(self, sent: list[CommandSent], cancels: list[str]) -> None:
        """Send commands and cancellations, which are both committed as offered to this session."""
        for command in sent:
            self.post(messages.CommandTold(command.command_id, command))
        for command_id in cancels:
            self.post(messages.CancelAsked(command_id))

    def measure(self, token: int, store: str) -> AsyncResult:
        """Ask for a measurement now under a token of this store. It has no effect on the host, so nothing of it is
        stored."""
        name = f"measure-{new_id()}"
        self.measures[name] = AsyncResult()
        params: Passed = {"heal_id": name, "token": token, "phase": "measure"}
        self.post(messages.CommandTold(name, CommandSent(name, "heal", params, store)))
        return self.measures[name]

    def renew_settings(self) -> None:
        self.post(self._sessions.settings())

    def probe(self, target: Passed) -> AsyncResult:
        """Ask for a probe now; None when the agent cannot say. Nothing of it is stored."""
        name, answer = f"probe-{new_id()}", AsyncResult()
        if self.ended:
            answer.set(None)
        elif not self.features >= (looks := TYPES[str(target["type"])]).features(target):  # a mistake, to it
            answer.set(Outcome(None, None, f"its agent is too old for monitors of the type {looks.name}"))
        else:
            self.probes[name] = answer
            self.post(messages.Probe(name, target))
        return answer

    def renew_policies(self) -> None:
        gevent.spawn(self._renew_policies)

    def _renew_policies(self) -> None:
        try:
            secret = self.key.secret_for(self.features)
            self._hand_over(self._durably(policies.waiting_policies, self.agent_id, self.policy_version, secret))
        except LineClosed:
            log.debug("policies wait for the next session agent=%s", self.agent_id)

    def _hand_over(self, given: policies.NewerPolicies | None) -> None:
        if given is not None and given.version > self.policy_version:
            self.policy_version, signed = given.version, given.signed
            self.post(messages.PoliciesTold(f"policies-{given.version}", signed.bundle, signed.signature))

    def deleted(self, unfinished: list[str]) -> None:
        """End the session of a deleted agent; what it runs for us is stopped with the last words."""
        for command_id in unfinished:
            self._send_or_drop(messages.encode(messages.CancelAsked(command_id)))
        self.stop(frames.CLOSE_BAD_KEY, "the agent was deleted")

    def stop(self, code: int, reason: str) -> None:
        """Stop the session from outside: from now on nothing that it says counts."""
        if not self.ended:
            self.ended = True
            log.info("session ends agent=%s code=%d reason=%s", self.agent_id, code, reason)
            self.streams.end()
            gevent.spawn(self._line.close, code, reason)

    # ---- its own greenlet
    def run(self) -> None:
        try:
            if self._begin():
                self._talk()
        except WireError as wrong:
            log.warning("bad message agent=%s ip=%s: %s", self.agent_id, self._ip, wrong)
            self._line.close(frames.CLOSE_BAD_MESSAGE, str(wrong)[:100])
        except LineClosed:
            log.debug("line closed agent=%s", self.agent_id)
        finally:
            self._finish()

    def _begin(self) -> bool:
        try:
            frame = self._line.receive(HELLO_S)
        except TimeoutError:
            raise WireError("no hello in time") from None
        if frame is None:
            return False
        hello = messages.decode(_text(frame), messages.AGENT)
        if not isinstance(hello, messages.Hello):
            raise WireError(f"{hello.kind} before hello")
        if hello.protocol != frames.PROTOCOL or hello.agent_id != self.agent_id:
            code = "bad_protocol" if hello.agent_id == self.agent_id else "not_yours"
            self._say(messages.Refuse(None, hello.kind, code))
            raise WireError("a hello for another protocol or agent")
        self.machine_id = hello.machine_id
        if not self._sessions.admit(self):
            self._durably(session_store.flag_clone, self.agent_id)
            return self._turn_away(frames.CLOSE_CLONE, "clone")
        return self._welcome(hello)

    def _welcome(self, hello: messages.Hello) -> bool:
        try:
            self.number, offered, given = self._durably(
                session_store.open_session, self.agent_id, self.key, self.id, hello, self._ip
            )
        except Unauthenticated:
            return self._turn_away(frames.CLOSE_BAD_KEY, "bad_key")
        except session_store.Clone:
            self._durably(session_store.flag_clone, self.agent_id)
            return self._turn_away(frames.CLOSE_CLONE, "clone")
        if self.ended:
            return False
        self.features = frozenset(hello.features)
        self._memory.connected.add(self.agent_id)
        now = self._node.clock.now()
        self._memory.note_clock(self.agent_id, hello.time, now)
        settings = self._sessions.settings()
        self._say(messages.Welcome(frames.PROTOCOL, settings.interval, 0, now, settings.protected_processes))
        self.offer(*offered)
        self.policy_version = hello.policy_version
        self._hand_over(given)
        self._sessions.welcomed()
        log.info("session open agent=%s host=%s ip=%s", self.agent_id, hello.hostname, self._ip)
        return True

    def _say(self, message: SessionMessage) -> None:
        self._line.send(messages.encode(message))

    def _turn_away(self, code: int, why: str) -> bool:
        self._sessions.refused += 1
        log.warning("session refused agent=%s ip=%s: %s", self.agent_id, self._ip, why)
        self._say(messages.Refuse(None, messages.Hello.kind, why))
        self._line.close(code, why)
        return False

    def _talk(self) -> None:
        while not self.ended:
            frame = self._line.receive()
            if frame is None or self.ended:
                return
            chunk = frames.unpack_chunk(frame) if isinstance(frame, bytes) else None
            if not self._within_rate(1.0 if chunk is None else self.streams.cost(chunk)):
                log.warning("agent sends too fast agent=%s ip=%s", self.agent_id, self._ip)
                self._line.close(frames.CLOSE_TOO_FAST, "too many messages")
                return
            if chunk is not None:
                self.streams.on_chunk(chunk)
            elif isinstance(frame, str):
                self._on(messages.decode(frame, messages.AGENT))

    def _within_rate(self, cost: float) -> bool:
        now = self._node.clock.monotonic()
        self._tokens = min(BURST, self._tokens + (now - self._filled_at) * RATE)
        self._filled_at = now
        self._tokens -= cost
        return self._tokens >= 0

    def _finish(self) -> None:
        self.ended = True
        self.streams.end()
        for waiter in (*self.measures.values(), *self.probes.values()):
            waiter.set(None)
        if self._sessions.leave(self):
            self._memory.connected.discard(self.agent_id)
        if self.number:
            try:
                self._node.transact(session_store.end_of(self._line), self.agent_id, self.id)
            except (Problem, TransientError) as problem:
                log.warning("end of session not stored agent=%s: %s", self.agent_id, problem)

    def _durably(self, fn: Callable[..., Any], *values: Any) -> Any:
        """Call `fn` however long the store is away: what the agent sent is not acknowledged before. All of these may be
        done twice."""
        try:
            return until_stored(self._node, fn, *values, waits=self._waits)
        finally:
            self._sessions.patience.over(self.agent_id)

    def _waits(self, problem: Exception) -> None:
        if self.ended:
            raise LineClosed from problem
        self._sessions.patience.waits(self.agent_id, problem)

    def _soon(self, fn: Callable[..., Any], *values: Any) -> None:
        """A command's progress, which nobody waits for: with its result, or with what else has come in a moment."""
        self._steps.append((fn, values))
        if len(self._steps) == 1:
            gevent.spawn_later(SOON_S, self._flush)

    def _flush(self, *more: commands.Step) -> None:
        """Progress that is lost with the session is told again by the next one's hello."""
        steps, self._steps = [*self._steps, *more], []
        if steps:
            try:
                self._durably(commands.take_steps, steps)
            except LineClosed:
                if more:
                    raise

    # ---- messages
    def _on(self, message: Any) -> None:
        if isinstance(message, StreamMessage):
            self.streams.on_message(message)
            return
        handler = getattr(self, f"_on_{message.kind}", None)
        if handler is None:
            raise WireError(f"{message.kind} has no place here")
        handler(message)

    def _ack(self, message: messages.NamedMessage) -> None:
        self._say(messages.Ack(message.id, message.kind))

    def _on_ping(self, message: messages.Ping) -> None:
        self._say(messages.Pong(message.id))

    def _on_pong(self, message: messages.Pong) -> None:
        """It has been heard; the socket keeps the time."""

    def _on_report(self, message: messages.Report) -> None:
        report = message.report
        if self._memory.tells_news(self.agent_id, report, self._ip):
            self._durably(session_store.store_report, self.agent_id, report, self._ip, self.id)
        if not self.ended:
            self._memory.observe(self.agent_id, report, self._node.clock.now())
            self._ack(message)

    def _on_result(self, message: messages.Result) -> None:
        result = message.result
        if message.id != result.command_id:
            raise WireError("a result's two ids differ")
        if waiter := self.measures.pop(message.id, None):
            measured = (result.data or {}).get("report") if result.status == "done" else None
            waiter.set(measured and read_report(measured))
        elif not message.id.startswith("measure-"):
            self._flush((commands.take_result, (self.agent_id, result, self.id)))
        outputs_of(self._node).forget(message.id)
        self._ack(message)

    def _on_probed(self, message: messages.Probed) -> None:
        if waiter := self.probes.pop(message.id, None):  # else it came too late
            waiter.set(message.outcome)

    def _on_outcome(self, message: messages.OutcomeTold) -> None:
        self._durably(session_store.store_outcome, self.agent_id, message.outcome)
        self._ack(message)

    def _on_started(self, message: messages.Started) -> None:
        if message.command_id not in self.measures:
            self._soon(commands.started, self.agent_id, message.command_id, message.started_at)

    def _on_output(self, message: messages.OutputTold) -> None:
        chunk = (message.command_id, message.seq, message.data)
        outputs_of(self._node).call(*chunk)
        relay_of(self._node).output(*chunk)

    def _on_ack(self, message: messages.Ack) -> None:
        if message.of == "command" and message.id not in self.measures:
            self._soon(commands.acknowledged, self.agent_id, message.id)

    def _on_refuse(self, message: messages.Refuse) -> None:
        log.warning("agent %s refuses %s: %s %s", self.agent_id, message.of, message.code, message.message)
        if message.of == "command" and message.id:
            if waiter := self.measures.pop(message.id, None):
                waiter.set(None)
            else:
                self._durably(commands.refused, self.agent_id, message.id, message.code, message.message, self.id)


def _text(frame: str | bytes) -> str:
    if isinstance(frame, bytes):
        raise WireError("a binary frame before hello")
    return frame
