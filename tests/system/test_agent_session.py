"""The real agent program against a real server: sessions, polling, commands, cancel, time-outs."""

import json
import pathlib
import time

import pytest

from opsapp.agent.spool import Spool
from opsapp.wire.fields import dumps
from opsapp.wire.frames import CLOSE_STOPPED
from opsapp.wire.reports import HostReport
from tests.support.agent_process import AgentProcess, oldest_python
from tests.support.proctexts import texts
from tests.support.waiting import until
from tests.system.test_agents import is_alive

pytestmark = pytest.mark.system


@pytest.fixture
def agent(tmp_path, server):
    with AgentProcess(tmp_path, server) as made:
        yield made


def test_what_was_spooled_comes_whole_and_in_order(server, tmp_path):
    """And no faster than a server takes it: tests/unit/test_agent_spooled.py."""
    agent = AgentProcess(tmp_path, server)
    agent.state.mkdir(mode=0o700)
    spool, now = Spool(str(agent.state), 2**20), time.time()
    for number in range(200):
        spool.keep(HostReport("h", "x", time=now - 60 * (200 - number)))
    spool.close()
    spooled = lambda: [report for report in server.reports if report["reason"] == "spooled"]  # noqa: E731
    with agent:
        until(lambda: len(spooled()) == 200, 30, what="all that was spooled")
    times = [report["time"] for report in spooled()]
    assert times == sorted(set(times))


def test_an_agent_with_nothing_to_do_rests(server, agent):
    """Each waking costs power on somebody's host: one look at an empty spool is not a reason for the next."""
    agent.online()
    until(lambda: [one for one in server.reports if one["capabilities"]], 30, what="the look at the host's tools")
    before, reports = switches(agent.process.pid), len(server.reports)
    until(lambda: len(server.reports) >= reports + 3, 30, what="three reports, one in each second")
    woken = switches(agent.process.pid) - before
    assert woken < 100 * (len(server.reports) - reports)  # thousands where it does not rest


def switches(pid):
    """How often the threads of a process gave up the processor by themselves."""
    told = texts(pathlib.Path(f"/proc/{pid}/task").glob("*/status"))
    return sum(int(text.partition("\nvoluntary_ctxt_switches:")[2].split()[0]) for text in told)


def finished(server, name, timeout=20):
    return until(lambda: server.result(name), timeout, what=f"result of {name}")


def test_it_says_hello_and_reports(server, agent):
    agent.online()
    report = until(lambda: server.reports and server.reports[-1])
    assert report["hostname"]
    assert report["os"]
    assert 0 <= report["mem_percent"] <= 100
    assert report["disks"]["/"] > 0
    assert report["uptime_s"] > 0
    assert server.hellos[0]["held"] == []
    until(lambda: [one for one in server.reports if one["capabilities"]], 30, what="the capability manifest")
    manifest = next(one["capabilities"] for one in server.reports if one["capabilities"])
    assert len(manifest["capabilities"]) >= 30
    assert manifest["capabilities"]["sh"] == {"available": True, "usable": True, "version": None}
    until(lambda: any(one["cpu_percent"] is not None for one in server.reports))


def test_a_capabilities_command_answers_with_the_manifest_it_made(standing):
    server = standing.server
    result = finished(server, server.command("capabilities"), 90)
    assert result["status"] == "done"
    assert json.loads(result["output"]) == result["data"]
    assert result["data"]["capabilities"]["sh"]["usable"] is True


def test_a_shell_command_runs_and_its_result_comes_once(standing):
    server = standing.server
    name = server.command("shell", command="echo out; echo err >&2; exit 3")
    result = finished(server, name)
    assert (result["status"], result["exit_code"], result["truncated"]) == ("failed", 3, False)
    assert sorted(result["output"].split()) == ["err", "out"]
    assert result["started_at"] <= result["finished_at"]
    assert name in server.acked
    until(lambda: any(one["command_id"] == name for one in server.outputs), what="live output")
    assert len([one for one in server.results if one["command_id"] == name]) == 1


def test_secrets_of_the_agent_do_not_reach_its_commands(standing):
    server = standing.server
    result = finished(server, server.command("shell", command="env", env={"GIVEN": "yes"}))
    assert "OPSAPP" not in result["output"]
    assert "GIVEN=yes" in result["output"]


