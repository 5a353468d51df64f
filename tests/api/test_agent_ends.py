"""What is old and what is gone: spooled reports become history and nothing else; of a deleted agent nothing stays."""

import pytest

from opsapp.agents import resources
from opsapp.runtime import serieswork
from tests.api.test_agents import Polling

OUTCOME = {"outcome_id": "o1", "rule_id": "r", "outcome": "verified", "created_at": 1.0}


@pytest.fixture
def box(service):
    return Polling(service)


def points(service, box):
    serieswork.flush(service.node)
    serieswork.follow(service.node)
    return {row["time"]: row.get("cpu_percent") for row in service.vera.get(f"{box.path}/metrics?range_h=2").json}


def test_a_spooled_report_becomes_history_and_nothing_else(service, box):
    now = int(service.clock.now()) // 60 * 60
    box.report(cpu_percent=10, services={"nginx": "active"})
    before = box.seen()
    old = {"reason": "spooled", "time": now - 1800.0, "cpu_percent": 90, "hostname": "as-it-was", "os": "Debian 11"}
    assert box.report(**old, services={"nginx": "failed"})["status"] == "ok"
    seen = box.seen()
    assert {key: seen[key] for key in ("hostname", "os", "metrics", "ip")} == {
        key: before[key] for key in ("hostname", "os", "metrics", "ip")
    }
    live = service.node.series.live.get(f"agent:{box.id}")
    assert (live["cpu_percent"][0], live["service.nginx.state"][0]) == (10, "active")
    found = points(service, box)
    assert found[now - 1800] == 90
    assert max(found) >= now


def test_a_spooled_report_that_does_not_say_when_is_no_measurement(service, box):
    box.report(cpu_percent=10)
    box.report(reason="spooled", cpu_percent=90)
    assert set(points(service, box).values()) == {10}


def test_of_a_deleted_agent_nothing_stays(service, box):
    other = Polling(service, label="other")
    for one in (box, other):
        one.report(services={"nginx": "active"}, outcomes=[OUTCOME])
    command = box.ask("sleep 60")
    numbers = service.read(lambda root: set(root["api"]["agents"][box.id].series.values()))
    assert numbers
    assert points(service, box)
    service.ada.delete(box.path)
    for path in (box.path, f"{box.path}/metrics", f"{box.path}/commands", f"{box.path}/commands/{command}"):
        service.vera.get(path, status=404)
    assert [row["id"] for row in service.vera.get("/api/agents").json] == [other.id]
    assert service.node.series.live.get(f"agent:{box.id}") == {}
    assert service.transact(lambda root: [outcome.agent_id for outcome in resources.take_outcomes(root)]) == [other.id]
    assert service.read(resources.with_open_commands) == []
    box.report(status=401)


def test_the_metrics_page_counts_agents(service, box):
    box.report()
    text = service.vera.get("/metrics").text
    service.vera.get("/api/agents")
    text = service.vera.get("/metrics").text
    assert 'opsapp_agents{status="online"} 1.0' in text
    assert 'opsapp_agent_reports_total{kind="live"} 1.0' in text
    assert "opsapp_agent_sessions 0.0" in text
