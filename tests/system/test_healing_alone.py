"""The service away: a real agent heals alone under the policies that it was given, and the ledger learns of it once."""

import pytest

from tests.support.agent_process import EnrolledAgent
from tests.support.process import Serve
from tests.support.waiting import until

pytestmark = [pytest.mark.system, pytest.mark.crash]


def config(place):
    return {
        "agents": {"report_interval_s": 0.5},
        "healing": {
            "default_rules": False,
            "hold_s": 0.1,
            "offline_policies": {"offline_after_s": 5.0},
            "rules": [
                {
                    # It always holds and is never cured: the service heals once an hour, and so does the agent alone.
                    "id": "clean",
                    "condition": "disk_percent >= 0",
                    "initial_level": "notify",
                    "cooldown_s": 3600,
                    "settle_s": 0,
                    "verify_timeout_s": 1,
                    "action": {"type": "temp_cleanup", "params": {"path": str(place), "max_age_hours": 24}},
                }
            ],
        },
    }


def test_killed_the_agent_heals_alone_and_back_the_ledger_has_it_exactly_once(tmp_path):
    place = tmp_path / "rubbish"
    place.mkdir()
    with Serve(tmp_path / "server", config(place)) as server:
        with EnrolledAgent(tmp_path / "agent", server, interval_s=0.5) as agent:
            agent.online()
            server.admin.post("/api/healing/trust/clean/promote", {"level": "execute"})
            kept = agent.state / "policies.json"
            until(lambda: kept.exists() and '"clean"' in kept.read_text(), 30, what="the policies")

            def entries(source):
                rows = server.admin.get("/api/healing/ledger?rule_id=clean&limit=100")
                return [row for row in rows if row["source"] == source and row["state"] == "final"]

            [own] = until(lambda: [row for row in entries("alert") if row["action_type"]], 30, what="its own heal")
            done = agent.state / "outcomes.jsonl"
            server.kill()
            until(lambda: done.exists() and '"did":"done"' in done.read_text(), 30, what="the agent's heal")
            server.start()
            [entry] = until(lambda: entries("agent"), 30, what="the agent's outcome in the ledger")
            assert (entry["action_type"], entry["outcome"], entry["action_success"]) == ("temp_cleanup", "failed", 1)
            assert entry["reason"] == "the condition still holds"
            reported = agent.seen()["last_seen"]
            until(lambda: agent.seen()["last_seen"] > reported + 2, 30, what="more reports")
            assert [row["id"] for row in entries("agent")] == [entry["id"]]
            assert own["id"] < entry["id"]
            assert entry["created_at"] <= agent.seen()["last_seen"], "it was done before the agent was heard again"
            assert server.admin.get("/api/healing/ledger/verify")["valid"]
