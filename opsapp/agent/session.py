"""One WebSocket session, from hello to its end: what came in is dispatched, what waits is sent and kept until thanked.

Must not: reconnect (link.py does), run commands (executor.py does).
"""

from __future__ import annotations

import logging
import threading
import time
from typing import Any, Callable, Dict, Optional, Tuple, Union

from opsapp.wire import messages
from opsapp.wire.commands import CommandSent
from opsapp.wire.fields import WireError
from opsapp.wire.frames import AGENT_PING_S, CLOSE_BAD_MESSAGE, SILENCE_S, unpack_chunk
from opsapp.wire.messages import Ack, Refuse, SessionMessage
from opsapp.wire.monitortypes import FINER, PLUGIN, PROBE
from opsapp.wire.policies import BY_KEY
from opsapp.wire.reports import CommandResult, HostReport

from .executor import CommandExecutor
from .journal import THANKED
from .outcomes import Outcomes
from .outputs import Outputs
from .probing.plugins import PluginRunner
from .probing.probesunderway import Probing
from .reporter import Reporter
from .spool import Spool
from .streams import OpenStreams
from .websocket import ServerSocket, SessionClosed

log = logging.getLogger("session")
WELCOME_S = 15.0
AGAIN_S = 60.0  # a result that was not thanked for by then is sent again
FEATURES = (PROBE, PLUGIN, FINER, BY_KEY)
REPORTS_MOST = 4  # unacknowledged at once
FORGOTTEN = "its result was delivered before and is no longer kept"
SPOOLED_EVERY_S = 0.005  # after days away there are thousands, and a server cuts off who sends too fast


