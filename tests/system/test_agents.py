"""The real agent program against the real server: sessions, commands, keys, clones, restarts of either side."""

import contextlib
import os
import pathlib
import signal
import subprocess

import pytest
import yaml

from opsapp.agents.engine.installscript import script
from opsapp.agents.zipapp import agent_file
from tests.support.agent_process import EnrolledAgent
from tests.support.process import Serve
from tests.support.proctexts import texts
from tests.support.waiting import until, written

pytestmark = pytest.mark.system
FAST = {"agents": {"report_interval_s": 1}}


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    with Serve(tmp_path_factory.mktemp("serve"), config=FAST) as serve:
        yield serve


@pytest.fixture(scope="module")
def lasting(serve, tmp_path_factory):
    with EnrolledAgent(tmp_path_factory.mktemp("agent"), serve) as agent:
        yield agent


@pytest.fixture
def agent(lasting):
    """Online, with the key that the test before has left it."""
    lasting.online()
    return lasting


def test_a_session_reports_and_runs_commands(agent):
    seen = until(lambda: agent.seen() if agent.seen()["metrics"]["disks"] else None, what="a report")
    assert seen["status"] == "online"
    assert seen["connected"]
    assert seen["agent_node"]
    assert 0 <= seen["metrics"]["mem_percent"] <= 100
    record = agent.finished(agent.ask("echo hi; echo oh >&2; exit 3"))
    assert (record["status"], record["exit_code"]) == ("failed", 3)
    assert "hi\n" in record["output"]
    assert record["started_at"]
    manifest = until(lambda: agent.seen()["capabilities"], what="capabilities")
    assert manifest["capabilities"]["sh"]["usable"]


def test_a_command_waits_for_an_offline_agent(agent):
    agent.stop()
    until(lambda: not agent.seen()["connected"], what="the session's end")
    asked = agent.ask("echo late")
    agent.start()
    assert agent.finished(asked)["output"] == "late\n"


def test_cancel_stops_what_runs(agent):
    asked = agent.ask("sleep 60")
    until(lambda: agent.command(asked)["status"] == "running", what="running")
    agent.server.admin.delete(f"{agent.path}/commands/{asked}")
    assert agent.finished(asked)["status"] == "cancelled"


def test_a_rotated_key_ends_the_session_at_once(agent):
    """Not with the agent's next message: it stands still, and says nothing any more. And not because it is silent."""
    before = len(ends_of(agent))
    os.kill(agent.process.pid, signal.SIGSTOP)
    try:
        new = agent.server.admin.post(f"{agent.path}/key")["key"]
        until(lambda: not agent.seen()["connected"], 5, what="the session's end")
        [told] = until(lambda: ends_of(agent)[before:], what="the line in the log")
        assert "the key was replaced or revoked" in told
    finally:
        os.kill(agent.process.pid, signal.SIGCONT)
    agent.stop()
    agent.key = new
    agent.write_key()
    agent.start()
    agent.online()


def ends_of(agent):
    """What the log says of the ends of its sessions."""
    whole, _, _ = agent.server.log.read_text().rpartition("\n")
    return [line for line in whole.splitlines() if f"session ends agent={agent.id}" in line]


def test_an_agent_that_hangs_is_offline_long_before_its_next_report_is_due(tmp_path):
    """It answers no ping. One that is stopped says so; one that is killed has its two intervals."""
    with Serve(tmp_path / "serve", config={"agents": {"report_interval_s": 3600}}) as serve:
        with EnrolledAgent(tmp_path / "agent", serve) as agent:
            agent.online()
            os.kill(agent.process.pid, signal.SIGSTOP)
            try:
                until(lambda: agent.seen()["status"] == "offline", 60, what="the agent being offline")
            finally:
                os.kill(agent.process.pid, signal.SIGCONT)
            agent.online()
            agent.kill()
            until(lambda: not agent.seen()["connected"], what="the session's end")
            assert (agent.seen()["status"], agent.seen()["stopped_at"]) == ("online", None), "that is no goodbye"
            agent.start()
            agent.online()
            agent.stop()
            seen = until(lambda: agent.seen() if agent.seen()["stopped_at"] else None, what="its goodbye")
            assert (seen["status"], seen["unheard"], seen["connected"]) == ("offline", True, False)
            agent.start()
            agent.online()
            assert (agent.seen()["status"], agent.seen()["stopped_at"]) == ("online", None)


