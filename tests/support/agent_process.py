"""The real agent program as a process, for tests: built as the zipapp that hosts get, or from the source tree."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

from opsapp.agents.zipapp import agent_file

from .agent_server import KEY
from .compiledagent import compiled_agent
from .process import MEASURED
from .waiting import patience, until


def oldest_python():
    """The oldest Python that the agent promises to run on; None when this machine has none."""
    installed = sorted(pathlib.Path.home().glob(".pyenv/versions/3.9*/bin/python"))
    for path in filter(None, [shutil.which("python3.9"), *map(str, installed)]):
        answer = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
        if answer.stdout.startswith("Python 3.9"):
            return path
    return None


class AgentProcess:
    def __init__(self, directory, server, python=sys.executable, **config):
        self.directory = pathlib.Path(directory)
        self.state = self.directory / "state"
        self.program = self.directory / "opsapp-agent.pyz"
        is_usual = python == sys.executable and not MEASURED
        self.delivered = compiled_agent() if is_usual else agent_file().data
        self.program.write_bytes(self.delivered)
        (self.directory / "key").write_text(KEY + "\n")
        self.log = self.directory / "agent.log"
        self.python = python
        self.server = server
        defaults = {"retry_first_s": 0.1, "retry_most_s": 0.5, "service_check_s": 0.2}
        (self.directory / "agent.json").write_text(json.dumps({**defaults, **config}))
        self.process = None

    def argv(self, *more):
        return [
            *self._start(),
            "--server",
            self.server.url,
            "--id",
            "a1",
            "--key-file",
            str(self.directory / "key"),
            "--state",
            str(self.state),
            "--config",
            str(self.directory / "agent.json"),
            *more,
        ]

    def _start(self):
        """The file that hosts get, as they start it; with site where processes are measured, for that begins there."""
        if MEASURED and self.python == sys.executable:
            return [self.python, str(self.program)]
        return [self.python, "-I", "-S", str(self.program)]

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.argv(),
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "OPSAPP_AGENT_LOG": "debug"},
            )
        return self

    def run(self, *more, timeout=60):
        return subprocess.run(self.argv(*more), capture_output=True, timeout=timeout, text=True, check=False)

    def online(self, timeout=30):
        return until(self.server.session, timeout, what="a session")

    def kill(self):
        self.process.kill()
        self.process.wait(10 * patience())

    def stop(self, timeout=10):
        """TERM, and the exit code."""
        if self.process is None or self.process.poll() is not None:
            return self.process and self.process.returncode
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout * patience())

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10 * patience())
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError("the agent did not stop when asked to:\n" + self.told()) from None

    def told(self):
        return self.log.read_text() if self.log.exists() else ""


class EnrolledAgent(AgentProcess):
    """The agent of a real server: `serve` is a `tests.support.process.Serve`."""

    def __init__(self, directory, serve, label="box", python=sys.executable, **config):
        pathlib.Path(directory).mkdir(parents=True, exist_ok=True)
        super().__init__(directory, serve, python, **config)
        made = serve.admin.post("/api/agents", {"label": label})
        self.id, self.key = made["agent_id"], made["key"]
        self.write_key()

    def write_key(self):
        (self.directory / "key").write_text(self.key + "\n")

    def argv(self, *more):
        argv = super().argv(*more)
        argv[argv.index("--id") + 1] = self.id
        return argv

    @property
    def path(self):
        return f"/api/agents/{self.id}"

    def seen(self):
        return self.server.admin.get(self.path)

    def online(self, timeout=30):
        return until(lambda: self.seen()["connected"], timeout, what="a session at the server")

    def ask(self, command, **params):
        body = {"type": "shell", "params": {"command": command, **params}}
        return self.server.admin.post(f"{self.path}/commands", body)["command_id"]

    def command(self, command_id, at=None):
        return (at or self.server.admin).get(f"{self.path}/commands/{command_id}")

    def finished(self, command_id, timeout=20, at=None):
        """The record of the command; `at` a client of the node that was asked for it, since others know it later."""

        def final():
            record = self.command(command_id, at)
            return record if record["status"] not in ("queued", "delivered", "running") else None

        return until(final, timeout, what=f"the end of {command_id}")
