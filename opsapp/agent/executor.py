"""Takes commands once, runs them in bounded threads, leaves their results in the journal.

Must not: know the session. It calls `tell` (something is ready to be sent) and `output` (for those who watch).
"""

from __future__ import annotations

import collections
import logging
import threading
import time
from typing import Any, Callable, Deque, Dict, NamedTuple, Optional

from opsapp.wire.commands import CommandSent, clean_output, read_params
from opsapp.wire.fields import WireError
from opsapp.wire.reports import CommandResult

from .journal import ACCEPTED, STARTED, CommandJournal
from .processes import Cancel, ProcessGroup, Ran, end_orphans, failed

log = logging.getLogger("executor")
HEAL_THREADS = 2  # of their own, so that long shells do not keep a heal waiting
DISK_RETRY_S = 2.0


class CommandAnswer(NamedTuple):
    ran: Optional[Ran]  # None: it goes on in the next agent process, which will settle it
    data: Optional[dict] = None


class CommandTask:
    def __init__(self, command: CommandSent, params: Any, executor: "CommandExecutor"):
        self.id = command.command_id
        self.type = command.type
        self.store = command.store or ""
        self.params = params
        self.cancel = Cancel()
        self._executor = executor

    def on_start(self, group: ProcessGroup) -> None:
        self._executor.journal.process(self.id, group)

    def on_output(self, data: bytes) -> None:
        self._executor.output(self.id, data)


Handler = Callable[[CommandTask], CommandAnswer]


def refused(reason: str, data: Optional[dict] = None) -> CommandAnswer:
    return CommandAnswer(failed(reason), data)