def test_a_revoked_key_ends_the_session_and_a_new_one_begins_again(agent):
    admin = agent.server.admin
    assert admin.delete(f"{agent.path}/key") == {"status": "revoked"}
    until(lambda: not agent.seen()["connected"], 5, what="the session's end")
    answer = agent.server.client().request("POST", f"{agent.path}/report", {}, {"X-Agent-Key": agent.key})
    assert answer.status == 401
    assert admin.delete(f"{agent.path}/key") == {"status": "revoked"}
    agent.key = admin.post(f"{agent.path}/key")["key"]
    agent.write_key()
    agent.online()


def test_a_deleted_agent_is_cut_off_and_stops_what_it_runs(serve, tmp_path):
    with EnrolledAgent(tmp_path / "agent", serve) as agent:
        agent.online()
        asked = agent.ask(f"trap '' HUP; sleep 300 & echo $! > {tmp_path}/pid; wait")
        until(lambda: agent.command(asked)["status"] == "running", what="running")
        pid = int(until(lambda: written(tmp_path / "pid", "the process' number").strip(), what="all of it"))
        agent.server.admin.delete(agent.path)
        until(lambda: not is_alive(pid), what="the end of what it ran")
        until(lambda: "the server does not accept this agent's key" in agent.told(), what="the agent being told")


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_protected_processes_of_the_configuration_reach_agents_with_a_session_and_without(tmp_path):
    config = {**FAST, "healing": {"protected": {"processes": ["ourdb"]}}}
    with contextlib.ExitStack() as running:
        serve = running.enter_context(Serve(tmp_path / "serve", config=config))
        ways = {"session": True, "polling": False}
        agents = [EnrolledAgent(tmp_path / name, serve, name, websocket=way) for name, way in ways.items()]
        kept = [running.enter_context(agent).state / "protected.json" for agent in agents]
        until(lambda: texts(kept) == ['["ourdb"]'] * 2, 30, what="the names at the agents")
        serve.config.write_text(yaml.safe_dump({**FAST, "healing": {"protected": {"processes": ["other"]}}}))
        serve.child.send_signal(signal.SIGHUP)
        until(lambda: texts(kept) == ['["other"]'] * 2, 30, what="the new names at the agents")


def test_an_agent_that_may_only_poll_works_too(serve, tmp_path):
    with EnrolledAgent(tmp_path / "agent", serve, websocket=False) as agent:
        until(lambda: agent.seen()["status"] == "online", what="a report")
        record = agent.finished(agent.ask("echo polled"))
        assert (record["output"], agent.seen()["connected"]) == ("polled\n", False)
        agent.stop()
        seen = until(lambda: agent.seen() if agent.seen()["stopped_at"] else None, what="its goodbye")
        assert seen["status"] == "offline"
        agent.start()
        until(lambda: agent.seen()["status"] == "online" and agent.seen()["stopped_at"] is None, what="its return")


def test_the_install_script_asks_the_server_before_it_replaces_a_key(serve, tmp_path):
    made = serve.admin.post("/api/agents", {"label": "installed"}, expect=201)
    root, path = tmp_path / "root", f"/api/agents/{made['agent_id']}"

    def install(key, server=serve.url):
        variables = {"PATH": os.environ["PATH"], "OPSAPP_INIT": "systemd", "OPSAPP_AGENT_KEY": key}
        text = script(server, made["agent_id"], "", "root")
        program = tmp_path / "agent.pyz"
        program.write_bytes(agent_file().data)
        variables["OPSAPP_AGENT_FILE"] = str(program)
        arguments = ["sh", "-s", "--", "--root", str(root)]
        return subprocess.run(arguments, input=text, env=variables, capture_output=True, text=True, timeout=60)

    def files():
        return {str(file): file.read_bytes() for file in root.rglob("*") if file.is_file()}

    assert install(made["key"]).returncode == 0
    (root / "usr/local/lib/opsapp-agent/opsapp-agent.pyz").write_bytes(b"an older one")
    before = files()
    for wrong in (install("0" * 64), install("0" * 64, server="http://127.0.0.1:1")):
        assert wrong.returncode == 1
        assert "did not take a report with this id and key; the agent that is here was left as it was" in wrong.stderr
        assert files() == before
    assert serve.admin.get(path)["status"] == "pending", "nothing was sent for a first key, nor for a wrong one"
    rotated = serve.admin.post(f"{path}/key")["key"]
    assert install(rotated).returncode == 0
    assert (root / "etc/opsapp-agent/key").read_text() == rotated + "\n"
    assert serve.admin.get(path)["status"] == "online"
