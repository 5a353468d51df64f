"""kill -9 of the agent at seeded points while commands append to a file: each at most once, each with one result."""

import random
import time

import pytest

from tests.support.agent_process import AgentProcess
from tests.support.agent_server import AgentServer
from tests.support.waiting import until
from tests.system.test_agents import is_alive

pytestmark = pytest.mark.system
NIGHTLY = pytest.mark.nightly("the core list has three seeds")
SEEDS = [*range(3), *(pytest.param(seed, marks=NIGHTLY) for seed in range(3, 15))]
SEEDS += [*(pytest.param(seed, marks=pytest.mark.soak) for seed in range(15, 200))]


@pytest.fixture
def server():
    made = AgentServer(interval=0.5)
    yield made
    made.stop()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_killed_agent_runs_nothing_twice_and_loses_no_result(seed, server, tmp_path):
    dice = random.Random(seed)
    server.websocket = seed % 3 != 2  # every third one by polling
    marker = tmp_path / "marker"
    agent = AgentProcess(tmp_path, server).start()
    names = []
    try:
        until(lambda: server.reports, 30)
        for _ in range(3):
            for _ in range(dice.randrange(1, 6)):
                names.append(
                    server.command(
                        "shell",
                        command=(
                            f"sleep {dice.choice((0, 0, 0.05, 0.2))}; echo $N >> {marker}; "
                            f"sleep {dice.choice((0, 0, 0.1))}"
                        ),
                        env={"N": f"n{len(names)}"},
                    )
                )
            time.sleep(dice.uniform(0, 0.6))  # the seeded point of the kill
            agent.kill()
            agent.start()
        until(lambda: all(server.result(name) for name in names), 60, what=f"all of {len(names)} results")
    finally:
        agent.kill()
    lines = marker.read_text().split() if marker.exists() else []
    assert len(lines) == len(set(lines)), "a command ran twice"
    for number, name in enumerate(names):
        statuses = {one["status"] for one in server.results if one["command_id"] == name}
        assert len(statuses) == 1, f"{name} ended in two ways: {statuses}"
        assert statuses <= {"done", "lost"}
        if statuses == {"done"}:
            assert f"n{number}" in lines


def test_what_a_killed_agent_left_running_is_stopped(server, tmp_path):
    marker = tmp_path / "marker"
    agent = AgentProcess(tmp_path, server).start()
    try:
        agent.online()
        name = server.command("shell", command=f"echo $$ >> {marker}; while :; do sleep 0.05; done", timeout=3600)
        until(lambda: marker.exists() and marker.read_text().endswith("\n"), what="the command under way")
        pid = int(marker.read_text())
        assert is_alive(pid)
        agent.kill()
        agent.start()
        result = until(lambda: server.result(name), 30)
        assert result["status"] == "lost"
        assert "stopped" in result["reason"]
        until(lambda: not is_alive(pid), what="the end of what it ran")
    finally:
        agent.kill()


def test_an_accepted_command_survives_the_kill_and_runs(server, tmp_path):
    agent = AgentProcess(tmp_path, server, busy_limit=1).start()
    try:
        agent.online()
        first = server.command("shell", command="sleep 60")
        until(lambda: first in server.acked)
        second = server.command("shell", command="echo second")
        until(lambda: second in server.acked)
        agent.kill()
        agent.start()
        assert until(lambda: server.result(second), 30)["output"] == "second\n"
        assert server.result(first)["status"] == "lost"
    finally:
        agent.kill()
