"""What the agent does itself because no tool does it safely. Named "@name" in the action table.

Must not: touch a protected process, a kernel thread, or the agent and its ancestors.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import Callable, Collection, Dict, Iterable, Iterator, List, NamedTuple, Optional, Set, Union

from opsapp.wire.actionparams import HealParams
from opsapp.wire.fields import JsonObject

from .capabilities import ToolManifest
from .config import AgentConfig
from .proc import Process, processes, stat_of
from .processes import Cancel, ProcessGroup, Ran, done, failed, run
from .protection import is_named, is_protected

TERM_WAIT_S = 5.0
RENICE_LOOKS = 20
SAMPLE_S = 0.5


class Context(NamedTuple):
    params: HealParams
    state: JsonObject  # of the snapshot; {} when there is none
    capabilities: ToolManifest
    cancel: Cancel
    deadline: float  # monotonic
    protected: Set[str]
    config: AgentConfig
    on_start: Callable[[ProcessGroup], None]

    def run(self, argv: List[str]) -> Ran:
        return run(argv, max(0.1, self.deadline - time.monotonic()), self.cancel, on_start=self.on_start)

    def run_all(self, argvs: Iterable[List[str]]) -> Ran:
        """One after the other until one fails, with the output of all."""
        ran, output = done("nothing had to be done"), b""
        for argv in argvs:
            ran = self.run(argv)
            output += ran.output
            if ran.status != "done":
                break
        return ran._replace(output=output or ran.output)


Step = Callable[[Context], Ran]
STEPS: Dict[str, Step] = {}  # by their names, as handlers of the action table and kinds of snapshots give them


def step(function: Step) -> Step:
    """A native step's name is the function's."""
    if function.__name__ in STEPS:
        raise ImportError(f"two native steps are called {function.__name__}")
    STEPS[function.__name__] = function
    return function


def not_configured(kind: str, name: str, known: Collection[str]) -> Ran:
    names = ", ".join(sorted(known)) or "none"
    return failed(f"no_capable_handler: this agent's configuration has no {kind} {name!r} (it has: {names})")


# ---- processes
def untouchable(protected: Set[str]) -> Callable[[Process], bool]:
    own: Set[int] = set()
    parents = {process.pid: process.ppid for process in processes()}
    pid = os.getpid()
    while pid and pid not in own:
        own.add(pid)
        pid = parents.get(pid, 0)
    below = {os.getpid()}
    while True:  # what the agent itself has started just now
        children = {child for child, parent in parents.items() if parent in below} - below
        if not children:
            break
        below |= children
    own |= below
    return lambda process: (
        process.pid <= 2
        or process.ppid == 2
        or process.pid in own
        or is_protected(process.pid, process.name, protected)
    )


def top_process(by: str, protected: Set[str]) -> Optional[Process]:
    """The process that uses most just now, of those that may be touched."""
    spared = untouchable(protected)
    before = {(process.pid, process.started): process.ticks for process in processes()}
    if by == "cpu":
        time.sleep(SAMPLE_S)
    killable = [process for process in processes() if not spared(process) and process.state != "Z"]
    if by == "cpu":
        key = lambda process: process.ticks - before.get((process.pid, process.started), process.ticks)  # noqa: E731
    else:
        key = lambda process: process.rss  # noqa: E731
    best = max(killable, key=key, default=None)
    return best if best and key(best) > 0 else None


def _meant(context: Context) -> Union[Process, str]:
    """The process recorded before the action, if it is still that one and may be touched; else why not."""
    pid, started = context.state.get("pid"), context.state.get("started")
    process = next((candidate for candidate in processes() if candidate.pid == pid), None)
    if process is None or process.started != started:
        return "the process is gone"
    if untouchable(context.protected)(process):
        return f"{process.name} ({pid}) is protected"
    return process


@step
def kill_process(context: Context) -> Ran:
    process = _meant(context)
    if isinstance(process, str):
        return failed(process)
    pid, name = process.pid, process.name
    try:
        os.kill(pid, signal.SIGTERM)
        until = min(time.monotonic() + TERM_WAIT_S, context.deadline)
        while time.monotonic() < until:
            if _ended(pid, process.started):
                return done(f"{name} ({pid}) ended after TERM")
            if context.cancel.wait(0.05):
                return Ran("cancelled", None, b"", context.cancel.why)
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return done(f"{name} ({pid}) ended")
    except PermissionError:
        return failed(f"not allowed to end {name} ({pid})")
    return done(f"{name} ({pid}) ended after KILL")


def _ended(pid: int, started: int) -> bool:
    words = stat_of(pid)
    return not words or int(words[19]) != started or words[0] == "Z"


def threads(pid: int) -> Dict[str, Dict[str, int]]:
    """The threads of a process by number: when each started, and its priority."""
    threads_by_number = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        parts = stat_of(f"{pid}/task/{task}")
        if parts:  # else it has just ended
            threads_by_number[task] = {"started": int(parts[19]), "nice": int(parts[16])}
    return threads_by_number


@step
def renice(context: Context) -> Ran:
    """Linux keeps a priority for each thread, and one that begins meanwhile has that of the one that began it."""
    process = _meant(context)
    if isinstance(process, str):
        return failed(process)
    return set_priorities(process.pid, process.name, lambda _thread, _started: context.params.priority)


@step
def restore_priority(context: Context) -> Ran:
    """Threads that are newer get the priority that the process had."""
    process = _meant(context)
    if isinstance(process, str):
        return failed(process)
    before = context.state.get("threads", {})

    def wanted(thread: str, started: int) -> int:
        known = before.get(thread)
        return known["nice"] if known and known["started"] == started else context.state["nice"]

    return set_priorities(process.pid, process.name, wanted)


def set_priorities(pid: int, name: str, wanted: Callable[[str, int], int]) -> Ran:
    """Repeats until a look finds each thread as it should be."""
    changed: Set[str] = set()
    try:
        for _ in range(RENICE_LOOKS):
            wrong = {
                thread: priority
                for thread, about in threads(pid).items()
                if (priority := wanted(thread, about["started"])) != about["nice"]
            }
            if not wrong:
                return done(f"{name} ({pid}): {len(changed)} threads have another priority now")
            for thread, priority in wrong.items():
                with contextlib.suppress(ProcessLookupError):  # it has ended
                    os.setpriority(os.PRIO_PROCESS, int(thread), priority)
                    changed.add(thread)
    except OSError as error:
        return failed(f"cannot set the priority of {name} ({pid}): {error.strerror}")
    return failed(f"{name} ({pid}) starts threads faster than their priority can be set")


# ---- memory
@step
def drop_caches(_context: Context) -> Ran:
    os.sync()
    return _write("/proc/sys/vm/drop_caches", "3", "page cache, dentries and inodes were dropped")


@step
def relieve_memory(context: Context) -> Ran:
    dropped = drop_caches(context)
    compacted = _write("/proc/sys/vm/compact_memory", "1", "memory was compacted")
    if dropped.status != "done":
        return dropped
    return done((dropped.output + (compacted.output or (compacted.reason or "").encode())).decode().strip())


def _write(path: str, value: str, success: str) -> Ran:
    try:
        with open(path, "w", encoding="ascii") as file:
            file.write(value)
    except OSError as error:
        return failed(f"cannot write {path}: {error.strerror}")
    return done(success)


# ---- units
@step
def restart_with_dependencies(context: Context) -> Ran:
    name = context.params.service
    asked = context.run(["systemctl", "show", "--no-pager", "--property=Requires,BindsTo,Requisite", "--", name])
    if asked.status != "done":
        return asked
    words = asked.output.decode("utf-8", "replace").replace("=", " ").split()
    services = {word for word in words if word.endswith(".service") and not word.startswith(("systemd-", "dbus"))}
    needed = sorted(unit for unit in services if not is_named(unit, context.protected))
    output = b""
    for verb, *units in _orders(context, needed, name):
        ran = context.run(["systemctl", verb, "--", *units])
        output += f"{' '.join([verb, *units])}: {ran.status}\n".encode() + ran.output
        if ran.status != "done":
            return ran._replace(output=output, reason=ran.reason or "not all of them restarted")
    return ran._replace(output=output)


def _orders(context: Context, needed: List[str], name: str) -> Iterator[List[str]]:
    """Asked to restart both, systemd may restart the one that requires the other twice: when the first job is done
    before the second is asked for."""
    if needed:
        before = _invocation(context, name)
        yield ["restart", *needed]
        yield ["start", name]  # waits for it to be restarted; starts it where it did not run
        if _invocation(context, name) != before:
            return
    yield ["restart", name]


def _invocation(context: Context, name: str) -> bytes:
    """Another one after each start; empty with a systemd of before 2016."""
    return context.run(["systemctl", "show", "--no-pager", "--property=InvocationID", "--", name]).output