def test_the_time_out_ends_the_whole_group(standing, tmp_path):
    server = standing.server
    marker = tmp_path / "marker"
    name = server.command(
        "shell", command=f"sh -c 'trap \"\" TERM; echo $$ > {marker}; while :; do sleep 0.1; done' & wait", timeout=5
    )
    until(lambda: marker.exists() and marker.read_text().endswith("\n"), what="the child under way")
    child = int(marker.read_text())
    assert is_alive(child)
    assert finished(server, name)["status"] == "timeout"
    until(lambda: not is_alive(child), what="the end of a child that does not listen to TERM")


def test_cancel_ends_a_running_command(standing):
    server = standing.server
    name = server.command("shell", command="echo begun; sleep 60")
    until(lambda: any(one["command_id"] == name for one in server.outputs))
    server.cancel(name)
    result = finished(server, name)
    assert result["status"] == "cancelled"
    assert result["output"] == "begun\n"


def test_a_daemon_left_behind_does_not_hold_the_result_up(standing, tmp_path):
    """It keeps the command's output open, until it is let go."""
    server = standing.server
    daemon = f"(while [ ! -e {tmp_path}/let_go ]; do sleep 0.1; done; touch {tmp_path}/over) &"
    result = finished(server, server.command("shell", command=f"{daemon} echo started", timeout=3600))
    assert (result["status"], result["output"]) == ("done", "started\n")
    assert not (tmp_path / "over").exists()
    (tmp_path / "let_go").touch()
    until((tmp_path / "over").exists, what="the daemon's end")


def test_large_output_is_cut_and_flagged(standing):
    server = standing.server
    result = finished(server, server.command("shell", command="head -c 3000000 /dev/zero | tr '\\0' x"))
    assert result["truncated"] is True
    assert len(result["output"]) == 1024 * 1024
    assert result["status"] == "done"


def test_a_script_goes_to_its_interpreter(standing):
    server = standing.server
    result = finished(
        server, server.command("shell", command="import sys\nprint(sys.argv[0][-7:], '$HOME')", interpreter="python3")
    )
    assert result["output"] == ".script $HOME\n"


def test_commands_from_the_future_fail_plainly(standing):
    server = standing.server
    standing.online()
    sessions = len(server.hellos)
    server.offer({"command_id": "f1", "type": "teleport", "params": {}})
    server.offer({"command_id": "f2", "type": "shell", "params": {"command": "id", "on_mars": True}})
    assert "bad_params" in finished(server, "f1")["reason"]
    assert "on_mars" in finished(server, "f2")["reason"]
    assert len(server.hellos) == sessions


def test_the_process_list_and_logs_are_there(standing, tmp_path):
    server = standing.server
    listed = finished(server, server.command("process_list", sort="memory", limit=5))
    assert len(listed["data"]["processes"]) == 5
    log = tmp_path / "app.log"
    log.write_text("".join(f"line {number}\n" for number in range(50)))
    read = finished(server, server.command("logs", source="file", path=str(log), lines=2))
    assert read["output"] == "line 48\nline 49\n"
    secret = finished(server, server.command("logs", source="file", path="/etc/shadow"))
    assert (secret["status"], secret["output"]) == ("failed", "")
    assert secret["reason"].startswith("not_allowed")


def test_an_id_that_comes_again_runs_nothing(standing, tmp_path):
    server = standing.server
    marker = tmp_path / "marker"
    name = server.command("shell", command=f"echo x >> {marker}")
    finished(server, name)
    command = {"command_id": name, "type": "shell", "params": {"command": f"echo again >> {marker}"}}
    server.offer(command)
    until(lambda: len([one for one in server.results if one["command_id"] == name]) == 2)
    assert server.results[-1]["status"] == "lost"
    assert marker.read_text() == "x\n"


def test_without_websocket_everything_goes_by_polling(server, tmp_path):
    server.websocket, server.interval = False, 0.3
    with AgentProcess(tmp_path, server):
        until(lambda: len(server.reports) >= 2, 30)
        name = server.command("shell", command="echo polled")
        result = finished(server, name)
        assert result["output"] == "polled\n"
        until(lambda: server.reports[-1]["held"] == [], what="a report without held commands")
        huge = server.command("shell", command="head -c 3000000 /dev/zero | tr '\\0' '\"'")
        cut = finished(server, huge)
        assert cut["truncated"] is True
        assert len(dumps(cut)) < 1024 * 1024
        slow = server.command("shell", command="sleep 60")
        until(lambda: slow in server.acked)
        server.cancel(slow)
        assert finished(server, slow)["status"] == "cancelled"


