"""Deployment against a real sshd on this machine. The install script is told to keep to a directory."""

import contextlib
import os
import shutil
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from opsapp.agent.metrics import machine_id
from tests.support.process import Process, Serve, free_port
from tests.support.waiting import until

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/bin") or ""
pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not SSHD or os.geteuid() != 0, reason="needs sshd, and root to run it"),
]


class Sshd(Process):
    name = "sshd"

    def __init__(self, directory, **settings):
        super().__init__(directory)
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # where Debian's sshd wants to leave its privileges
        self.port = free_port()
        self.key = self.make_key("id_client")
        self.host_key = self.make_key("host")
        (self.directory / "authorized").write_text(self.public("id_client"))
        lines = {
            "Port": self.port,
            "ListenAddress": "127.0.0.1",
            "HostKey": self.host_key,
            "AuthorizedKeysFile": self.directory / "authorized",
            "PidFile": "none",
            "StrictModes": "no",
            "UsePAM": "no",
            "PermitRootLogin": "prohibit-password",
            "Subsystem": "sftp internal-sftp",
            "SetEnv": f"OPSAPP_ROOT={self.directory}/root OPSAPP_INIT=systemd",
            **settings,
        }
        (self.directory / "config").write_text("".join(f"{name} {value}\n" for name, value in lines.items()))

    def make_key(self, name):
        path = self.directory / name
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
        return path

    def public(self, name):
        return (self.directory / f"{name}.pub").read_text()

    def fingerprint(self):
        told = subprocess.run(["ssh-keygen", "-lf", f"{self.host_key}.pub"], capture_output=True, text=True, check=True)
        return told.stdout.split()[1]

    def command(self):
        return [SSHD, "-D", "-e", "-f", str(self.directory / "config")]

    def is_ready(self):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 5):
            return True
        return False


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    with Serve(tmp_path_factory.mktemp("serve")) as serve:
        yield serve


@pytest.fixture
def sshd(tmp_path):
    with Sshd(tmp_path / "sshd") as sshd:
        yield sshd


def deploy(serve, sshd, **changes):
    body = {"host": "127.0.0.1", "ssh_user": "root", "ssh_port": sshd.port, "ssh_key": str(sshd.key), "label": "new"}
    return serve.admin.request("POST", "/api/agents/deploy", {**body, **changes})


def labels(serve):
    return [row["label"] for row in serve.admin.get("/api/agents")]


def test_a_host_is_deployed_once_its_key_is_vouched_for(serve, sshd):
    unknown = deploy(serve, sshd)
    assert (unknown.status, unknown.json["fingerprint"]) == (409, sshd.fingerprint())
    wrong = deploy(serve, sshd, host_key="SHA256:" + "A" * 43)
    assert (wrong.status, wrong.json["code"]) == (409, "host_key_mismatch")
    none = deploy(serve, sshd, host_key="whatever it shows")
    assert (none.status, set(none.json["fields"])) == (422, {"host_key"})
    done = deploy(serve, sshd, host_key=sshd.fingerprint())
    assert (done.status, done.json["status"]) == (200, "deployed"), done.body
    root = sshd.directory / "root"
    assert (root / "etc/opsapp-agent/key").read_text().strip() == done.json["key"]
    assert done.json["agent_id"] in (root / "etc/systemd/system/opsapp-agent.service").read_text()
    assert done.json["agent_id"] in {row["id"] for row in serve.admin.get("/api/agents")}
    again = deploy(serve, sshd, label="known")
    assert again.status == 200, "a key that was vouched for is known"
    whole_line = deploy(serve, sshd, label="line", host_key=sshd.public("host").strip())
    assert whole_line.status == 200


@pytest.mark.nightly("the core list has the first deployment")
def test_a_machine_that_is_deployed_to_twice_keeps_its_record(serve, sshd, tmp_path):
    known = {"host_key": sshd.fingerprint()}
    first = deploy(serve, sshd, label="first", **known).json
    agent, key = f"/api/agents/{first['agent_id']}", {"X-Agent-Key": first["key"]}
    machine = {"machine_id": machine_id(), "hostname": socket.gethostname(), "os": "Debian 12"}
    assert serve.client().request("POST", f"{agent}/report", machine, headers=key).status == 200
    second = deploy(serve, sshd, label="second", **known).json
    assert (second["agent_id"], second["replaced"], second["same_machine"]) == (first["agent_id"], True, [])
    seen = serve.admin.get(agent)
    assert (seen["label"], seen["hostname"], seen["hostname_conflict"]) == ("second", machine["hostname"], False)
    assert serve.client().request("POST", f"{agent}/report", machine, headers=key).status == 401
    fresh = {"X-Agent-Key": second["key"]}
    assert serve.client().request("POST", f"{agent}/report", machine, headers=fresh).status == 200
    blocked = tmp_path / "root-is-a-file"
    blocked.write_text("")
    with Sshd(tmp_path / "full", SetEnv=f"OPSAPP_ROOT={blocked} OPSAPP_INIT=systemd") as full:
        assert deploy(serve, full, label="third", host_key=full.fingerprint()).json["step"] == "install"
    back = serve.client().request("POST", f"{agent}/report", machine, headers=fresh)
    assert back.status == 200, "its key counts again"
    assert serve.admin.get(agent)["label"] == "second"


