"""Heals by the real agent program: phases, fencing, snapshots, rollback, and what it will not touch."""

import hashlib
import os
import secrets
import subprocess
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

import opsapp
from opsapp.agent.capabilities import TOOLS, ToolManifest, try_tool
from opsapp.agents import zipapp
from tests.support.agent_process import AgentProcess
from tests.support.waiting import until

pytestmark = pytest.mark.system


@pytest.fixture
def sleeper():
    child = subprocess.Popen(["sleep", "300"])
    if os.geteuid() == 0:
        os.setpriority(os.PRIO_PROCESS, child.pid, 0)  # also where the tests themselves run with a lower one
    yield child
    child.kill()
    child.wait()


class HealsOfATest(NamedTuple):
    """The server of an agent that others use too, and the id of the heal of this test."""

    command: Callable
    result: Callable
    heal_id: str


@pytest.fixture
def shared(standing):
    """For tests that leave the agent as it is."""
    return HealsOfATest(standing.server.command, standing.server.result, secrets.token_hex(8))


def heal(server, phase, action_type=None, heal_id=None, token=1, snapshot=None, **params):
    given = {
        "heal_id": heal_id or getattr(server, "heal_id", "h1"),
        "token": token,
        "phase": phase,
        "action_type": action_type,
        "params": params,
        "snapshot": snapshot,
    }
    name = server.command("heal", **{key: value for key, value in given.items() if value is not None})
    return until(lambda: server.result(name), 60, what=f"{phase} of {action_type}")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may raise a priority again")
def test_a_process_gets_a_lower_priority_and_its_own_back(shared, sleeper):
    done = heal(shared, "execute", "nice_adjust", pid=sleeper.pid, priority=15)
    assert done["status"] == "done"
    assert os.getpriority(os.PRIO_PROCESS, sleeper.pid) == 15
    assert done["data"]["snapshot"]["state"]["nice"] == 0
    back = heal(shared, "rollback", "nice_adjust", pid=sleeper.pid)
    assert (back["status"], back["data"]["restored"]) == ("done", True)
    assert os.getpriority(os.PRIO_PROCESS, sleeper.pid) == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may raise a priority again")
def test_a_snapshot_given_by_the_server_counts(shared, sleeper):
    snapshot = heal(shared, "snapshot", "nice_adjust", pid=sleeper.pid)["data"]["snapshot"]
    os.setpriority(os.PRIO_PROCESS, sleeper.pid, 7)
    back = heal(shared, "rollback", "nice_adjust", heal_id="another", snapshot=snapshot, pid=sleeper.pid)
    assert back["data"]["restored"] is True
    assert os.getpriority(os.PRIO_PROCESS, sleeper.pid) == 0


def test_the_snapshot_of_before_is_kept_when_the_action_comes_later(shared, sleeper):
    heal(shared, "snapshot", "nice_adjust", pid=sleeper.pid, priority=5)
    os.setpriority(os.PRIO_PROCESS, sleeper.pid, 3)
    done = heal(shared, "execute", "nice_adjust", pid=sleeper.pid, priority=5)
    assert done["data"]["snapshot"]["state"]["nice"] == 0


def test_a_process_is_ended_and_reported_so(shared, sleeper):
    done = heal(shared, "execute", "process_kill", pid=sleeper.pid)
    assert done["status"] == "done"
    assert until(lambda: sleeper.poll() is not None)


def test_the_agent_its_ancestors_and_the_protected_are_not_touched(server, tmp_path, sleeper):
    with AgentProcess(tmp_path, server, protected_processes=["sleep"]) as agent:
        agent.online()
        for number, pid in enumerate((sleeper.pid, agent.process.pid, os.getpid())):
            refused = heal(server, "execute", "process_kill", heal_id=f"k{number}", pid=pid)
            assert refused["status"] == "failed"
            assert "protected" in refused["reason"]
        assert sleeper.poll() is None
        assert agent.process.poll() is None


def test_what_the_server_protects_is_not_touched_and_no_restart_forgets_it(server, agent, sleeper):
    server.session().say("settings", interval=1.0, protected_processes=["sleep"])
    until((agent.state / "protected.json").exists, what="the names on the disk")
    assert "protected" in heal(server, "execute", "process_kill", pid=sleeper.pid)["reason"]
    agent.kill()
    agent.start()
    agent.online()
    assert "protected" in heal(server, "execute", "process_kill", heal_id="h2", pid=sleeper.pid)["reason"]
    server.session().say("settings", interval=1.0, protected_processes=[])
    until(lambda: (agent.state / "protected.json").read_text().strip() == "[]", what="the names being taken back")
    assert heal(server, "execute", "process_kill", heal_id="h3", pid=sleeper.pid)["status"] == "done"


