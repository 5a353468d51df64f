"""Fake programs on PATH that record how they were called: what a handler does, without the host that it is for."""

import os
import pathlib
import threading

from opsapp.agent.armed import Armed
from opsapp.agent.config import AgentConfig
from opsapp.agent.heal import Healer
from opsapp.agent.journal import CommandJournal
from opsapp.agent.processes import Cancel
from opsapp.agent.snapshots import LocalHost, Snapshots
from opsapp.wire.actions import ACTIONS
from opsapp.wire.commands import HealCommand
from tests.support.waiting import patience

PATIENT = object()
TOOL = """#!/bin/sh
{{ printf '%s' "$(basename "$0")"; for word in "$@"; do printf '\\037%s' "$word"; done; printf '\\n'; }} >> {record}
set -- "$(basename "$0")" "$@"
{script}
"""


class Known:
    """Capabilities as the test says."""

    def __init__(self, tools):
        self.tools = set(tools)

    def usable(self, tool):
        return tool in self.tools


class Task:
    type = "heal"

    def __init__(self, params):
        self.id, self.params, self.cancel = getattr(params, "heal_id", "c1"), params, Cancel()

    def on_start(self, group):
        pass

    def on_output(self, data):
        pass


class Bench:
    """The agent's healer in this process, with nothing but fake tools. `scripts`: tool → what it does (shell text)."""

    def __init__(self, directory, monkeypatch, scripts, **config):
        self.directory = pathlib.Path(directory)
        self.record = self.directory / "calls"
        tools = self.directory / "bin"
        tools.mkdir()
        for name, script in scripts.items():
            path = tools / name.split()[0]
            path.write_text(TOOL.format(record=self.record, script=script or ":"))
            path.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
        state = self.directory / "state"
        state.mkdir()
        self.config = AgentConfig(server="http://127.0.0.1:1", agent_id="a1", key="k", state_dir=str(state), **config)
        self.armed = Armed(str(state))
        self.host = LocalHost(Known(scripts), set(self.config.protected_processes), self.config)
        self.healer = Healer(
            CommandJournal(str(state), 0.0), self.host, Snapshots(str(state)), self.armed, dict, self._note_act
        )
        self.acted = 0
        self.lock = threading.Lock()

    def _note_act(self):
        self.acted += 1

    def phase(self, phase, action, heal_id="h1", given=None, within=PATIENT, **params):
        """`within`: the seconds that it may take; without it as long as programs take on a busy machine."""
        within = 4 * patience() if within is PATIENT else within
        if phase != "rollback":
            params = ACTIONS[action].check(params)
        task = Task(HealCommand(heal_id, 1, phase, action, params, given, within))
        try:
            return self.healer.perform(task)
        finally:
            task.cancel.close()

    def execute(self, action, **params):
        return self.phase("execute", action, **params)

    def calls(self, *tools):
        """Every call so far as an argument list; of these tools only."""
        text = self.record.read_text() if self.record.exists() else ""
        calls = [line.split("\037") for line in text.splitlines()]
        return [argv for argv in calls if not tools or argv[0] in tools]