class LinkSession:
    def __init__(
        self,
        ws: ServerSocket,
        hello: messages.Hello,
        *,
        executor: CommandExecutor,
        reporter: Reporter,
        spool: Spool,
        streams: OpenStreams,
        outcomes: Outcomes,
        plugins: PluginRunner,
        policies: Callable[[Any, str], None],
        protect: Callable[[Optional[Tuple[str, ...]]], None],
        server_time: Callable[[Optional[float]], None],
    ):
        self.welcomed = False
        self._ws = ws
        self._hello = hello
        self._executor = executor
        self._policies = policies
        self._protect = protect
        self._server_time = server_time
        self._outcomes = outcomes
        self._outcome: Optional[str] = None
        self._reporter = reporter
        self._spool = spool
        self._streams = streams
        self._probing = Probing(self._offer, plugins)
        self._reports: Dict[str, HostReport] = {}
        self._results: Dict[str, float] = {}
        self._look = threading.Event()
        self._look.set()
        self._outputs = Outputs(lambda name, seq, data: self._offer(messages.OutputTold(name, seq, data)))
        self._spooled: Optional[str] = None
        self._spooled_next = 0.0
        self._number = 0
        self._pinged_at = time.monotonic()
        ws.on_text = self._on_text
        ws.on_binary = self._on_binary

    # ---- from other threads
    def tell(self) -> None:
        self._look.set()
        self._ws.wake()

    def started(self, name: str, at: float) -> None:
        self._offer(messages.Started(name, at))

    def output(self, name: str, data: bytes) -> None:
        if self._outputs.put(name, data):
            self._ws.wake()

    def _offer(self, message: SessionMessage) -> None:
        """Send what only watchers want: nothing depends on its arrival."""
        if self.welcomed:
            try:
                self._say(message)
            except OSError as error:
                log.debug("%s not sent: %s", message.kind, error)

    def _say(self, message: SessionMessage) -> None:
        self._ws.send(messages.encode(message))

    # ---- the owner's thread
    def run(self, stopping: Callable[[], bool], goodbye: Callable[[], int]) -> None:
        """Returns when `stopping` says so; the close code is `goodbye` then. SessionClosed when the session ends."""
        self._say(self._hello)
        began = time.monotonic()
        try:
            while not stopping():
                self._ws.turn(self._rest())
                self._outputs.flush()
                now = time.monotonic()
                if not self.welcomed and now - began > WELCOME_S:
                    raise SessionClosed(CLOSE_BAD_MESSAGE, "no welcome")
                self._ping(now)
                if self.welcomed:
                    self._send_waiting(now)
        except WireError as error:
            log.warning("the server sent what cannot be read: %s", error)
            self._ws.end(CLOSE_BAD_MESSAGE, str(error))
            raise SessionClosed(CLOSE_BAD_MESSAGE, str(error)) from None
        finally:
            self._streams.end()
            for report in self._reports.values():
                self._spool.keep(report)
                self._reporter.not_taken(report)
        self._ws.end(goodbye(), "the agent stops")

    def _rest(self) -> float:
        """How long nothing is due by itself."""
        written, spooled = self._outputs.due_in(), self._spooled_next - time.monotonic()
        return min(1.0, 1.0 if written is None else written, spooled if self._spooled is None and spooled > 0 else 1.0)

    def _ping(self, now: float) -> None:
        if now - self._ws.heard_at > SILENCE_S:
            raise SessionClosed(1006, "nothing heard")
        if now - max(self._pinged_at, self._ws.heard_at) >= AGENT_PING_S:
            self._pinged_at = now
            self._number += 1
            self._say(messages.Ping(f"p{self._number}"))

    def _send_waiting(self, now: float) -> None:
        while len(self._reports) < REPORTS_MOST:
            report = self._spool.take()
            if report is None:
                break
            try:
                self._report(report)
            except WireError as error:  # our own mistake: one report less, not the session
                log.error("a report cannot be sent: %s", error)
        if self._spooled is None and now >= self._spooled_next:
            old = self._spool.oldest()
            if old:
                self._spooled_next = now + SPOOLED_EVERY_S
                try:
                    self._spooled = self._report(old)
                except WireError as error:
                    log.error("a spooled report cannot be sent: %s", error)
                    self._spool.delivered()
        if self._outcome is None:
            for outcome in self._outcomes.waiting(1):
                self._outcome = outcome.outcome_id
                self._say(messages.OutcomeTold(self._outcome, outcome))
        if self._look.is_set() or (self._results and now - min(self._results.values()) > AGAIN_S):
            self._look.clear()
            self._send_results(now)

    def _report(self, report: HostReport) -> str:
        self._number += 1
        name = f"r{self._number}"
        self._say(messages.Report(name, report))
        self._reports[name] = report
        return name

    def _send_results(self, now: float) -> None:
        for name in self._executor.journal.unthanked():
            if now - self._results.get(name, float("-inf")) > AGAIN_S:
                self._send_result(name, now)

    def _send_result(self, name: str, now: float) -> None:
        result = self._executor.journal.result(name)
        if result is None:
            self._executor.journal.thank(name)
            return
        self._outputs.end(name)
        self._results[name] = now
        self._say(messages.Result(name, result))

    # ---- what comes in
    def _on_text(self, frame: str) -> None:
        message = messages.decode(frame, messages.SERVER)
        if not self.welcomed and message.kind not in ("welcome", "refuse", "ping"):
            raise WireError(f"{message.kind} before welcome")
        handler = getattr(self, f"_on_{message.kind}", None) or self._streams.on_message
        handler(message)

    def _on_binary(self, frame: bytes) -> None:
        self._streams.on_chunk(unpack_chunk(frame))

    def _on_welcome(self, message: messages.Welcome) -> None:
        self.welcomed = True
        self._server_time(message.time)
        self._on_settings(message)
        self._streams.begin(self._ws)
        log.info("session is open, reporting every %s s", message.interval)

    def _on_settings(self, message: Union[messages.Welcome, messages.Settings]) -> None:
        self._reporter.set_interval(message.interval)
        self._protect(message.protected_processes)

    def _on_ping(self, message: messages.Ping) -> None:
        self._say(messages.Pong(message.id))

    def _on_pong(self, message: messages.Pong) -> None:
        """Heard: the socket has noted it."""

    def _on_ack(self, message: Ack) -> None:
        name = message.id
        if message.of == "report":
            self._reports.pop(name, None)
            if name == self._spooled:
                self._spool.delivered()
                self._spooled = None
        elif message.of == "result":
            self._results.pop(name, None)
            self._executor.journal.thank(name)
        elif message.of == "outcome":
            self._outcomes.thank(name)
            self._outcome = None

    def _on_refuse(self, message: Refuse) -> None:
        log.warning("the server refused %s %s: %s", message.of, message.id, message.message or message.code)
        if message.of == "hello":
            raise SessionClosed(CLOSE_BAD_MESSAGE, message.code)
        if message.id:
            self._on_ack(Ack(message.id, message.of))  # it will never take it: give it up

    def _on_command(self, message: messages.CommandTold) -> None:
        name = message.id
        if message.command.command_id != name:
            raise WireError("a command's two ids differ")
        refusal = accept(self._executor, message.command)
        if refusal:
            self._say(Refuse(name, message.kind, *refusal))
            return
        self._say(Ack(name, message.kind))
        if self._executor.journal.state(name) == THANKED:
            self._say(messages.Result(name, CommandResult(name, "lost", reason=FORGOTTEN)))
        elif name in self._results:
            self._send_result(name, time.monotonic())

    def _on_policies(self, message: messages.PoliciesTold) -> None:
        try:
            self._policies(message.bundle, message.signature)
        except (WireError, OSError) as error:
            self._say(Refuse(message.id, message.kind, "refused", str(error)))
            return
        self._say(Ack(message.id, message.kind))

    def _on_probe(self, message: messages.Probe) -> None:
        self._probing.take(message.id, message.target)

    def _on_cancel(self, message: messages.CancelAsked) -> None:
        self._executor.cancel(message.id)
        self._say(Ack(message.id, message.kind))


def accept(executor: CommandExecutor, command: CommandSent) -> Optional[Tuple[str, str]]:
    """Put the command on the disk, or say why that failed. A known id is fine and does nothing."""
    if executor.journal.state(command.command_id) is None and executor.journal.full():
        return "busy", "too many commands are waiting"
    try:
        executor.submit(command)
    except OSError as error:
        return "no_space", f"the journal cannot be written: {error.strerror}"
    return None
