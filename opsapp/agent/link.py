"""Keeps the agent in touch with the server: a session when possible, polling when not, back-off when neither.

Must not: know what commands do.
"""

from __future__ import annotations

import logging
import os
import random
import socket
import threading
import time
from typing import Any, Callable, Dict, List, Optional, Tuple
from urllib.parse import quote

from opsapp.wire.commands import fit_result
from opsapp.wire.fields import WireError, dumps, loads
from opsapp.wire.frames import CLOSE_CLONE, CLOSE_STOPPED, MAX_POLL_BODY, PROTOCOL
from opsapp.wire.messages import Hello, PollAnswer, read_poll_answer
from opsapp.wire.records import plain
from opsapp.wire.reports import CommandResult, HostReport
from opsapp.wire.version import VERSION

from .config import AgentConfig
from .executor import CommandExecutor
from .outcomes import Outcomes
from .probing.plugins import PluginRunner
from .reporter import Reporter
from .session import FEATURES, LinkSession, accept
from .spool import Spool
from .streams import OpenStreams
from .transport import HttpAnswer, TransportError, parse_url, request
from .websocket import ServerSocket, SessionClosed

log = logging.getLogger("link")
STEADY_S = 10.0  # a session that lasted this long ends the back-off
SESSION_FIRST_S = 5.0  # between attempts at a session while polling works
SESSION_MOST_S = 300.0
SPOOLED_PER_POLL = 20
GOODBYE_S = 3.0  # for an answer to the last word of one that only polls
RESULTS_ROOM = MAX_POLL_BODY - 300_000  # the rest is the report's


class Backoff:
    """Growing waits with jitter, so that a thousand agents do not come back in one second."""

    def __init__(self, first: float, most: float):
        self._first, self._most = first, most
        self.failures = 0

    def reset(self) -> None:
        self.failures = 0

    def next(self) -> float:
        whole = min(self._most, self._first * 2 ** min(self.failures, 30))
        self.failures += 1
        return whole * random.uniform(0.5, 1.0)

    def longest(self) -> float:
        return self._most * random.uniform(0.5, 1.0)


