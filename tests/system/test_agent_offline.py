"""The real agent healing alone while its server is away, and telling of it once and in order, where it polls.

With a session and the real service: test_healing_alone.py. What it may do alone: tests/unit/test_agent_offline.py.
"""

import time

import pytest

from opsapp.wire.policies import secret_of, sign
from tests.support.agent_process import AgentProcess
from tests.support.agent_server import KEY, AgentServer
from tests.support.waiting import until

pytestmark = pytest.mark.system


def signed(place, secret=None, **more):
    """Signed with this secret, or else as the service does it. There is always something to do: clean `place`. It never
    helps, so each heal ends `failed`."""
    bundle = {
        "agent_id": "a1",
        "version": 1,
        "issued_at": time.time(),
        "expires_at": time.time() + 3600,
        "offline_after_s": 1.0,
        "budget": 3,
        "policies": [
            {
                "rule_id": "disk-full",
                "condition": "disk_percent >= 0",
                "cooldown_s": 0.2,
                "settle_s": 0,
                "verify_timeout_s": 0.2,
                "steps": [{"action": "temp_cleanup", "params": {"path": str(place), "max_age_hours": 24}}],
            }
        ],
        **more,
    }
    return {"bundle": bundle, "signature": sign(bundle, secret or secret_of(KEY))}


@pytest.fixture
def server():
    made = AgentServer(interval=0.3)
    yield made
    made.stop()


@pytest.fixture
def place(tmp_path):
    made = tmp_path / "tmp"
    made.mkdir()
    return made


def heals(agent, did):
    """How many heals the agent has noted on its disk as `begun` or `done`."""
    noted = agent.state / "outcomes.jsonl"
    return noted.read_text().count(f'"did":"{did}"') if noted.exists() else 0


def test_it_heals_only_while_it_is_alone(server, place, tmp_path):
    server.websocket, server.policies = False, signed(place, offline_after_s=5.0)
    with AgentProcess(tmp_path, server, interval_s=0.5) as agent:
        until((tmp_path / "state" / "policies.json").exists, 30, what="the policies on the disk")
        count = len(server.reports)
        until(lambda: len(server.reports) > count + 8, 30)
        assert heals(agent, "begun") == 0
        assert server.outcomes == []
        server.stop()
        until(lambda: heals(agent, "done") == 3, 30, what="the heals that the budget allows")
        refused = "the heal budget is used up"
        until(lambda: agent.told().count(refused) >= 5, 30, what="turns in which it would heal once more")
        server.start()
        until(lambda: len(server.outcomes) >= 3, 30, what="the outcomes")
        count = len(server.reports)
        until(lambda: len(server.reports) > count + 3, 30)
    told = server.outcomes
    assert len(told) == 3, "the budget, and each once"
    assert [one["created_at"] for one in told] == sorted(one["created_at"] for one in told)
    assert {one["outcome"] for one in told} == {"failed"}
    assert told[0]["reason"] == "the condition still holds"
    assert told[0]["policy_version"] == 1


@pytest.mark.attack
def test_policies_signed_by_somebody_else_are_refused(server, place, tmp_path):
    """In a session, and with what the store holds of the key: tests/system/test_attack_policies.py."""
    server.websocket, server.policies = False, signed(place, secret_of("somebody else's"))
    with AgentProcess(tmp_path, server, interval_s=0.5) as agent:
        until(lambda: "not signed with this agent's key" in agent.told(), what="the refusal")
        assert not (agent.state / "policies.json").exists()


def test_a_kill_while_it_heals_alone_is_told_as_lost(server, place, tmp_path):
    slow = signed(place, budget=1)["bundle"]
    slow["policies"][0]["settle_s"] = 60
    server.policies = {"bundle": slow, "signature": sign(slow, secret_of(KEY))}
    with AgentProcess(tmp_path, server, interval_s=0.5) as agent:
        until((agent.state / "policies.json").exists, 30)
        server.stop()
        until(lambda: heals(agent, "begun"), 30, what="the heal")
        agent.kill()
        server.start()
        agent.start()
        until(lambda: server.outcomes, 30)
        assert [one["outcome"] for one in server.outcomes] == ["lost"]
