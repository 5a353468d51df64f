"""Command handlers: shell, service, process list, logs, capabilities.

Must not: keep state. heal.py holds heals, update.py the self-update.
"""

from __future__ import annotations

import os
import pwd
import tempfile
from typing import Callable, Dict, List, NamedTuple

from opsapp.wire.commands import LogParams, ProcessListParams, ServiceCommand, ShellParams
from opsapp.wire.fields import dumps

from . import unittimes
from .capabilities import ToolManifest
from .executor import CommandAnswer, CommandTask, Handler, refused
from .paths import NotAllowed, PathRules
from .proc import maybe, processes
from .processes import Ran, RunOptions, run

LINE_MOST = 65536
TAIL_MOST = 1024 * 1024
_TICKS = os.sysconf("SC_CLK_TCK")


def handlers(capabilities: ToolManifest, rules: PathRules, tell: Callable[[], None]) -> Dict[str, Handler]:
    """The handlers that need nothing but the host."""

    def probe(_task: CommandTask) -> CommandAnswer:
        manifest = capabilities.probe()
        tell()
        return CommandAnswer(Ran("done", 0, dumps(manifest)), manifest)

    return {
        "shell": shell,
        "service": lambda task: service(task, capabilities),
        "process_list": process_list,
        "logs": lambda task: logs(task, capabilities, rules),
        "capabilities": probe,
    }


def shell(task: CommandTask) -> CommandAnswer:
    """The one command whose purpose is a shell."""
    params: ShellParams = task.params
    interpreter = params.interpreter
    if not interpreter:
        return CommandAnswer(_run(task, ["/bin/sh", "-c", params.command]))
    handle, path = tempfile.mkstemp(prefix="opsapp-", suffix=".script")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(params.command)
        return CommandAnswer(_run(task, [interpreter, path]))
    finally:
        os.unlink(path)


def service_argv(capabilities: ToolManifest, name: str, action: str) -> List[str]:
    """The command line for a service action; empty when no service manager works here."""
    runlevel = {"enable": "add", "disable": "del"}
    if capabilities.usable("systemctl"):
        return ["systemctl", "--no-pager", action, "--", name]
    if action in runlevel:
        if capabilities.usable("rc-update"):
            return ["rc-update", runlevel[action], name]
        return ["update-rc.d", name, action] if capabilities.usable("update-rc.d") else []
    if capabilities.usable("rc-service"):
        return ["rc-service", name, action]
    if capabilities.usable("sv"):
        return ["sv", action, name]
    if capabilities.usable("service"):
        return ["service", name, action]
    return []


def service(task: CommandTask, capabilities: ToolManifest) -> CommandAnswer:
    params: ServiceCommand = task.params
    argv = service_argv(capabilities, params.service, params.action)
    if not argv:
        return refused("no_capable_handler: no service manager works here")
    if params.timeout:
        return CommandAnswer(_run(task, argv))
    patience = unittimes.for_service(params.service)
    ran = run(argv, patience.seconds, task.cancel, on_start=task.on_start, on_output=task.on_output)
    return CommandAnswer(patience.told(ran))


class ProcessRow(NamedTuple):
    pid: int
    ppid: int
    name: str
    state: str
    user: str
    nice: int
    rss_bytes: int
    cpu_s: float
    command: str


def process_list(task: CommandTask) -> CommandAnswer:
    params: ProcessListParams = task.params
    keys = {
        "cpu": lambda process: -process.ticks,
        "memory": lambda process: -process.rss,
        "pid": lambda process: process.pid,
    }
    chosen = sorted(processes(), key=keys[params.sort])[: params.limit]
    rows = [
        ProcessRow(
            process.pid,
            process.ppid,
            process.name,
            process.state,
            _user(process.pid),
            process.nice,
            process.rss,
            round(process.ticks / _TICKS, 2),
            _command_line(process.pid),
        )
        for process in chosen
    ]
    lines = "".join(
        f"{row.pid:>8} {row.user:<12} {row.cpu_s:>10} {row.rss_bytes // 1024:>10} {row.command or row.name}\n"
        for row in rows
    )
    return CommandAnswer(
        Ran("done", 0, lines.encode("utf-8", "replace")), {"processes": [row._asdict() for row in rows]}
    )


def logs(task: CommandTask, capabilities: ToolManifest, rules: PathRules) -> CommandAnswer:
    params: LogParams = task.params
    if params.source == "journald":
        if not capabilities.usable("journalctl"):
            return refused("no_capable_handler: journalctl does not work here")
        return CommandAnswer(
            _run(
                task,
                ["journalctl", "--no-pager", "--output=short-iso", f"--lines={params.lines}", f"--unit={params.unit}"],
            )
        )
    try:
        with rules.open_for_reading(params.path or "", params.role) as file:
            return CommandAnswer(Ran("done", 0, tail(file, params.lines)))
    except NotAllowed as error:
        return refused(f"not_allowed: {error}")
    except OSError as error:
        return refused(f"{error.strerror}: {params.path}")


def tail(file, lines: int) -> bytes:
    """The last lines of a file, at most TAIL_MOST bytes."""
    size = file.seek(0, os.SEEK_END)
    start = max(0, size - TAIL_MOST)
    file.seek(start)
    last = file.read(TAIL_MOST).splitlines(keepends=True)
    if start and last:
        del last[0]
    return b"".join(last[-lines:])


def _run(task: CommandTask, argv: List[str]) -> Ran:
    return run(
        argv,
        task.params.timeout,
        task.cancel,
        env=getattr(task.params, "env", None),
        on_start=task.on_start,
        on_output=task.on_output,
        manner=RunOptions(descriptors=getattr(task.params, "descriptors", None)),
    )


def _command_line(pid: int) -> str:
    return (maybe(f"/proc/{pid}/cmdline") or "").replace("\0", " ").strip()[:400]


def _user(pid: int) -> str:
    try:
        number = os.stat(f"/proc/{pid}").st_uid
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
    except OSError:
        return ""
