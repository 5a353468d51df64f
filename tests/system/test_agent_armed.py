"""Armed actions by the real agent program, over a fake nft that keeps its rules in a file: confirmed they stay, else
they go, whoever is killed when; and no rule is ever made twice."""

import os
import random
import time

import pytest

from tests.support.agent_process import AgentProcess
from tests.support.agent_server import AgentServer
from tests.support.waiting import until

pytestmark = pytest.mark.system
NIGHTLY = pytest.mark.nightly("the core list has three seeds")
SEEDS = [*range(3), *(pytest.param(seed, marks=NIGHTLY) for seed in range(3, 15))]
SEEDS += [*(pytest.param(seed, marks=pytest.mark.soak) for seed in range(15, 200))]
RULE = {"direction": "in", "action": "drop", "protocol": "tcp", "port": 4444}
LATER_RULE = {**RULE, "port": 4445}
NFT = """#!/bin/sh
cd {place}
echo "$*" >> calls
sleep 0.05
case "$*" in
  "add rule"*|"insert rule"*) echo "$* # handle $(wc -l < calls)" >> rules;;
  "--handle list "*) echo 'table inet opsapp {{'; echo ' chain input {{'; cat rules 2>/dev/null; echo '}} }}';;
  "delete rule"*) for last; do :; done; grep -v "# handle $last\\$" rules > kept; mv kept rules;;
esac
exit 0
"""


@pytest.fixture
def server():
    made = AgentServer(interval=0.5)
    yield made
    made.stop()


class Wall:
    """The fake firewall."""

    def __init__(self, directory):
        self.place = directory / "wall"
        self.place.mkdir()
        for name, text in (
            ("nft", NFT.format(place=self.place)),
            ("ufw", "#!/bin/sh\nexit 1\n"),
            ("firewall-cmd", "#!/bin/sh\nexit 1\n"),
        ):
            (self.place / name).write_text(text)
            (self.place / name).chmod(0o755)

    def rules(self):
        path = self.place / "rules"
        return path.read_text().splitlines() if path.exists() else []

    def calls(self):
        path = self.place / "calls"
        return path.read_text().splitlines() if path.exists() else []

    def added(self, port=""):
        """How many rules it was given, also those that are gone again."""
        return sum(call.startswith(("add rule", "insert rule")) and port in call for call in self.calls())

    def removed(self):
        return sum(call.startswith("delete rule") for call in self.calls())


@pytest.fixture
def wall(tmp_path, monkeypatch):
    made = Wall(tmp_path)
    monkeypatch.setenv("PATH", f"{made.place}:{os.environ['PATH']}")
    return made


@pytest.fixture
def agent(tmp_path, server, wall):
    with AgentProcess(tmp_path, server) as made:
        made.online()
        yield made


def ask(server, phase, heal_id="h1", rule=RULE, **more):
    params = {"rule": rule} if phase != "rollback" else {}
    return server.command(
        "heal", heal_id=heal_id, token=1, phase=phase, action_type="firewall_rule_add", params=params, **more
    )


def heal(server, phase, heal_id="h1", rule=RULE, **more):
    name = ask(server, phase, heal_id, rule, **more)
    return until(lambda: server.result(name), 60, what=f"{phase} of {heal_id}")


def the_timer_passes(server, wall, arm_s):
    """Until an action that was armed later, for as long, is undone: the time of whatever was armed before it is over
    too."""
    assert heal(server, "execute", "later", LATER_RULE, arm_s=arm_s, timeout=20)["status"] == "done"
    assert wall.added("4445") == 1
    until(lambda: not [rule for rule in wall.rules() if "4445" in rule], 30, what="the later rule being gone")


def test_what_nobody_confirms_is_undone(server, agent, wall):
    done = heal(server, "execute", arm_s=1, timeout=20)
    assert (done["status"], done["data"]["armed_s"]) == ("done", 1)
    assert wall.added() == 1
    until(lambda: wall.rules() == [], 30, what="the rule being gone")
    late = heal(server, "confirm")
    assert (late["status"], late["data"]["kept"]) == ("failed", False)
    assert late["reason"].startswith("undone")


@pytest.mark.parametrize("websocket", [True, False], ids=["session", "polling"])
def test_what_is_confirmed_stays(server, wall, tmp_path, websocket):
    server.websocket = websocket
    with AgentProcess(tmp_path, server):
        until(lambda: server.reports, 30)
        assert heal(server, "execute", arm_s=8, timeout=20)["status"] == "done"
        kept = heal(server, "confirm")
        assert (kept["status"], kept["data"]) == (
            "done",
            {"phase": "confirm", "action_type": "firewall_rule_add", "armed": False, "kept": True},
        )
        the_timer_passes(server, wall, arm_s=8)
        assert len(wall.rules()) == 1


def test_what_is_rolled_back_is_not_undone_again(server, agent, wall):
    done = heal(server, "execute", arm_s=30, timeout=20)
    back = heal(server, "rollback", snapshot=done["data"]["snapshot"])
    assert (back["status"], back["data"]["restored"]) == ("done", True)
    assert wall.rules() == []
    assert heal(server, "confirm")["data"]["state"] == "undone"


def test_it_is_undone_after_a_restart_too(server, agent, wall):
    ask(server, "execute", arm_s=2, timeout=20)
    until(wall.rules, 30, what="the rule")  # and not its result: the time runs from here
    agent.kill()
    assert wall.removed() == 0
    agent.start()
    until(lambda: wall.rules() == [], 30, what="the rule being gone")


@pytest.mark.crash
@pytest.mark.parametrize("seed", SEEDS)
def test_kill_9_at_any_point_neither_doubles_nor_forgets(seed, server, wall, tmp_path):
    dice = random.Random(seed)
    server.websocket = seed % 3 != 2
    confirms = seed % 2 == 0
    agent = AgentProcess(tmp_path, server).start()
    try:
        until(lambda: server.reports, 30)
        name = ask(server, "execute", arm_s=2, timeout=6)
        time.sleep(dice.uniform(0, 0.7))  # the seeded point of the kill
        agent.kill()
        agent.start()
        done = until(lambda: server.result(name), 60, what="the result of the action")
        assert done["status"] in ("done", "lost"), done
        kept = None
        if confirms:
            second = ask(server, "confirm")
            time.sleep(dice.uniform(0, 0.4))  # the seeded point of the kill
            agent.kill()
            agent.start()
            kept = until(lambda: server.result(second), 60, what="the result of the confirmation")
        added = wall.added()
        assert added <= 1, "the rule was made twice"
        if kept and kept["status"] == "done" and kept["data"]["kept"]:
            the_timer_passes(server, wall, arm_s=2)
            assert len(wall.rules()) == added
            added += 1
        elif kept is None or kept["status"] == "failed":
            until(lambda: wall.rules() == [], 30, what="the rule being gone")
        else:
            state = "".join(path.read_text() for path in (tmp_path / "state/armed").iterdir())
            assert kept["status"] == "lost" or added == 0, (kept, state)
            if '"confirmed"' not in state:
                until(lambda: wall.rules() == [], 30, what="the rule being gone")
    finally:
        agent.kill()
    assert wall.added() == added
