"""What the service runs on its own machine: kept from its secrets, ended with it, begun once."""

import contextlib
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.automations import ended, make, record, run, script
from tests.support.client import Client
from tests.support.process import ROOT, Serve
from tests.support.proctexts import texts
from tests.support.waiting import patience, until, written

pytestmark = [pytest.mark.system, pytest.mark.usefixtures("own_program"), pytest.mark.attack]
SYSTEM_PYTHON = "/usr/bin/python3"  # another user may be unable to read the one that runs the tests
OTTO = "a long enough word"


def operator(serve):
    serve.admin.post("/api/users", {"username": "otto", "role": "operator", "password": OTTO})
    return Client(serve.url).login("otto", OTTO)


def executor_pid(serve):
    """The service's one child process, once it is a program of its own."""
    children = texts(Path(f"/proc/{serve.child.pid}/task").glob("*/children"))
    pids = [int(pid) for listed in children for pid in listed.split()]
    if len(pids) != 1 or not any("opsapp.agent.embedded" in text for text in texts([Path(f"/proc/{pids[0]}/cmdline")])):
        return None
    return pids[0]


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


QUICK = {"automations": {"kill_grace_s": 0.5, "retry_delay_s": 0.1}}


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with Serve(tmp_path_factory.mktemp("serve"), config=QUICK) as serve:
        yield serve


@pytest.fixture
def serve(running):
    """One that goes on, perhaps with another executor than the test before had."""
    until(lambda: executor_pid(running), what="the executor")
    return running


def lasting(serve, directory):
    """A run with a child in its process group and one that has left it; their numbers."""
    text = f"setsid sleep 600 & cd {directory}; echo $! > fled; echo $$ > pid; echo x >> times; sleep 600"
    run_id = run(serve, script(serve, text))
    written(directory / "times", "the script being there")
    return run_id, [int((directory / name).read_text()) for name in ("pid", "fled")]


def open_files(pid):
    """What a process holds; what it closes while one looks is not held."""
    held = []
    for path in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            held.append(os.readlink(path))
    return held


