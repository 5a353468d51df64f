"""The executor of the service's own machine: the agent's journal and process groups behind a socket of the service.

It has one connected socket, a working directory of its own and none of the service's environment. When the service
closes the socket, or is killed, every program ends and so does this process.
Must not: know what a program is for; keep anything that a command holds, for commands carry secrets.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import shutil
import signal
import socket
import sys
import threading
import time
from typing import Any, List, Optional, Set, Tuple

from opsapp.wire import messages
from opsapp.wire.actionparams import HealParams
from opsapp.wire.commands import KEPT_APART, LEFT, CommandSent, ProgramCommand
from opsapp.wire.fields import WireError
from opsapp.wire.frames import APART_FEATURE, LENGTH, MAX_TEXT_FRAME, PING_FEATURE, PROTOCOL, UNREAD_FEATURE
from opsapp.wire.handles import readable
from opsapp.wire.version import VERSION

from . import domains, leftovers, protection
from .config import PROTECTED
from .disk import take_lock
from .executor import CommandAnswer, CommandExecutor, CommandTask, refused
from .journal import ACCEPTED, CommandJournal
from .kept import Manner, Nursery, open_nursery
from .outputs import Outputs
from .processes import ProcessGroup, Ran, RunOptions, Starter, end_orphans, failed, run

log = logging.getLogger("executor")
AT_ONCE = 2000  # threads; the service bounds what it asks for
LISTEN_S = 1.0  # between looks whether the nursery is there
LOOK_S = 30.0  # between looks for what killed processes left
LOCK_S = 20.0  # how long a former executor may take to end
HURRY_S = 1.0  # between TERM and KILL once the service is gone
STREAMED = 5 * 2**20  # bytes of a program's output that are handed on; a run keeps fewer
KEPT = 64 * 1024  # of the output in a result
LIMITED = 'ulimit -c 0; {limits} exec "$@"'  # a shell sets the limits and becomes the program


class ServiceGone(OSError):
    """The service has closed its end, or there never was one."""


class MessageSocket:
    """One thread reads; any may send."""

    def __init__(self, sock: socket.socket):
        self._sock = sock
        self._lock = threading.Lock()

    def send(self, text: str) -> None:
        data = text.encode("utf-8")
        with self._lock:
            self._sock.sendall(LENGTH.pack(len(data)) + data)

    def receive(self, patience: float) -> Optional[str]:
        """The next message; None when none has begun within `patience`."""
        if not readable([self._sock.fileno()], patience):
            return None
        (length,) = LENGTH.unpack(self._exactly(LENGTH.size))
        if length > MAX_TEXT_FRAME:
            raise ServiceGone("a frame is too large")
        return self._exactly(length).decode("utf-8")

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self._sock.recv(size - len(data))
            if not piece:
                raise ServiceGone("the service has closed the connection")
            data += piece
        return bytes(data)


class Stubs(CommandJournal):
    """A journal that keeps which commands there were, and nothing of what they hold."""

    def accept(self, command: CommandSent, now: float) -> bool:
        return super().accept(CommandSent(command.command_id, command.type), now)


class Programs:
    """Each program has a directory of its own, limits, and an end for all its processes."""

    def __init__(self, nursery: Nursery) -> None:
        self.grace_most = 60.0
        self._nursery = nursery

    def __call__(self, task: CommandTask) -> CommandAnswer:
        params: ProgramCommand = task.params
        group: List[ProcessGroup] = []
        refusal = params.action_type and protection.refusal(
            params.action_type, HealParams.read(params.params), {*PROTECTED, *params.protected}
        )
        if refusal:
            return refused(refusal)

        def started(begun: ProcessGroup) -> None:
            group[:] = [begun]
            task.on_start(begun)

        try:
            directory = leftovers.make_directory(params.name)
        except OSError as error:
            return refused(f"cannot be started: {error.strerror}")
        try:
            ran, step = self._steps(task, directory, started)
            if ran.status in ("timeout", "cancelled"):
                leftovers.end_stragglers(params.name)
            elif group:
                end_orphans(group[0])
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        return CommandAnswer(ran if params.output else ran._replace(output=b""), {"step": step})

    def _steps(self, task: CommandTask, directory: str, started: Any) -> Tuple[Ran, str]:
        """The last result, and the program that it is of."""
        params: ProgramCommand = task.params
        output, steps = b"", list(map(list, params.steps))
        deadline = time.monotonic() + params.timeout
        env = {**params.env, "HOME": directory, "TMPDIR": directory, **leftovers.marks(params.name)}
        if params.script is not None:
            steps[-1].append(_script(directory, params.script))
        limits = " ".join(f"ulimit -{flag} {value};" for flag, value in params.limits.items())
        ran, argv = Ran("done", 0, b""), [""]
        for argv in steps:
            if params.script is None and shutil.which(argv[0], path=env.get("PATH")) is None:
                return failed("No such file or directory", output), argv[0]
            manner = RunOptions(
                directory,
                params.umask,
                min(params.grace, self.grace_most),
                descriptors=params.descriptors,
                start=self._starter(params),
            )
            ran = run(
                ["/bin/sh", "-c", LIMITED.format(limits=limits), "opsapp-run", *argv],
                max(0.001, deadline - time.monotonic()),
                task.cancel,
                env=env,
                on_start=started,
                on_output=task.on_output,
                limit=STREAMED,
                manner=manner,
            )
            output = (output + ran.output)[:KEPT]
            if ran.status != "done":
                break
        return ran._replace(output=output), argv[0]

    def _starter(self, params: ProgramCommand) -> Optional[Starter]:
        """None: what it starts and leaves lives on."""
        if params.keeping == LEFT:
            return None
        apart = params.keeping == KEPT_APART and self._nursery.way is not None
        return functools.partial(self._nursery.start, Manner(apart, params.no_new_privs))


def _script(directory: str, text: str) -> str:
    path = os.path.join(directory, "script")
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700)
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    return path


class Embedded:
    def __init__(self, channel: MessageSocket, directory: str, nursery: Nursery):
        self.channel = channel
        self.programs = Programs(nursery)
        self._nursery = nursery
        self.journal = Stubs(directory, time.time())
        self.executor = CommandExecutor(
            self.journal,
            {"program": self.programs},
            busy_limit=AT_ONCE,
            start_expiry_s=3600,
            tell=self._wake,
            output=self._output,
            started=self._started,
        )
        self._outputs = Outputs(lambda name, seq, data: self._say(messages.OutputTold(name, seq, data)))
        self._ready = threading.Event()
        self._told: Set[str] = set()

    def run(self) -> None:
        self._clear()
        host, holds = socket.gethostname()[:253] or "server", _held(self._nursery.way)
        features = (f"uid:{os.geteuid()}", PING_FEATURE, *holds)
        hello = messages.Hello(PROTOCOL, "server", "server", "", host, "", VERSION, os.getpid(), features=features)
        self._say(hello)
        threading.Thread(target=self._tell, daemon=True, name="results").start()
        threading.Thread(target=self._look, daemon=True, name="leftovers").start()
        try:
            while not self._nursery.is_gone:  # another executor, with a nursery, is started instead of this one
                text = self.channel.receive(LISTEN_S)
                if text is not None:
                    self._take(messages.decode(text, messages.SERVER))
        except ServiceGone:
            pass
        except (OSError, WireError) as error:
            log.error("the executor stops, because it cannot read a message of the service: %s", error)
        self.programs.grace_most = HURRY_S
        self.executor.stop(HURRY_S + 4.0)
        self.journal.close()

    def _clear(self) -> None:
        """What a former executor had begun is not begun again: the service has it down as lost."""
        for name, entry in self.journal.open().items():
            if entry.state == ACCEPTED:
                self.journal.start(name, entry.at)
        self.executor.recover()
        for name in self.journal.unthanked():
            self.journal.thank(name)
        leftovers.clear_leftovers()

    def _take(self, message: Any) -> None:
        if isinstance(message, messages.Ping):
            self._say(messages.Pong(message.id))
        elif isinstance(message, messages.CancelAsked):
            self.executor.cancel(message.id)
        elif isinstance(message, messages.Ack):
            self.journal.thank(message.id)
            self._told.discard(message.id)
        elif isinstance(message, messages.CommandTold):
            try:
                if not self.executor.submit(message.command):
                    self._refuse(message.id, "known", "this command was given before")
            except OSError as error:
                self._refuse(message.id, "no_space", f"the executor's journal cannot be written: {error.strerror}")

    def _refuse(self, name: str, code: str, why: str) -> None:
        self._say(messages.Refuse(name, messages.CommandTold.kind, code, why))

    # ---- from other threads
    def _wake(self) -> None:
        self._ready.set()

    def _output(self, name: str, data: bytes) -> None:
        if self._outputs.put(name, data):
            self._ready.set()

    def _started(self, name: str, at: float) -> None:
        self._say(messages.Started(name, at))

    def _tell(self) -> None:
        while True:
            self._ready.wait(self._outputs.due_in())
            self._ready.clear()
            self._outputs.flush()
            for name in self.journal.unthanked():
                result = None if name in self._told else self.journal.result(name)
                if result is not None:
                    self._told.add(name)
                    self._outputs.end(name)
                    self._say(messages.Result(name, result))

    def _say(self, message: messages.SessionMessage) -> None:
        with contextlib.suppress(OSError):  # the reader meets the same, and ends
            self.channel.send(messages.encode(message))

    def _look(self) -> None:
        while True:
            time.sleep(LOOK_S)
            self.journal.compact(time.time())
            leftovers.clear_leftovers()


def _held(way: Optional[domains.Confinement]) -> List[str]:
    """What its programs cannot do to each other and to it."""
    return [] if way is None else [UNREAD_FEATURE, *([APART_FEATURE] if way.signals else [])]


def close_to_programs() -> None:
    """Programs run as the same user: each could read this process's memory, environment and descriptors, which hold
    what others were given. What is executed is as open as any program again."""
    try:
        domains.close_to_others()
    except OSError as error:
        log.warning("programs may read the memory of the executor: %s", error.strerror)


def main(argv: Optional[List[str]] = None) -> int:
    """`embedded FD`: the connected socket; the working directory is where the journal lives."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s %(message)s")
    close_to_programs()
    # Handled, not ignored: what is ignored stays so in the programs. The service ends us by closing the socket.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda _number, _frame: None)
    nursery = open_nursery()
    if nursery.why:
        log.warning("runs are not kept apart from each other and from the executor: %s", nursery.why)
    handle = os.dup(int((sys.argv[1:] if argv is None else argv)[0]))  # a copy that programs do not inherit
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)  # where systemd has put the socket
    os.umask(0o077)
    channel = MessageSocket(socket.socket(fileno=handle))
    until = time.monotonic() + LOCK_S
    while take_lock(".") is None:
        if time.monotonic() > until:
            log.error("another executor already runs here")
            return 3
        time.sleep(0.05)
    Embedded(channel, ".", nursery).run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
