"""Monitors that are upside down: up while what they look at fails, over real sockets."""

import pytest

from opsapp.monitoring.logic.settings import MonitoringSettings
from tests.support.monitoring import Lookout
from tests.support.targets import blackhole, refused_port


@pytest.fixture
def lookout(service):
    return Lookout(service)


def test_a_port_that_must_be_closed_is_down_as_soon_as_it_is_open(lookout):
    settings = {"type": "tcp", "interval": 5, "timeout": 2, "retries": 1, "upside_down": True}
    closed = lookout.add(url=f"tcp://127.0.0.1:{refused_port()}", **settings)
    with blackhole() as port:
        opened = lookout.add(name="Open", url=f"tcp://127.0.0.1:{port}", **settings)
        lookout.run(10)
    assert lookout.monitor(closed)["status"] == "up"
    assert lookout.monitor(closed)["response_time_ms"] is None
    assert lookout.monitor(opened)["status"] == "down"
    assert lookout.monitor(opened)["cause"] == "it does not fail, and it should: connected"
    assert [incident["monitor_id"] for incident in lookout.incidents()] == [opened]
    page = lookout.service.browser("vera").get(f"/monitors/{closed}").text
    assert "upside down: up when it fails" in page


def test_a_network_that_is_gone_makes_nothing_good(service):
    dead = f"tcp://127.0.0.1:{refused_port()}"
    service.node.config = service.node.config.having(MonitoringSettings(connectivity=(dead,)))
    lookout = Lookout(service)
    monitor_id = lookout.add(type="tcp", url=dead, interval=5, timeout=2, retries=0, upside_down=True)
    lookout.run(10)
    assert lookout.monitor(monitor_id)["status"] == "unknown"


def test_a_call_that_must_not_come(lookout):
    monitor_id = lookout.add(type="push", url="", interval=60, retries=0, upside_down=True)
    lookout.run(65)
    assert lookout.monitor(monitor_id)["status"] == "up"
    lookout.service.anonymous.get(lookout.monitor(monitor_id)["push_url"])
    assert lookout.monitor(monitor_id)["status"] == "down"


def test_what_a_check_would_find_is_told_as_it_is_meant(lookout):
    body = {"name": "x", "type": "tcp", "url": f"tcp://127.0.0.1:{refused_port()}", "upside_down": True}
    seen = lookout.service.otto.post_json("/api/monitoring/endpoints/check", body).json
    assert seen["status"] == "up"
    assert seen["detail"].startswith("it fails, as it should: ")
