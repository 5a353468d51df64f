"""The executor: the one child process in which everything runs that the service does on its own machine.

It has the agent's code (`opsapp.agent.embedded`) behind a socket pair, none of the service's environment, and where the
configuration names a user, none of its files. It is started again when it ends or hangs, and what it had under way is
lost, never repeated. On the hub.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gevent
import gevent.socket
from gevent.event import Event
from gevent.lock import Semaphore
from gevent.queue import Empty, SimpleQueue

from opsapp.agents.config import ExecutorSettings
from opsapp.lib.problems import Forbidden
from opsapp.wire import messages
from opsapp.wire.commands import CommandSent, ProgramCommand, read_params
from opsapp.wire.fields import WireError
from opsapp.wire.frames import APART_FEATURE, LENGTH, MAX_TEXT_FRAME, PING_FEATURE, UNREAD_FEATURE
from opsapp.wire.records import plain
from opsapp.wire.reports import CommandResult, Passed

from . import executor_launch
from .executor_launch import ExecutorUser, Launched, NoExecutor

if TYPE_CHECKING:
    from opsapp.runtime.node import Node

log = logging.getLogger(__name__)

KEY, WHOSE = "opsapp.executor", "opsapp.executor.whose"
READY_S = 30.0  # a former executor may need its time to end what it had under way
STOP_S = 8.0
REAP_S = 5.0
PING_S, SILENCE_S = 4.0, 12.0  # it is asked after so much silence, and hangs after so much
NO_ANSWER_S = 5.0  # beyond a command's own time-out and grace
TOLD_S = 900.0  # how long health tells of one that ended
LONGEST_WAIT_S = 30.0  # before one is started again that ends each time
LOST = "the executor ended while it ran"
Word = messages.Started | messages.OutputTold | CommandResult  # what is said of a command
OVERDUE = "no end of it was heard within its time-out: the executor does not answer"


def prepare(node: Node) -> None:
    """Called before anything is served. It finds out as which user the executor will run, and so who may write what it
    does."""
    settings = node.config[ExecutorSettings]
    try:
        node.registry[WHOSE] = executor_launch.whose(settings)
    except NoExecutor as problem:  # nothing runs then; whoever asks for a run is told
        log.error("%s", problem)
        node.registry[WHOSE] = ExecutorUser(settings.user or "", -1, False, settings.socket)


def start(node: Node) -> None:
    executor = node.registry[KEY] = ExecutorProcess(node)
    node.supervisor.add("executor", executor.step, every=1.0, wake=("executor",))
    node.at_stop(lambda: None, executor.finish_stop)  # whoever has something under way ends it


def executor_of(node: Node) -> ExecutorProcess:
    return node.registry[KEY]


def executor_trouble(node: Node) -> str | None:
    """See `ExecutorProcess.trouble`."""
    return node.registry[KEY].trouble() if KEY in node.registry else None


def held_of_runs(node: Node) -> frozenset[str] | None:
    """The locks that scripts hold here against each other and the executor; None where nobody knows yet."""
    return node.registry[KEY].holds if KEY in node.registry else None


def executor_history(node: Node) -> str | None:
    return node.registry[KEY].history() if KEY in node.registry else None


def needs_admin(node: Node) -> bool:
    """What the service runs as its own user could read all of its files: only admins write that."""
    return bool(node.registry[WHOSE].shared)


def require_author(node: Node, *, is_admin: bool) -> None:
    if needs_admin(node) and not is_admin:
        raise SharesUser()


class SharesUser(Forbidden):
    """An operator would write what runs as the service's own user."""

    code = "executor_shares_user"

    def __init__(self) -> None:
        super().__init__(
            "This would run on the service's own machine as the service's own user, so only an admin may write it. "
            "With executor.user in the configuration, operators may too."
        )


class _Command:
    """A command as the executor reports it, for the greenlet that waits."""

    def __init__(self) -> None:
        self.said: SimpleQueue[Word] = SimpleQueue()
        self.sent = False
        self.cancelled = False