def test_a_session_comes_back_when_websocket_does(server, tmp_path):
    server.websocket, server.interval = False, 0.3
    with AgentProcess(tmp_path, server) as agent:
        until(lambda: server.reports)
        server.websocket = True
        agent.online(60)


def test_results_wait_until_they_are_thanked_for(server, agent):
    agent.online()
    server.thank = False
    name = server.command("shell", command="echo kept")
    finished(server, name)
    server.thank = True
    server.drop()
    until(lambda: len(server.hellos) >= 2)
    assert {"command_id": name, "state": "finished"} in server.hellos[1]["held"]
    until(lambda: len([one for one in server.results if one["command_id"] == name]) >= 2)
    until(lambda: not list((agent.state / "results").iterdir()), what="an empty results directory")
    hellos = len(server.hellos)
    server.drop()
    until(lambda: len(server.hellos) > hellos)
    assert server.hellos[-1]["held"] == []


def test_a_server_that_goes_away_and_comes_back_gets_the_results(server, agent, tmp_path):
    agent.online()
    name = server.command("shell", command=f"while [ ! -e {tmp_path}/gate ]; do sleep 0.05; done; echo late")
    until(lambda: name in server.acked)
    server.stop()
    (tmp_path / "gate").touch()
    results = agent.state / "results"
    until(lambda: list(results.iterdir()), what="the end of the command, while nobody listens")
    server.start()
    assert finished(server, name)["output"] == "late\n"


def test_a_wrong_key_is_told_and_nothing_else_happens(server, tmp_path):
    agent = AgentProcess(tmp_path, server)
    (tmp_path / "key").write_text("wrong\n")
    with agent:
        until(lambda: ("POST", "/api/agents/a1/report", 401) in server.requests, 30)
        until(lambda: "does not accept this agent's key" in agent.told())
    assert server.reports == []


def test_a_rotated_key_is_taken_from_its_file(server, agent):
    agent.online()
    pid = agent.process.pid
    server.key = "n" * 64
    server.drop()
    until(lambda: "does not accept this agent's key" in agent.told(), 20)
    (agent.directory / "key").write_text(server.key)
    until(server.session, 20, what="a session with the new key")
    assert agent.process.pid == pid
    assert finished(server, server.command("shell", command="echo new key"))["output"] == "new key\n"


def goodbyes(server):
    """The close codes of the sessions that the agent has ended."""
    return [message["code"] for message in server.messages if message["type"] == "closed-socket"]


def test_term_ends_it_cleanly_and_the_running_command_is_told(server, agent):
    agent.online()
    name = server.command("shell", command="sleep 60")
    until(lambda: name in server.acked)
    assert agent.stop() == 0
    until(lambda: goodbyes(server) == [CLOSE_STOPPED], what="its goodbye")
    agent.start()
    result = finished(server, name)
    assert result["status"] in ("cancelled", "lost")


def test_two_agents_do_not_share_a_state(server, agent):
    agent.online()
    second = agent.run()
    assert second.returncode == 3
    assert "another agent" in second.stderr


def test_once_reports_and_leaves(server, tmp_path):
    server.websocket = False
    name = server.command("shell", command="echo once")
    done = AgentProcess(tmp_path, server).run("--once")
    assert done.returncode == 0, done.stderr
    assert server.result(name)["output"] == "once\n"


@pytest.mark.parametrize(
    "frame",
    [
        "{",
        '{"type":"nonsense"}',
        '{"type":"hello"}',
        '{"type":"command","id":"x"}',
        b"\x00",
        b"\x01" * 40,
        "[" * 60000,
        '{"type":"command","id":"x","command":{"command_id":"y","type":"shell","params":{"command":"true"}}}',
    ],
)
def test_what_cannot_be_read_ends_the_session_and_nothing_else(standing, frame):
    server, session = standing.server, standing.online()
    sessions = len(server.hellos)
    session.raw(frame)
    until(lambda: len(server.hellos) > sessions or b"\x01" in (frame if isinstance(frame, bytes) else b""))
    assert finished(server, server.command("shell", command="echo well"))["output"] == "well\n"
    assert standing.process.poll() is None


def test_it_runs_on_the_oldest_python_promised(server, tmp_path):
    python = oldest_python()
    if python is None:
        pytest.skip("no Python 3.9 on this machine")
    with AgentProcess(tmp_path, server, python=python) as agent:
        agent.online()
        assert finished(server, server.command("shell", command="echo old"))["output"] == "old\n"
        assert pathlib.Path(tmp_path / "state" / "journal.jsonl").stat().st_mode & 0o777 == 0o600
