"""kill -9 of server and agent at seeded points while commands append to a file: each id at most once, each ends."""

import random
import time

import pytest

from tests.support.agent_process import EnrolledAgent
from tests.support.client import Refused
from tests.support.process import Serve

pytestmark = pytest.mark.system
NIGHTLY = pytest.mark.nightly("the core list has one seed")
RUNS = [(2, 7, False), pytest.param(1, 8, True, marks=NIGHTLY)]  # 15 points in all; `make soak` kills 200 times
RUNS += [pytest.param(seed, 20, seed % 3 != 0, marks=pytest.mark.soak) for seed in range(3, 13)]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(("seed", "kills", "websocket"), RUNS)
def test_no_command_runs_twice_and_each_comes_to_an_end(seed, kills, websocket, tmp_path):
    dice = random.Random(seed)
    lines, asked = tmp_path / "lines", {}
    config = {"agents": {"report_interval_s": 0.5}}
    with Serve(tmp_path / "serve", config=config) as serve:
        with EnrolledAgent(tmp_path / "agent", serve, websocket=websocket) as agent:
            for _ in range(kills):
                for _ in range(dice.randrange(1, 5)):
                    word = f"w{len(asked)}"
                    asked[word] = agent.ask(f"sleep {dice.choice((0, 0, 0.1))}; echo {word} >> {lines}; sleep 0.02")
                time.sleep(dice.uniform(0, 0.5))  # the seeded point of the kill
                victim = dice.choice((agent, serve))
                victim.kill()
                victim.start()
            ends = {word: agent.finished(command, 90)["status"] for word, command in asked.items()}
    written = lines.read_text().split() if lines.exists() else []
    assert len(written) == len(set(written)), "a command ran twice"
    assert set(ends.values()) <= {"done", "lost"}
    assert {word for word, end in ends.items() if end == "done"} <= set(written)
    assert "done" in ends.values()


def test_an_answer_that_was_given_survives_the_kill(tmp_path):
    """What the API accepted is there after the kill, to the last one."""
    with Serve(tmp_path / "serve") as serve:
        made = serve.admin.post("/api/agents", {"label": "away"})["agent_id"]
        path = f"/api/agents/{made}/commands"
        accepted = [
            serve.admin.post(path, {"type": "shell", "params": {"command": str(n)}})["command_id"] for n in range(20)
        ]
        serve.kill()
        serve.start()
        assert {record["command_id"] for record in serve.admin.get(path)} == set(accepted)
        with pytest.raises(Refused):
            serve.admin.get(f"{path}/nothing")