class ExecutorProcess:
    """One per engine process."""

    def __init__(self, node: Node):
        self._node = node
        self._data = node.registry.settings.get("opsapp.data")
        self._place: Path | None = None
        self._launched: Launched | None = None
        self._sock: Any = None
        self._reader: Any = None
        self._ready = Event()
        self._writing = Semaphore()
        self._commands: dict[str, _Command] = {}
        self._stopping = False
        self._heard = self._asked = 0.0  # by the monotonic clock
        self._answers_pings = False
        self._failures = 0  # in a row: it was started, and was gone before it was ready
        self._not_before = 0.0
        self._hangs: str | None = None
        self._ended: tuple[float, str] | None = None  # when and why the one before was gone
        self.problem = "it has not been started yet"
        self.holds: frozenset[str] | None = None  # what its machine lets it; None: not known yet

    @property
    def whose(self) -> ExecutorUser:
        return self._node.registry[WHOSE]

    @property
    def pid(self) -> int | None:
        child = self._launched.child if self._launched else None
        return child.pid if child else None

    # -- supervision

    def step(self) -> bool:
        """See that it runs. An exception is a failure that the supervisor repeats with back-off."""
        if self._stopping:
            return False
        now = self._node.clock.monotonic()
        if self._sock is not None:
            self._look(now)
            return False
        if now < self._not_before:
            return False
        lane = self._node.lane("executor", 1)
        if self._place is None:
            self._place = lane.run(executor_launch.place_of, self._data, self._node.name)
        try:
            self._launched = lane.run(
                executor_launch.launch, self.whose, self._place, self._node.config[ExecutorSettings]
            )
        except NoExecutor as problem:
            if self.problem != str(problem):
                self.problem = str(problem)
                log.error("%s", problem)
            return False
        self._sock = gevent.socket.socket(fileno=self._launched.sock.detach())
        self._heard = now
        self._reader = gevent.spawn(self._read)
        return False

    def _look(self, now: float) -> None:
        """Whether it hangs. Before its first word a former executor may have to end."""
        silent, patience = now - self._heard, SILENCE_S if self._ready.is_set() else READY_S
        if silent >= patience and (self._answers_pings or not self._ready.is_set()):
            self._cut(f"it has not answered for {silent:.0f} s")
        elif self._answers_pings and now - max(self._heard, self._asked) >= PING_S and not self._writing.locked():
            self._asked = now
            gevent.spawn(self._send_if_there, messages.Ping("ping"))

    def _cut(self, why: str) -> None:
        """It hangs: its reader meets the end of the connection, and it is killed."""
        self._hangs = why
        child = self._launched.child if self._launched else None
        if child is not None:
            child.kill()
        self._sock.shutdown(gevent.socket.SHUT_RDWR)

    def trouble(self) -> str | None:
        """Why nothing can run here now, for health."""
        away = not self._ready.is_set() and (self._failures or self._ended)
        return f"the executor is not running: {self.problem}" if away else None

    def history(self) -> str | None:
        """That the executor had to be started again not long ago, for health. Runs go on since."""
        ended_at, why = self._ended or (-TOLD_S, "")
        ago = self._node.clock.monotonic() - ended_at
        told = self._ready.is_set() and ago < TOLD_S
        return f"the executor ended {ago:.0f} s ago and was started again: {why}" if told else None

    def _read(self) -> None:
        try:
            while True:
                (length,) = LENGTH.unpack(self._exactly(LENGTH.size))
                if length > MAX_TEXT_FRAME:
                    raise OSError("a frame is too large")
                message = messages.decode(self._exactly(length).decode(), messages.AGENT)
                self._heard = self._node.clock.monotonic()
                self._on_message(message)
        except (OSError, WireError, UnicodeDecodeError) as problem:
            self._gone(str(problem))

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self._sock.recv(min(65536, size - len(data)))
            if not piece:
                raise OSError("it has ended")
            data += piece
        return bytes(data)

    def _gone(self, why: str) -> None:
        was_ready, why, self._hangs = self._ready.is_set(), self._hangs or why, None
        self._ready.clear()
        self._sock.close()
        for command_id, command in self._commands.items():
            if command.sent:
                command.said.put(CommandResult(command_id, "lost", reason=LOST))
        code = self._reap()
        self.problem = why if code in (None, 0) else f"{why} (exit code {code})"
        self._sock = self._launched = None
        if not self._stopping:
            log.error("the executor is gone and will be started again: %s", self.problem)
            self._note_end(was_ready)
            self._node.wake("executor")

    def _note_end(self, was_ready: bool) -> None:
        now = self._node.clock.monotonic()
        self._ended = now, self.problem
        self._failures = 0 if was_ready else self._failures + 1
        self._not_before = now + (min(LONGEST_WAIT_S, 0.5 * 2**self._failures) if self._failures else 0.0)

    def _reap(self) -> int | None:
        """Wait for the executor's exit code after its socket is closed, and kill it when it does not end."""
        child = self._launched.child if self._launched else None
        if child is None:
            return None
        with gevent.Timeout(REAP_S, False):
            while child.poll() is None:
                gevent.sleep(0.02)
        if child.poll() is None:
            child.kill()
            child.wait()
        return child.returncode

    # -- messages

    def _on_message(self, message: Any) -> None:
        if isinstance(message, messages.Hello):
            self._check(message)
            self.problem = ""
            self._failures, self._answers_pings = 0, PING_FEATURE in message.features
            self.holds = frozenset(message.features) & {UNREAD_FEATURE, APART_FEATURE}
            self._ready.set()
            log.info("executor started pid=%s user=%s holds=%s", message.pid, self.whose.name, sorted(self.holds))
        elif isinstance(message, messages.Result):
            self._send(messages.Ack(message.id, message.kind))
            self._tell(message.id, message.result)
        elif isinstance(message, messages.Refuse):
            self._tell(message.id or "", CommandResult(message.id or "", "failed", reason=message.message))
        elif isinstance(message, messages.OutputTold | messages.Started):
            self._tell(message.command_id, message)

    def _check(self, hello: messages.Hello) -> None:
        """One that systemd starts says as whom it runs: were it not the user that is configured, operators could write
        what runs as somebody else."""
        if f"uid:{self.whose.uid}" not in hello.features:
            raise OSError(f"it does not run as {self.whose.name}")

    def _tell(self, command_id: str, word: Word) -> None:
        command = self._commands.get(command_id)
        if command is not None:
            command.said.put(word)

    def _send(self, message: messages.SessionMessage) -> None:
        data = messages.encode(message).encode()
        with self._writing:
            if self._sock is None:  # it went while somebody else was writing
                raise OSError("it has ended")
            self._sock.sendall(LENGTH.pack(len(data)) + data)

    # -- commands

    def run(
        self,
        command_id: str,
        params: Passed,
        *,
        on_start: Callable[[], None] = lambda: None,
        on_output: Callable[[str], None] = lambda text: None,
    ) -> CommandResult:
        """Run a command, which begins at most once: where nobody can tell how far it came, it is `lost`."""
        command = self._commands[command_id] = _Command()
        try:
            checked: ProgramCommand = read_params("program", params)
            self._node.wake("executor")
            if not self._ready.wait(READY_S):
                return CommandResult(command_id, "failed", reason=f"the executor is not running: {self.problem}")
            if command.cancelled:
                return CommandResult(command_id, "cancelled")
            command.sent = True
            self._send(messages.CommandTold(command_id, CommandSent(command_id, "program", plain(checked))))
            overdue_at = self._node.clock.monotonic() + checked.timeout + checked.grace + NO_ANSWER_S
            while True:
                word = self._next_word(command, overdue_at)
                if word is None:
                    return CommandResult(command_id, "lost", reason=OVERDUE)
                if isinstance(word, CommandResult):
                    return word
                if isinstance(word, messages.OutputTold):
                    on_output(word.data)
                else:
                    on_start()
        except WireError as wrong:
            return CommandResult(command_id, "failed", reason=f"it cannot be handed to the executor: {wrong}")
        except OSError:
            return CommandResult(command_id, "lost", reason=LOST)
        finally:
            del self._commands[command_id]

    def _next_word(self, command: _Command, overdue_at: float) -> Word | None:
        """The executor's next word; None when it stays silent beyond the command's own time-out."""
        while True:
            now = self._node.clock.monotonic()
            try:
                return command.said.get(timeout=max(1.0, overdue_at - now))
            except Empty:
                if self._node.clock.monotonic() - self._heard >= 2 * PING_S:
                    return None

    def cancel(self, command_id: str) -> None:
        """It ends soon, `cancelled` unless it was over already."""
        command = self._commands.get(command_id)
        if command is None or command.cancelled:
            return
        command.cancelled = True
        if command.sent and self._ready.is_set():
            gevent.spawn(self._send_if_there, messages.CancelAsked(command_id))

    def _send_if_there(self, message: messages.SessionMessage) -> None:
        try:
            self._send(message)
        except OSError as gone:
            log.info("the executor is gone and was not sent %s: %s", message, gone)

    # -- the end

    def finish_stop(self) -> None:
        """When all is over, or has had its time: its end of the socket is closed, and it ends what is left."""
        with gevent.Timeout(STOP_S, False):
            while self._commands:
                gevent.sleep(0.02)
        self._stopping = True
        if self._sock is not None:
            try:
                self._sock.shutdown(gevent.socket.SHUT_RDWR)
            except OSError as gone:
                log.info("the executor had ended already: %s", gone)
            self._reader.join(REAP_S)
        if self._place is not None:
            executor_launch.remove(self._place, self._data)
