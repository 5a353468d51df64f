"""The commands of README and guide, run as they stand there, with the places and addresses of a scratch machine.

Which test runs which command: tests/support/documented_runs.py.
"""

import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from opsapp.cli import main
from opsapp.cli.asking import TOKEN
from tests.support.client import Client
from tests.support.documented_commands import ROOT, blocks, documented
from tests.support.documented_runs import AT_REST, CURL, FIRST_STEPS, SERVED, rows_of
from tests.support.process import PASSWORD, Serve, free_port
from tests.support.waiting import patience, until

pytestmark = [pytest.mark.system, pytest.mark.files("the guide's places are those of an embedded store")]

ADDRESS = re.compile(r"https://ops\.example\.org|http://127\.0\.0\.1:6080|(?:http://)?localhost:6080")
KUMA = {
    "version": "1.23.11",
    "monitorList": [{"id": 1, "name": "shop", "type": "http", "url": "https://shop.example.org/", "interval": 60}],
    "notificationList": [],
}


class Fresh(Serve):
    """A service whose first admin gets a random password."""

    def environment(self):
        return {name: value for name, value in super().environment().items() if name != "OPSAPP_ADMIN_PASSWORD"}

    @property
    def admin(self):
        if self._admin is None:
            self._admin = self.client().login("admin", (self.data / "admin-password").read_text().strip())
        return self._admin


class Scratch:
    """A directory that stands for the root of a machine, and for the place where one works."""

    def __init__(self, place):
        self.place, self.data = place, place / "var"
        self.serve = Fresh(place / "serve", data=self.data)
        for name in ("etc/opsapp", "backup", "srv", "root", "var/backups"):
            (place / name).mkdir(parents=True)
        self.data.chmod(0o700)
        (ini,) = (block for block in blocks(ROOT / "docs/guide/running.md") if block.startswith("[app:main]"))
        (place / "etc/opsapp/opsapp.ini").write_text(self.here(ini))
        (place / "etc/opsapp/opsapp.yaml").write_text("")

    def here(self, text):
        """With the places and addresses of this machine."""
        text = text.replace("/var/lib/opsapp", str(self.data)).replace("runuser -u opsapp -- ", "")
        text = re.sub(r"(?<![\w.])/(etc/opsapp|backup|srv|root|var/backups)\b", rf"{self.place}/\1", text)
        return ADDRESS.sub(self.serve.url, text)

    def environment(self, **more):
        return {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", **more}

    def run(self, text, **environment):
        """What a shell prints."""
        done = subprocess.run(
            ["sh", "-ec", self.here(text)],
            cwd=self.place,
            env=self.environment(**environment),
            capture_output=True,
            text=True,
            timeout=60 * patience(),
            check=False,
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
        return done.stdout

    def opsapp(self, text, monkeypatch, capsys, typed=""):
        """Without a process of its own, for its start takes longer than what it does."""
        words = shlex.split(self.here(text), comments=True)
        into = words.index(">") if ">" in words else len(words)
        monkeypatch.chdir(self.place)
        monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
        capsys.readouterr()
        code = main(words[1:into])
        said = capsys.readouterr()
        assert code == 0, f"{text}\n{said.out}{said.err}"
        for name in words[into + 1 :]:
            Path(name).write_text(said.out)


@pytest.fixture
def scratch(tmp_path):
    made = Scratch(tmp_path)
    with made.serve:
        yield made


def accepted(said):
    """What the API answered; an error is one for whoever follows the guide, too."""
    answer = json.loads(said)
    assert "error" not in answer, said
    return answer


def test_the_first_steps_of_the_readme(scratch):
    begun, agent, ids, known = "", None, {}, {"SERVER": scratch.serve.url}
    try:
        for text in rows_of(FIRST_STEPS):
            for word, value in ids.items():
                text = re.sub(rf"\b{word}\b", value, text)
            if text.startswith("api()"):
                begun = text + "\n"
            elif name := re.match(r"([A-Z]+)=", text):
                known[name[1]] = scratch.run(f'{text}\nprintf %s "${name[1]}"', **known)
            elif text.startswith("python3 opsapp-agent.pyz"):
                words = ["sh", "-ec", f"exec {text}"]
                agent = subprocess.Popen(words, cwd=scratch.place, env=scratch.environment(**known))
            else:
                said = scratch.run(begun + text, **known)
                answer = accepted(said) if text.startswith("api ") else {}
                if "agent_id" in answer and "key" in answer:
                    ids = {"ID": answer["agent_id"], "KEY": answer["key"]}
        admin = scratch.serve.admin
        until(lambda: admin.get(f"/api/agents/{ids['ID']}")["connected"], 30, what="the agent of the README")
        levels = {each["rule_id"]: each["current_level"] for each in admin.get("/api/healing/trust")}
        assert levels["nginx-down"] == "execute"
    finally:
        if agent is not None:
            agent.send_signal(signal.SIGTERM)
            agent.wait(20)


def test_the_requests_of_the_guide(scratch):
    admin = scratch.serve.admin
    monitor = admin.post("/api/monitoring/endpoints", {"name": "m", "type": "tcp", "url": "tcp://127.0.0.1:1"})
    admin.post("/api/agents", {"label": "box-1"})
    for text in rows_of(CURL):
        text = text.replace("MONITOR_ID", monitor["id"])
        accepted(scratch.run(text.replace("curl ", "curl -s ", 1), TOKEN=admin.token, URL=scratch.serve.url))


def test_the_commands_of_opsapp(scratch, monkeypatch, capsys):
    """Those for a running service first, then those for one that is stopped."""
    (monitors,) = re.findall(r"^```yaml\n(.*?)^```", (ROOT / "docs/guide/as-code.md").read_text(), re.S | re.M)[:1]
    (scratch.place / "ops.yaml").write_text(monitors)
    (scratch.place / "kuma.json").write_text(json.dumps(KUMA))
    monkeypatch.setenv(TOKEN, scratch.serve.admin.token)
    for text in rows_of(SERVED):
        scratch.opsapp(text, monkeypatch, capsys)
    assert {"shop"} <= {each["name"] for each in scratch.serve.admin.get("/api/monitoring/endpoints")}
    assert "shop" in (scratch.place / "ops.yaml").read_text()
    assert (scratch.place / "srv/status/index.html").exists()
    assert scratch.serve.stop() == 0
    for text in rows_of(AT_REST):
        for copy in re.findall(r"/var/lib/opsapp/(before-\S+)", text):
            shutil.copytree(scratch.place / "backup/opsapp", scratch.data / copy)
        scratch.opsapp(text, monkeypatch, capsys, typed=f"{PASSWORD}\n")


def test_make_run_serves(tmp_path):
    """In the environment that is here: to install into it would take it away from the tests that run beside."""
    port = free_port()
    words = ["make", "run", "PYTHON=true", f"ARGS=--port {port} --data {tmp_path / 'data'}"]
    child = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: answers(port), 60, what="an answer of `make run`")
        assert (tmp_path / "data/admin-password").exists()
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(20)
    until(lambda: not answers(port), 10, what="the end of the service with its make")


def answers(port):
    try:
        return Client(f"http://127.0.0.1:{port}").request("GET", "/api/status/public").status == 200
    except OSError:
        return False


def test_every_command_that_is_run_here_is_in_the_guide():
    texts = {command.text for command in documented()}
    assert {text for kind in (FIRST_STEPS, CURL, SERVED, AT_REST) for text in rows_of(kind)} <= texts