def test_an_older_token_is_refused(server, agent, sleeper):
    assert heal(server, "execute", "nice_adjust", token=7, pid=sleeper.pid, priority=4)["status"] == "done"
    old = heal(server, "execute", "nice_adjust", heal_id="h2", token=6, pid=sleeper.pid, priority=9)
    assert (old["status"], old["reason"], old["data"]["newest"]) == ("failed", "stale_token", 7)
    assert os.getpriority(os.PRIO_PROCESS, sleeper.pid) == 4


def test_what_no_tool_can_do_names_the_tools(shared):
    refused = heal(shared, "execute", "zfs_scrub", pool="tank")
    if refused["status"] == "done":
        pytest.skip("this machine has zfs")
    assert (refused["reason"], refused["data"]["looked_for"]) == ("no_capable_handler", ["zpool"])
    assert heal(shared, "execute", "group_policy_refresh")["data"]["looked_for"] == ["gpupdate.exe", "samba-gpupdate"]


def test_what_cannot_be_reversed_says_so(shared):
    assert heal(shared, "rollback", "restart_service", service="nginx")["reason"] == "not_reversible"
    assert heal(shared, "rollback", "nice_adjust", heal_id="never")["reason"] == "no_snapshot"


def test_a_reversible_action_does_not_start_without_its_snapshot(shared):
    refused = heal(shared, "execute", "container_pause", container="no-such-container")
    assert refused["status"] == "failed"
    assert refused["reason"].startswith(("no_snapshot", "no_capable_handler"))


def test_measure_reports_and_answers(shared, standing):
    reports = standing.server.reports
    measured = heal(shared, "measure")
    assert measured["data"]["report"]["hostname"] == reports[-1]["hostname"]
    assert any(one["reason"] == "measure" for one in reports)


def test_only_old_files_of_temporary_places_are_cleaned(shared, tmp_path):
    """A file that was made a moment ago is young, whatever time it was given. (What is old goes: tests/fleet and
    tests/unit/test_agent_cleaning.py, for nobody can set the time of a file's last change.)"""
    place = tmp_path / "tmp"
    place.mkdir()
    for path in (place / "copied", place / "young"):
        path.write_text("x" * 5000)
    os.utime(place / "copied", (1, 1))
    done = heal(shared, "execute", "temp_cleanup", path=str(place), max_age_hours=24)
    assert done["status"] == "done"
    assert "0 files" in done["output"]
    assert sorted(path.name for path in place.iterdir()) == ["copied", "young"]
    refused = heal(shared, "execute", "temp_cleanup", heal_id="elsewhere", path="/etc")
    assert refused["reason"].startswith("not_allowed")


def test_the_shell_actions_read_their_text_in_a_shell_and_nothing_else_does(shared, tmp_path):
    done = heal(shared, "execute", "run", command="echo one | tr o 0; exit 4")
    assert (done["status"], done["exit_code"], done["output"]) == ("failed", 4, "0ne\n")


# ---- capabilities and the file itself
def test_tools_are_tried_and_not_only_found(tmp_path, monkeypatch):
    assert len(TOOLS) >= 30
    broken = tmp_path / "podman"
    broken.write_text("#!/bin/sh\nexit 125\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert try_tool("podman", 5)["available"] is True
    assert try_tool("podman", 5)["usable"] is False
    assert try_tool("no-such-tool", 5) == {"available": False, "usable": False, "version": None}
    capabilities = ToolManifest()
    assert capabilities.usable("sh")
    assert not capabilities.usable("podman")


def test_a_hanging_tool_is_given_up(tmp_path, monkeypatch):
    slow = tmp_path / "curl"
    slow.write_text("#!/bin/sh\nsleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert try_tool("curl", 0.2)["usable"] is False


def test_another_process_builds_the_same_agent_file():
    root = os.path.dirname(os.path.dirname(opsapp.__file__))
    other = subprocess.run(
        [sys.executable, "-c", "import sys; from opsapp.agents import zipapp;sys.stdout.buffer.write(zipapp.build())"],
        capture_output=True,
        check=True,
        cwd="/",
        env={"PYTHONPATH": root, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"},
    )
    assert hashlib.sha256(other.stdout).hexdigest() == zipapp.agent_file().sha256