class CommandExecutor:
    def __init__(
        self,
        journal: CommandJournal,
        handlers: Dict[str, Handler],
        *,
        busy_limit: int,
        start_expiry_s: float,
        tell: Callable[[], None],
        output: Callable[[str, bytes], None],
        started: Callable[[str, float], None],
        clock: Callable[[], float] = time.time,
    ):
        self.journal = journal
        self.handlers = handlers
        self.output = output
        self._tell = tell
        self._started = started
        self._clock = clock
        self._start_expiry_s = start_expiry_s
        self._wake = threading.Condition()
        self._waiting: Dict[str, Deque[CommandSent]] = {"heal": collections.deque(), "other": collections.deque()}
        self._room = {"heal": HEAL_THREADS, "other": busy_limit}
        self._tasks: Dict[str, CommandTask] = {}
        self._cancelled: set = set()
        self._stopping = False

    # ---- from the session
    def recover(self, but: Optional[str] = None) -> None:
        """What had begun is lost (and what is left of it stopped), what had not begins now. `but` is the command that
        somebody else will settle."""
        for name, entry in self.journal.open().items():
            if name == but:
                continue
            if entry.state == ACCEPTED and entry.command:
                self._queue(entry.command)
                continue
            stopped = end_orphans(entry.group)
            left = "; what was left of it was stopped" if stopped else ""
            self._finish(name, Ran("lost", None, b"", f"the agent ended while it ran{left}"), entry.at)

    def submit(self, command: CommandSent) -> bool:
        """Take a command, which is on the disk when this returns; True when it is new, OSError when it cannot be
        stored."""
        if not self.journal.accept(command, self._clock()):
            return False
        self._queue(command)
        return True

    def cancel(self, name: str) -> None:
        with self._wake:
            task = self._tasks.get(name)
            if task:
                task.cancel()
            elif self.journal.state(name) == ACCEPTED:
                self._cancelled.add(name)

    def settle(self, name: str, ran: Ran) -> None:
        """The end of a command that an earlier agent process began."""
        if self.journal.state(name) == STARTED:
            self._finish(name, ran, self._clock())

    def hold(self, name: str, seconds: float) -> bool:
        """Start nothing more and wait until only `name` runs; False, and on as before, when that takes too long."""
        with self._wake:
            self._stopping = True
            if self._wake.wait_for(lambda: set(self._tasks) <= {name}, seconds):
                return True
            self._stopping = False
            waiting = [command for lane in self._waiting.values() for command in lane]
            for lane in self._waiting.values():
                lane.clear()
        for command in waiting:
            self._queue(command)
        return False

    def stop(self, seconds: float) -> None:
        """End what runs. What had not started stays in the journal for the next start."""
        with self._wake:
            self._stopping = True
            for task in self._tasks.values():
                task.cancel("the agent was stopped")
            self._wake.wait_for(lambda: not self._tasks, seconds)

    # ---- inside
    def _queue(self, command: CommandSent) -> None:
        lane = "heal" if command.type == "heal" else "other"
        with self._wake:
            self._waiting[lane].append(command)
            if self._room[lane] > 0:
                self._room[lane] -= 1
                threading.Thread(target=self._work, args=(lane,), daemon=True, name=f"command-{lane}").start()

    def _work(self, lane: str) -> None:
        while True:
            with self._wake:
                if self._stopping or not self._waiting[lane]:
                    self._room[lane] += 1
                    return
                command = self._waiting[lane].popleft()
            self._run(command, lane)

    def _run(self, command: CommandSent, lane: str) -> None:
        name, began = command.command_id, self._clock()
        refusal = self._refuse(command, began)
        if refusal:
            self._finish(name, refusal, began)
            return
        try:
            params = read_params(command.type, command.params)
        except WireError as error:
            self._finish(name, failed(f"bad_params: {error}"), began)
            return
        task = CommandTask(command, params, self)
        with self._wake:
            if self._stopping:  # taken from its lane a moment before: whoever held it lets it go on from there
                self._waiting[lane].appendleft(command)
                task.cancel.close()
                return
            self._tasks[name] = task
        try:
            log.info("command %s begins: %s", name, told(task))
            try:
                self.journal.start(name, began)
            except OSError as error:  # what cannot be written down is not done
                self._finish(name, failed(f"no_space: {error.strerror}"), began)
                return
            self._started(name, began)
            answer = self._handle(task)
            if answer.ran is not None:
                self._finish(name, answer.ran, began, answer.data)
        finally:
            with self._wake:
                del self._tasks[name]
                task.cancel.close()
                self._wake.notify_all()

    def _refuse(self, command: CommandSent, now: float) -> Optional[Ran]:
        name = command.command_id
        entry = self.journal.open()[name]
        with self._wake:
            if name in self._cancelled:
                self._cancelled.discard(name)
                return Ran("cancelled", None, b"", "cancelled before it started")
        if now - entry.at > self._start_expiry_s:
            return failed("it could not be started in time")
        if command.type not in self.handlers:
            return failed(f"bad_params: this agent knows no command {command.type!r}")
        return None

    def _handle(self, task: CommandTask) -> CommandAnswer:
        try:
            return self.handlers[task.type](task)
        except Exception as error:  # whatever a handler does, the command must come to an end
            log.exception("command %s failed inside the agent", task.id)
            return refused(f"agent error: {type(error).__name__}: {error}")

    def _finish(self, name: str, ran: Ran, began: float, data: Optional[dict] = None) -> None:
        output, truncated = clean_output(ran.output)
        reason = (ran.reason or "")[:2000] or None
        result = CommandResult(name, ran.status, ran.exit_code, output, truncated, reason, began, self._clock(), data)
        while True:
            try:
                self.journal.finish(name, result, self._clock())
                log.info("command %s is %s %s", name, ran.status, reason or "")
                break
            except OSError as error:  # a full disk must not lose a result: wait for room
                log.error("result of %s cannot be written: %s", name, error)
                time.sleep(DISK_RETRY_S)
        self._tell()


def told(task: CommandTask) -> str:
    """The task as the host's log shows it, without any value that may be secret."""
    words = [getattr(task.params, name, None) for name in ("phase", "action_type", "service", "action")]
    return " ".join([task.type, *(word for word in words if word)])
