"""The commands of README and guide, run as they stand there, with the places and addresses of a scratch machine.

Which test runs which command: tests/support/documented_runs.py.
"""

import contextlib
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
from opsapp.cli.remote import TOKEN
from tests.support.client import Client
from tests.support.documented_commands import ROOT, blocks, documented
from tests.support.documented_runs import AT_REST, CURL, FIRST_STEPS, SERVED, rows_of
from tests.support.process import PASSWORD, Serve, free_port
from tests.support.stores import opened
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
        would = re.search(r"^would (?!create 0, change 0, delete 0,)", said.out, re.M)
        assert code == (2 if would else 0), f"{text}\n{said.out}{said.err}"
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
    """In one shell, as they stand there, but for the ports."""
    port = str(free_port())
    commands = [text.replace("6090", port) for text in rows_of(FIRST_STEPS)]
    (kill,) = (number for number, text in enumerate(commands) if text.startswith("kill "))
    admin, box = scratch.serve.admin, scratch.place / "box-1"
    with shell(scratch) as tell:
        try:
            tell(commands[:kill])
            until(lambda: [row["status"] for row in admin.get(ENDPOINTS)] == ["up"], 40, what="the web server being up")
            levels = {row["rule_id"]: row["current_level"] for row in admin.get("/api/healing/trust")}
            assert levels["web-down"] == "execute"
            first = (box / "pid").read_text()
            tell(commands[kill:])
            until(lambda: outcomes(admin) == ["verified"], 90, what="the heal of the README")
            assert (box / "pid").read_text() != first
        finally:
            tell(["kill $AGENT $(cat box-1/pid)", "rm -r box-1"])
    assert not box.exists()


ENDPOINTS = "/api/monitoring/endpoints"


def outcomes(admin):
    entries = admin.get("/api/healing/ledger?rule_id=web-down")
    return [entry["outcome"] for entry in entries if entry["outcome"] is not None]


@contextlib.contextmanager
def shell(scratch):
    """A function that has commands carried out by a shell that goes on. An answer of the API that is an error is one
    for whoever follows the guide, too."""
    said = scratch.place / "said"
    with said.open("w") as out:
        place = {"cwd": scratch.place, "env": scratch.environment()}
        child = subprocess.Popen(["sh", "-e"], stdin=subprocess.PIPE, stdout=out, stderr=out, text=True, **place)

    def tell(commands):
        told = said.read_text().count(DONE) + 1
        child.stdin.write("".join(f"{scratch.here(text)}\n" for text in [*commands, f"echo {DONE}"]))
        child.stdin.flush()
        until(lambda: child.poll() is not None or said.read_text().count(DONE) == told, 60, what="the commands")
        assert child.poll() is None, said.read_text()
        assert '"error"' not in said.read_text()

    try:
        yield tell
    finally:
        child.stdin.close()
        child.wait(20 * patience())


DONE = "that was it"


def test_the_requests_of_the_guide(scratch):
    admin = scratch.serve.admin
    monitor = admin.post("/api/monitoring/endpoints", {"name": "m", "type": "tcp", "url": "tcp://127.0.0.1:1"})
    box = admin.post("/api/agents", {"label": "box-1"})
    report, key = f"/api/agents/{box['agent_id']}/report", {"X-Agent-Key": box["key"]}
    assert scratch.serve.client(headers=key).post(report, {"hostname": "box-1", "os": "linux"})
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
        child.wait(20 * patience())
    until(lambda: not answers(port), 10, what="the end of the service with its make")


def answers(port):
    try:
        return Client(f"http://127.0.0.1:{port}").request("GET", "/api/status/public").status == 200
    except OSError:
        return False


def test_every_command_that_is_run_here_is_in_the_guide():
    texts = {command.text for command in documented()}
    assert {text for kind in (FIRST_STEPS, CURL, SERVED, AT_REST) for text in rows_of(kind)} <= texts


def test_the_store_of_a_cluster_starts_with_what_its_unit_makes(scratch):
    """The two files of docs/guide/cluster.md, as they stand there, but for the port and the root."""
    conf, unit = (
        next(block for block in blocks(ROOT / "docs/guide/cluster.md") if block.startswith(begin))
        for begin in ("<zeo>\n", "[Unit]\nDescription=opsapp store")
    )
    lib, port = scratch.place / "var/lib", free_port()
    for name in re.findall(r"^StateDirectory=(.+)$", unit, re.M):
        (lib / name).mkdir(parents=True)
    conf = conf.replace("/var/lib", str(lib)).replace("6079", str(port))
    (scratch.place / "etc/opsapp/zeo.conf").write_text(conf)
    (words,) = re.findall(r"^ExecStart=/opt/opsapp/bin/opsapp (.+)$", unit, re.M)
    command = [sys.executable, "-m", "opsapp.cli", *shlex.split(scratch.here(words))]
    with (scratch.place / "store.log").open("w") as log:
        child = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
    try:
        until(lambda: child.poll() is not None or list(lib.glob("*/history.fs")), 30, what="the store's files")
        assert child.poll() is None, (scratch.place / "store.log").read_text()
        for name in ("main", "history"):
            with opened(f"zeo://127.0.0.1:{port}?storage={name}&wait_timeout=20") as db, db.transaction() as connection:
                assert len(connection.root()) == 0
    finally:
        child.kill()
        child.wait(10 * patience())
