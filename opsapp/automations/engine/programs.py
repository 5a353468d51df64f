"""A run's program on the service's own machine: what the executor is asked for, and what its answer means."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import NamedTuple

from opsapp.agents.config import ExecutorSettings
from opsapp.agents.engine import ExecutorProcess
from opsapp.automations.config import AutomationSettings, ProgramLimits
from opsapp.automations.logic.params import ServiceParams
from opsapp.automations.logic.runs import Job, ScriptWork
from opsapp.lib.jsontypes import JsonObject
from opsapp.wire.commands import KEPT, KEPT_APART, LEFT
from opsapp.wire.reports import CommandResult

FLAGS = {"open_files": ("n", 1), "memory_mb": ("v", 1024), "file_mb": ("f", 2048), "cpu_s": ("t", 1)}  # of ulimit


class AttemptEnd(NamedTuple):
    status: str
    exit_code: int | None
    reason: str | None


class Program:
    """One attempt of a run. `stop(why)` ends it from any greenlet."""

    def __init__(self, executor: ExecutorProcess, job: Job, settings: AutomationSettings, keeping: ExecutorSettings):
        self._executor, self._job, self._settings, self._keeping = executor, job, settings, keeping
        self._id = f"{job.run_id}.{job.attempt}"
        self._why: str | None = None

    def stop(self, why: str) -> None:
        self._why = self._why or why
        self._executor.cancel(self._id)

    def run(self, started: Callable[[], None], on_output: Callable[[str], None]) -> AttemptEnd:
        if self._why:
            return AttemptEnd("cancelled", None, self._why)
        params = asked(self._job, self._settings, self._keeping)
        return self._ended(self._executor.run(self._id, params, on_start=started, on_output=on_output))

    def _ended(self, result: CommandResult) -> AttemptEnd:
        status, reason = result.status, result.reason
        if status == "timeout":
            return AttemptEnd("timeout", None, f"not finished within {self._job.timeout:g} s")
        if status == "cancelled":
            return AttemptEnd("cancelled", None, self._why or reason)
        return AttemptEnd(status, result.exit_code, reason)


def asked(job: Job, settings: AutomationSettings, executor: ExecutorSettings) -> JsonObject:
    script, env = None, {"PATH": settings.path, "LANG": "C.UTF-8", "OPSAPP_AUTOMATION_ID": job.automation_id}
    argv: list[str] = []
    descriptors: dict[str, str] = {}
    if isinstance(job.work, ServiceParams):
        argv = service_command(settings.path, job.work.service, job.work.action)
    elif isinstance(job.work, ScriptWork):
        script, env, descriptors = job.work.script, env | job.work.env, job.work.descriptors
        if job.work.interpreter or not script.startswith("#!"):
            argv = [job.work.interpreter or "/bin/sh"]
    return {
        "name": job.run_id,
        "steps": [argv],
        "script": script,
        "env": env,
        "descriptors": descriptors,
        "timeout": job.timeout,
        "grace": settings.kill_grace_s,
        "limits": limits(settings.limits),
        "keeping": keeping(job, executor),
        "no_new_privs": executor.no_new_privs,
    }


def keeping(job: Job, executor: ExecutorSettings) -> str:
    """What a script starts ends with it. What a service manager starts, some of it as our children, lives on."""
    if not isinstance(job.work, ScriptWork):
        return LEFT
    trusted = job.work.of_a_template or job.automation_id in executor.host_processes
    return KEPT if trusted or executor.isolation == "off" else KEPT_APART


def limits(wanted: ProgramLimits) -> dict[str, int]:
    limited = {flag: (getattr(wanted, name), factor) for name, (flag, factor) in FLAGS.items()}
    return {flag: int(most * factor) for flag, (most, factor) in limited.items() if most}


def service_command(path: str, service: str, action: str) -> list[str]:
    """The command of whichever service manager this machine has."""
    if os.path.isdir("/run/systemd/system"):
        manager = "systemd"
    else:
        manager = "openrc" if shutil.which("rc-service", path=path) else "sysv"
    return argv_of(manager, service, action)


def argv_of(manager: str, service: str, action: str) -> list[str]:
    """The command line for whichever service manager there is. A service's name cannot become an option."""
    if manager == "systemd":
        flags = ["--no-pager"] if action == "status" else []
        return ["systemctl", action, *flags, "--", service]
    if action in ("enable", "disable"):
        if manager == "openrc":
            return ["rc-update", "add" if action == "enable" else "del", service]
        return ["update-rc.d", service, action]
    if manager == "openrc":
        return ["rc-service", service, action]
    return ["service", service, action]