def test_each_failure_names_its_step(serve, sshd):
    known = {"host_key": sshd.fingerprint(), "label": "failing"}
    stranger = sshd.make_key("id_stranger")
    answers = {
        "authenticate": deploy(serve, sshd, ssh_key=str(stranger), **known),
        "key_file": deploy(serve, sshd, ssh_key=str(sshd.directory / "authorized"), **known),
        "connect": deploy(serve, sshd, ssh_port=free_port(), **known),
    }
    for step, answer in answers.items():
        assert (answer.status, answer.json["step"]) == (502, step), answer.body
        assert "Err" not in answer.json["error"], "that is for programmers"
    assert "failing" not in labels(serve)


def test_a_full_disk_is_told_with_its_step(serve, tmp_path):
    blocked = tmp_path / "root-is-a-file"
    blocked.write_text("")
    settings = {"SetEnv": f"OPSAPP_ROOT={blocked} OPSAPP_INIT=systemd"}
    with Sshd(tmp_path / "sshd", **settings) as sshd:
        answer = deploy(serve, sshd, host_key=sshd.fingerprint())
        assert (answer.status, answer.json["step"]) == (502, "install")


def test_a_host_whose_key_has_changed_is_not_trusted(serve, sshd, tmp_path):
    assert deploy(serve, sshd, host_key=sshd.fingerprint()).status == 200
    sshd.kill()
    for name in ("host", "host.pub"):
        (sshd.directory / name).unlink()
    sshd.make_key("host")
    sshd.start()
    answer = deploy(serve, sshd, label="changed")
    assert (answer.status, answer.json["code"]) == (409, "host_key_changed"), answer.body
    assert answer.json["fingerprint"] == sshd.fingerprint()
    assert "changed" not in labels(serve)


def test_a_host_without_python_is_told_so(serve, tmp_path):
    """A PATH with what every host has, and no python3."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "id", "timeout", "rm", "mktemp", "df", "tail"):
        (tools / name).symlink_to(shutil.which(name))
    with Sshd(tmp_path / "sshd", SetEnv=f"PATH={tools}") as sshd:
        answer = deploy(serve, sshd, host_key=sshd.fingerprint(), label="bare")
        assert (answer.status, answer.json["step"]) == (502, "python"), answer.body
        assert "python3 is missing" in answer.json["error"]
        assert "bare" not in labels(serve)


def test_a_key_file_that_is_not_there(serve, sshd):
    answer = deploy(serve, sshd, ssh_key="/nowhere/id", label="keyless")
    assert (answer.status, answer.json["step"]) == (502, "key_file")
    assert "no such file" in answer.json["error"]
    assert "keyless" not in labels(serve)


def test_ten_slow_hosts_at_once_do_not_hold_up_the_service(serve, tmp_path):
    """Others are answered while all ten wait: the hosts go on when the test lets them."""
    begun, gate = tmp_path / "begun", tmp_path / "gate"
    held = f"echo >> {begun}; while [ ! -e {gate} ]; do sleep 0.1; done; echo 0; exit 3"
    admin = serve.admin  # signed in once, and not by each of the ten
    with Sshd(tmp_path / "sshd", ForceCommand=held, MaxStartups="50") as sshd:
        answers = []
        threads = [
            threading.Thread(target=lambda: answers.append(deploy(serve, sshd, host_key=sshd.fingerprint())))
            for _ in range(10)
        ]
        for thread in threads:
            thread.start()
        until(begun.exists, what="a first host being asked")
        for _ in range(10):
            admin.get("/api/agents")
        assert answers == []
        gate.touch()
        for thread in threads:
            thread.join()
        assert [(answer.status, answer.json["step"]) for answer in answers] == [(502, "login")] * 10