class Link:
    def __init__(
        self,
        config: AgentConfig,
        executor: CommandExecutor,
        reporter: Reporter,
        spool: Spool,
        streams: OpenStreams,
        outcomes: Outcomes,
    ):
        self.session: Optional[LinkSession] = None
        self.connected_once = threading.Event()
        self._config = config
        self._address = parse_url(config.server, config.ca_file)
        self._executor = executor
        self._reporter = reporter
        self._spool = spool
        self._outcomes = outcomes
        self._plugins = PluginRunner(config.plugin_dirs, config.state_dir)
        self._heard_at = time.monotonic()
        self._ws: Optional[ServerSocket] = None
        self.policies: Callable[[Any, str], None] = _no_policies
        self.on_key_refused: Callable[[], None] = lambda: None
        self.policy_version: Callable[[], int] = int
        self.protect: Callable[[Optional[Tuple[str, ...]]], None] = lambda names: None
        self.server_time: Callable[[Optional[float]], None] = lambda at: None
        self._streams = streams
        self._wake = threading.Event()
        self._stopping = self._leaving = False
        self._polled_at = float("-inf")  # when a poll was answered last, if no session was open since
        self._retry_after = 0.0
        self._room = RESULTS_ROOM
        self._backoff = Backoff(config.retry_first_s, config.retry_most_s)
        self._session_backoff = Backoff(SESSION_FIRST_S * config.retry_first_s, SESSION_MOST_S * config.retry_first_s)

    # ---- from other threads
    def tell(self) -> None:
        session = self.session
        if session:
            session.tell()
        self._wake.set()

    def started(self, name: str, at: float) -> None:
        session = self.session
        if session:
            session.started(name, at)

    def output(self, name: str, data: bytes) -> None:
        session = self.session
        if session:
            session.output(name, data)

    def silent_for(self) -> float:
        ws = self._ws
        return time.monotonic() - max(self._heard_at, ws.heard_at if ws else 0.0)

    def stop(self, *, comes_back: bool = False) -> None:
        """`comes_back`: it starts again by itself at once, so nobody has to know."""
        self._leaving = not comes_back
        self._stopping = True
        self._plugins.stop()
        self.tell()

    # ---- the owner's thread
    def run(self) -> None:
        while not self._stopping:
            if self._config.websocket and self._try_session():
                continue
            if not self._stopping:
                self._poll_for_a_while()
        if self._leaving and time.monotonic() - self._polled_at < 2 * self._reporter.interval:
            self._send_goodbye()

    def _goodbye(self) -> int:
        return CLOSE_STOPPED if self._leaving else 1000

    def _send_goodbye(self) -> None:
        """Of one that only polls. Without an answer it is away like one that fell silent."""
        body = dumps({**plain(self._reporter.measure("interval")), "stopped": True})
        try:
            request(self._address, "POST", self._path("report"), self._config.key, body=body, patience=GOODBYE_S)
        except TransportError as error:
            log.debug("goodbye was not said: %s", error)

    def once(self) -> bool:
        if not self._poll(self._reporter.measure("start")):
            return False
        while self._executor.journal.open():
            self._wake.wait(0.2)
            self._wake.clear()
        while self._executor.journal.unthanked():
            if not self._poll(self._reporter.measure("interval")):
                return False
        return True

    def check(self) -> bool:
        """Whether the server takes a report of this program. Nothing the answer asks for is done."""
        try:
            self._answer_to(plain(self._reporter.measure("start")))
        except (TransportError, WireError) as error:
            log.error("%s", error)
            return False
        return True

    def _answer_to(self, report: Dict[str, object]) -> Tuple[PollAnswer, str]:
        """What the server answers, and from which address it was asked."""
        answer, ip = request(self._address, "POST", self._path("report"), self._config.key, body=dumps(report))
        if answer.status != 200:
            raise TransportError(self._explain(answer))
        return read_poll_answer(loads(answer.body)), ip

    def _try_session(self) -> bool:
        """True when there was a session and the next one should be tried soon."""
        began = time.monotonic()
        session: Optional[LinkSession] = None
        try:
            ws = ServerSocket(self._address, self._path("session"), self._config.key)
            try:
                self._reporter.ip = ws.local_ip
                session = LinkSession(
                    ws,
                    self._hello(),
                    executor=self._executor,
                    reporter=self._reporter,
                    spool=self._spool,
                    streams=self._streams,
                    outcomes=self._outcomes,
                    plugins=self._plugins,
                    policies=self.policies,
                    protect=self.protect,
                    server_time=self.server_time,
                )
                self.session = session
                self._ws, self._polled_at = ws, float("-inf")
                session.run(lambda: self._stopping or self._welcome(session), self._goodbye)
                return True
            finally:
                self.session = self._ws = None
                if session and session.welcomed:
                    self._heard_at = max(self._heard_at, ws.heard_at)
                ws.close()
        except TransportError as error:
            log.info("%s", error)
            if isinstance(error, SessionClosed) and session and session.welcomed:
                self._after_session(error, time.monotonic() - began)
                return True
            return False

    def _welcome(self, session: Optional[LinkSession]) -> bool:
        """Called every turn. Never ends the session."""
        if session and session.welcomed:
            self.connected_once.set()
            self._session_backoff.reset()
        return False

    def _after_session(self, error: SessionClosed, lasted: float) -> None:
        if lasted >= STEADY_S:
            self._backoff.reset()
        self._stay_away(self._backoff.longest() if error.code == CLOSE_CLONE else self._backoff.next())

    def _poll_for_a_while(self) -> None:
        """Poll until it is time to try a session again, or the server is away."""
        until = time.monotonic() + self._session_backoff.next() if self._config.websocket else float("inf")
        report: Optional[HostReport] = self._spool.take() or self._reporter.measure("interval")
        while not self._stopping:
            if report is None and self._executor.journal.unthanked():
                report = self._reporter.measure("interval")
            if report is not None and not self._poll(report):
                self._stay_away(max(self._backoff.next(), self._retry_after))
                return
            left = until - time.monotonic()
            if left <= 0:
                return
            self._wake.wait(min(left, self._reporter.interval))
            self._wake.clear()
            report = self._spool.take()

    def _stay_away(self, seconds: float) -> None:
        """Wait; reports that come meanwhile go to the disk, and only stop() ends the wait early."""
        until = time.monotonic() + seconds
        while not self._stopping and time.monotonic() < until:
            self._wake.wait(max(0.0, until - time.monotonic()))
            self._wake.clear()
            if seconds > self._reporter.interval or self._backoff.failures > 1:
                self._keep_all()

    def _keep_all(self) -> None:
        report = self._spool.take()
        while report is not None:
            self._spool.keep(report)
            self._reporter.not_taken(report)
            report = self._spool.take()

    def _poll(self, report: HostReport) -> bool:
        """Send a report by polling; True when the server took it and its answer has been handled."""
        self._retry_after = 0.0
        results, outcomes = self._results(), self._outcomes.waiting()
        body = {
            **plain(report),
            "held": list(map(plain, self._executor.journal.held())),
            "results": list(map(plain, results)),
            "outcomes": list(map(plain, outcomes)),
            "policy_version": self.policy_version(),
            "features": FEATURES,
        }
        try:
            answer, ip = self._answer_to(body)
            self._see_to(answer)
        except (TransportError, WireError) as error:
            log.info("%s", error)
            self._spool.keep(report)
            self._reporter.not_taken(report)
            return False
        self._reporter.ip = ip
        self._heard_at = self._polled_at = time.monotonic()
        self._backoff.reset()
        self.connected_once.set()
        for result in results:
            self._executor.journal.thank(result.command_id)
        for outcome in outcomes:
            self._outcomes.thank(outcome.outcome_id)
        if not report.is_spooled:
            self._deliver_spooled()
        return True

    def _deliver_spooled(self) -> None:
        for _ in range(SPOOLED_PER_POLL):
            old = self._spool.oldest()
            if old is None or not self._poll(old):
                return
            self._spool.delivered()

    def _results(self) -> List[CommandResult]:
        """The results to send; a single one that does not fit into a body is cut."""
        chosen: List[CommandResult] = []
        room = self._room
        for name in self._executor.journal.unthanked():
            result = self._executor.journal.result(name)
            if result is None:
                self._executor.journal.thank(name)
                continue
            if not chosen:
                result = fit_result(result, room)
            room -= len(dumps(plain(result))) + 1
            if room < 0:
                break
            chosen.append(result)
        return chosen

    def _see_to(self, answer: PollAnswer) -> None:
        self._reporter.set_interval(answer.interval)
        self.server_time(answer.time)
        self.protect(answer.protected_processes)
        if answer.policies:
            try:
                self.policies(answer.policies.bundle, answer.policies.signature)
            except (WireError, OSError) as error:
                log.error("policies refused: %s", error)
        for name in answer.cancel:
            self._executor.cancel(name)
        for command in answer.commands:
            refusal = accept(self._executor, command)
            if refusal:
                log.warning("command %s not taken: %s", command.command_id, refusal[1])

    def _explain(self, answer: HttpAnswer) -> str:
        self._retry_after = answer.retry_after() or 0.0
        if answer.status in (401, 403):
            self.on_key_refused()
            return "the server does not accept this agent's key"
        if answer.status == 413:
            self._room = max(16384, self._room // 2)
        return f"the server answered {answer.status}"

    def _path(self, what: str) -> str:
        return f"/api/agents/{quote(self._config.agent_id, safe='')}/{what}"

    def _hello(self) -> Hello:
        reporter = self._reporter
        return Hello(
            PROTOCOL,
            self._config.agent_id,
            reporter.machine_id,
            reporter.metrics.boot_id,
            socket.gethostname(),
            reporter.metrics.os,
            VERSION,
            os.getpid(),
            tuple(self._executor.journal.held()),
            self.policy_version(),
            time.time(),
            features=FEATURES,
        )


def _no_policies(_bundle: Any, _signature: str) -> None:
    raise WireError("this agent takes no policies yet", "refused")
