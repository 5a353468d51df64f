"""For health and `opsapp doctor`: as whom the executor runs, and whether its runs are kept apart."""

from __future__ import annotations

import os

from opsapp.agent import domains
from opsapp.agents.config import ExecutorSettings
from opsapp.runtime.config import Configuration
from opsapp.runtime.findings import OK, WARN, Finding
from opsapp.runtime.node import Node
from opsapp.wire.frames import APART_FEATURE, UNREAD_FEATURE

from . import executor_launch
from .executor import held_of_runs

WHAT = "isolation of runs"
READS = "scripts can read each other's environment and descriptors"
ENDS = "scripts can end and stop each other and the executor"


def not_held(node: Node) -> list[str] | None:
    """What scripts on this node's machine can do to each other; None where nobody knows yet."""
    off = node.config[ExecutorSettings].isolation == "off"
    holds = frozenset[str]() if off else held_of_runs(node)
    if holds is None:
        return None
    return [said for feature, said in ((UNREAD_FEATURE, READS), (APART_FEATURE, ENDS)) if feature not in holds]


def standing(config: Configuration) -> Finding:
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
        return Finding(WARN, WHAT, f"executor.isolation is off: {READS}; {ENDS}")
    root = executor_launch.whose(settings).uid == 0
    open_to = [said for said, signals in ((READS, root), (ENDS, True)) if domains.missing(signals=signals)]
    if open_to:
        return Finding(WARN, WHAT, f"{domains.missing()}: {'; '.join(open_to)}")
    if not root:
        return Finding(OK, WHAT, "scripts reach nobody else's processes; sudo and other set-uid programs gain nothing")
    return Finding(OK, WHAT, "scripts neither see nor reach others' processes")