def test_it_has_nothing_of_the_services_environment_and_no_file_of_the_store(serve):
    pid = executor_pid(serve)
    names = [word.partition(b"=")[0] for word in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")]
    assert b"OPSAPP_ADMIN_PASSWORD" in Path(f"/proc/{serve.child.pid}/environ").read_bytes()
    assert [name for name in names if name.startswith((b"OPSAPP_", b"PYTHON"))] == []
    assert [path for path in open_files(pid) if path.endswith((".fs", ".lock", ".key"))] == []
    seen = ended(serve, run(serve, script(serve, "ls -l /proc/self/fd")))["output"]
    assert "socket:" not in seen


def test_kill_9_of_the_service_ends_what_runs_and_nothing_runs_twice(serve, tmp_path):
    run_id, pids = lasting(serve, tmp_path)
    serve.kill()
    until(lambda: not any(map(alive, pids)), what="the end of the script and its children")
    serve.start()
    assert ended(serve, run_id)["status"] == "lost"
    assert ended(serve, run(serve, script(serve, "echo on")))["output"] == "on\n"
    assert (tmp_path / "times").read_text() == "x\n"


def test_one_that_is_killed_is_started_again_and_what_it_ran_is_lost(serve, tmp_path):
    run_id, pids = lasting(serve, tmp_path)
    before = until(lambda: executor_pid(serve), what="the executor")
    os.kill(before, signal.SIGKILL)
    found = ended(serve, run_id)
    assert (found["status"], found["reason"]) == ("lost", "the executor ended while it ran")
    until(lambda: not any(map(alive, pids)), what="the end of what it left")
    assert ended(serve, run(serve, script(serve, "echo on")))["output"] == "on\n"
    assert executor_pid(serve) != before
    assert (tmp_path / "times").read_text() == "x\n"


@pytest.fixture
def fresh(tmp_path):
    """One to which nothing has happened."""
    with Serve(tmp_path / "serve", config=QUICK) as serve:
        yield serve


def test_one_that_hangs_is_ended_and_what_waited_for_it_is_lost(fresh, tmp_path):
    """Not held beyond its own time-out, for as long as the executor stands still."""
    serve = fresh
    run_id, pids = lasting(serve, tmp_path)
    before = until(lambda: executor_pid(serve), what="the executor")
    os.kill(before, signal.SIGSTOP)
    later = run(serve, script(serve, "echo late", timeout=3))
    seen = ended(serve, run_id)
    assert (seen["status"], seen["reason"]) == ("lost", "the executor ended while it ran")
    assert ended(serve, later)["status"] == "lost"
    until(lambda: not any(map(alive, [before, *pids])), what="the end of it and of what it ran")
    assert ended(serve, run(serve, script(serve, "echo on")))["output"] == "on\n"
    health = serve.admin.get("/api/healing/health")
    assert (health["status"], health["reasons"]) == ("Active", [])
    [note] = health["notes"]
    assert "ago and was started again" in note
    assert (tmp_path / "times").read_text() == "x\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="to give a file to another user needs root")
def test_one_that_may_not_write_its_journal_says_so_and_is_not_started_in_vain(tmp_path):
    """As after a copy of the data that root made for a service with a user of its own."""
    config = {"executor": {"user": "nobody", "python": SYSTEM_PYTHON}}
    with Serve(tmp_path / "serve", config=config) as serve:
        until(lambda: executor_pid(serve), what="the executor")
        assert serve.stop() == 0
        for path in (serve.data / "executor").rglob("*"):
            os.chown(path, 0, 0)
        serve.start()
        assert ended(serve, run(serve, script(serve, "echo on")))["output"] == "on\n"


@pytest.mark.nightly("the core list has the kill of the service")
def test_a_stop_of_the_service_ends_scripts_as_promised(serve, tmp_path):
    run_id, pids = lasting(serve, tmp_path)
    executor = executor_pid(serve)
    assert serve.stop() == 0
    assert not any(map(alive, [*pids, executor]))
    serve.start()
    assert (record(serve, run_id)["status"], record(serve, run_id)["reason"]) == ("cancelled", "shutdown")


def test_nothing_of_a_command_is_kept_on_the_disk(serve):
    serve.admin.post("/api/secrets", {"name": "deploy", "value": "open sesame"})
    found = ended(serve, run(serve, script(serve, "printf %s {{secret:deploy}} | wc -c")))
    assert found["output"].strip() == "11"
    kept = [path.read_bytes() for path in (serve.data / "executor").rglob("*") if path.is_file()]
    assert kept
    assert not any(b"sesame" in text for text in kept)


def test_an_operator_does_not_become_admin_by_a_script_where_the_executor_shares_the_services_user(serve):
    """The script would read the master key and sign as a node of the cluster."""
    otto = operator(serve)
    body = {"name": "x", "type": "script", "params": {"script": f"cat {serve.data}/secret.key"}}
    refused = otto.request("POST", "/api/automations", body)
    assert (refused.status, refused.json["code"]) == (403, "executor_shares_user")
    assert "executor.user" in refused.json["error"]
    assert otto.post(f"/api/automations/{script(serve, 'true')}/run")["status"] == "running"


@pytest.mark.skipif(os.geteuid() != 0, reason="another user for the executor needs root")
@pytest.mark.skipif(not Path(SYSTEM_PYTHON).exists(), reason=f"{SYSTEM_PYTHON} is not there")
@pytest.mark.parametrize("python", [SYSTEM_PYTHON, None])
def test_a_script_of_an_operator_reads_no_secret_where_the_executor_has_a_user_of_its_own(tmp_path, python):
    """Without a named interpreter too, wherever the service's own is."""
    config = {"executor": {"user": "nobody", "python": python}}
    with Serve(tmp_path / "serve", config=config) as serve:
        otto = operator(serve)
        text = (
            f"id -un; cat {serve.data}/secret.key; tr '\\0' '\\n' < /proc/{serve.child.pid}/environ; env; "
            "for name in mem maps environ fd/0; do cat /proc/$PPID/$name >/dev/null && echo may-look at $name; done; "
            f"ls -l /proc/$PPID/fd; ls {serve.data}; kill -0 {serve.child.pid} && echo may-signal"
        )
        made = otto.post("/api/automations", {"name": "x", "type": "script", "params": {"script": text}})["id"]
        found = ended(serve, run(serve, made))["output"]
        key = (serve.data / "secret.key").read_text().split()[0]
        assert found.startswith("nobody\n")
        assert len(re.findall("Permission denied", found)) >= 3
        assert key not in found
        assert "OPSAPP_ADMIN_PASSWORD" not in found
        assert "may-signal" not in found
        assert "may-look" not in found  # at the executor, which has the same user
        assert os.stat(serve.data / "secret.key").st_mode & 0o777 == 0o600
        state = next((serve.data / "executor").iterdir())
        assert (state.stat().st_uid, state.stat().st_mode & 0o777) == (pwd.getpwnam("nobody").pw_uid, 0o700)
        webhook = make(serve, "script", {"script": "id -u"})
        assert ended(serve, run(serve, webhook))["output"].strip() == str(pwd.getpwnam("nobody").pw_uid)


@pytest.mark.nightly("tests/fleet/test_units.py is the walk through it")
@pytest.mark.skipif(shutil.which("systemd-socket-activate") is None, reason="systemd-socket-activate")
def test_systemd_may_start_it_for_a_service_that_is_not_root(tmp_path):
    """As the units of the guide have it: one executor for each connection to a socket."""
    path, state, own = tmp_path / "executor.sock", tmp_path / "state", pwd.getpwuid(os.geteuid()).pw_name
    state.mkdir()
    command = [sys.executable, "-m", "opsapp.agent.embedded", "0"]
    manager = subprocess.Popen(
        ["systemd-socket-activate", "--accept", "--inetd", f"--listen={path}", f"--setenv=PYTHONPATH={ROOT}", *command],
        cwd=state,
        env={"PATH": os.environ["PATH"]},
    )
    try:
        until(path.exists, what="the socket")
        with Serve(tmp_path / "serve", config={"executor": {"user": own, "socket": str(path)}}) as serve:
            assert ended(serve, run(serve, script(serve, "echo on")))["output"] == "on\n"
            run_id, pids = lasting(serve, tmp_path)
            serve.kill()
            until(lambda: not any(map(alive, pids)), what="the end of the script and its children")
            serve.start()
            assert ended(serve, run_id)["status"] == "lost"
            assert ended(serve, run(serve, script(serve, "echo again")))["output"] == "again\n"
        with Serve(tmp_path / "other", config={"executor": {"user": "daemon", "socket": str(path)}}) as serve:
            found = ended(serve, run(serve, script(serve, "id")), timeout=60)
            assert (found["status"], found["output"]) == ("failed", "")
            assert "does not run as daemon" in found["reason"]
    finally:
        manager.terminate()
        manager.wait(20 * patience())


@pytest.mark.nightly("starts many processes for one rule")
def test_without_the_user_nothing_runs_rather_than_as_the_services_own(tmp_path):
    config = {"executor": {"user": "nobody-of-that-name"}}
    with Serve(tmp_path / "serve", config=config) as serve:
        body = {"name": "x", "type": "script", "params": {"script": "id"}}
        made = serve.admin.post("/api/automations", body)["id"]
        found = ended(serve, run(serve, made), timeout=60)
        assert (found["status"], found["output"]) == ("failed", "")
        assert "There is no user nobody-of-that-name" in found["reason"]
