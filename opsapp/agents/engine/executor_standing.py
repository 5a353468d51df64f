"""For `opsapp doctor`: as whom the executor runs, and whether its runs are kept apart from each other and from it."""

from __future__ import annotations

import os

from opsapp.agent import domains
from opsapp.agents.config import ExecutorSettings
from opsapp.runtime.config import Configuration
from opsapp.runtime.findings import OK, WARN, Finding

from . import executor_launch

WHAT = "isolation of runs"
OPEN = "scripts end with all that they start, but can read each other's environment, and end the executor"


def standing(config: Configuration) -> Finding:
    """For `opsapp doctor`: whether the executor has a user of its own, and what that means."""
    who = executor_launch.whose(config[ExecutorSettings])
    if who.shared:
        return Finding(
            WARN,
            "executor",
            f"runs as the service's own user ({who.name}): its programs could read the master key, so only admins may "
            "write automations and rules that run on this machine. Set executor.user",
        )
    if who.socket is None and os.geteuid() != 0:
        message = f"cannot be started as {who.name} by {executor_launch.user_name(os.geteuid())}: that needs root"
        return Finding(WARN, "executor", message)
    message = f"runs as {who.name}, who is not the service's user: operators may write what runs there"
    return Finding(OK, "executor", message)


def isolation(config: Configuration) -> Finding:
    settings = config[ExecutorSettings]
    if settings.isolation == "off":
        return Finding(WARN, WHAT, f"executor.isolation is off: {OPEN}")
    why = domains.missing()
    if why is not None:
        return Finding(WARN, WHAT, f"{why}: {OPEN}")
    if executor_launch.whose(settings).uid != 0:
        return Finding(OK, WHAT, "scripts reach nobody else's processes; sudo and other set-uid programs gain nothing")
    return Finding(OK, WHAT, "scripts neither see nor reach others' processes")
