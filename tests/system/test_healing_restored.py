"""After a restore, or on a copy of the store's files, hosts are healed as before: they can tell that it is the latest
service of this store."""

import shutil

import pytest

from tests.support.agent_process import EnrolledAgent
from tests.support.process import Serve, opsapp
from tests.support.waiting import until

pytestmark = [pytest.mark.system, pytest.mark.files("backups and copies of an embedded store's files")]


def config(place):
    rule = {
        # It always holds and is never cured, so that the service acts again whenever the cooldown is over.
        "id": "clean",
        "condition": "disk_percent >= 0",
        "initial_level": "notify",
        "cooldown_s": 1,
        "settle_s": 0,
        "verify_timeout_s": 5,
        "action": {"type": "temp_cleanup", "params": {"path": str(place), "max_age_hours": 24}},
    }
    rates = {"fleet": 10000, "site": 10000, "rule": 10000}
    return {
        "agents": {"report_interval_s": 0.5},
        "healing": {
            "default_rules": False,
            "hold_s": 0.1,
            "absorption_window_s": 1,
            "breaker": {"failures": 100},
            "change": {"threshold": 1e9},
            "skip": {"rate": 0},
            "brake": {"max_heals_per_hour": rates, "max_unhealthy_percent": 100},
            "offline_policies": {"enabled": False},
            "rules": [rule],
        },
    }


@pytest.fixture
def place(tmp_path):
    found = tmp_path / "rubbish"
    found.mkdir()
    return found


def acted(server):
    """The rule's final entries that an agent was asked for."""
    rows = server.admin.get("/api/healing/ledger?rule_id=clean&limit=1000")
    return [row for row in rows if row["state"] == "final" and row["action_type"]]


def heal(server):
    """The host does what the next heal asks of it."""
    before = max((row["id"] for row in acted(server)), default=0)
    done = until(lambda: [row for row in acted(server) if row["id"] > before], 60, what="a heal")
    assert [row["reason"] for row in done if not row["action_success"]] == []


@pytest.mark.nightly("the core list has the copy of a store")
def test_restored_the_service_heals_the_hosts_that_have_seen_newer_heals(tmp_path, place):
    server, copy = Serve(tmp_path / "server", config(place)), tmp_path / "copy"
    with server, EnrolledAgent(tmp_path / "agent", server, interval_s=0.5) as agent:
        agent.online()
        server.admin.post("/api/healing/trust/clean/promote", {"level": "execute"})
        heal(server)
        assert opsapp("backup", copy, "--data", server.data).returncode == 0
        for _ in range(3):  # each start has a newer token, which the host remembers
            server.stop()
            server.start()
            agent.online()
            heal(server)
        server.stop()
        assert opsapp("restore", copy, "--data", server.data).returncode == 0
        server.start()
        agent.online()
        heal(server)
        assert not [row for row in acted(server) if "stale_token" in row["reason"]]


def test_a_copy_of_the_files_in_another_place_heals_them_too(tmp_path, place):
    first = Serve(tmp_path / "server", config(place))
    with first, EnrolledAgent(tmp_path / "agent", first, interval_s=0.5) as agent:
        agent.online()
        first.admin.post("/api/healing/trust/clean/promote", {"level": "execute"})
        heal(first)
        first.stop()
        shutil.copytree(first.data, tmp_path / "copied")
        for _ in range(2):
            first.start()
            agent.online()
            heal(first)
            first.stop()
        with Serve(tmp_path / "moved", config(place), port=first.port, data=tmp_path / "copied") as second:
            agent.server = second
            agent.online()
            heal(second)
            assert not [row for row in acted(second) if "stale_token" in row["reason"]]
