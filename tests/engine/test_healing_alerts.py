"""What fires reaches the pipeline: whatever fails between the look and the commit."""

import pytest
from ZEO.Exceptions import ClientDisconnected

from opsapp.healing.engine import alerts, pipeline
from opsapp.lib.problems import StoreAway

FAILED = {"service__nginx__state": "failed"}


def test_an_alert_that_fires_while_the_store_goes_away_is_not_lost(ward, monkeypatch):
    here = ward().at("notify")
    here.turn()

    def away(*_):
        raise ClientDisconnected

    with monkeypatch.context() as broken:
        broken.setattr(pipeline, "submit", away)
        here.report(**FAILED)
        for _ in range(3):
            with pytest.raises(StoreAway):
                here.engine.look()
    here.turn().turn(5)
    assert [(entry["outcome"], entry["events"]) for entry in here.ledger] == [("notified", 1)]


def test_a_rule_that_cannot_be_compared_takes_nothing_from_others(ward, monkeypatch, caplog):
    loads = {"id": "load", "condition": "load1 > 5", "action": {"type": "clear_cache"}}
    failed = {"id": "nginx", "condition": 'service.nginx.state == "failed"', "action": {"type": "restart_service"}}
    here = ward(loads, failed)
    read = alerts.read

    def broken(samples, condition, *values):
        if "load1" in condition.names:
            raise TypeError("what is this?")
        return read(samples, condition, *values)

    monkeypatch.setattr(alerts, "read", broken)
    here.report(load1=9.0, **FAILED).turn().turn(5)
    assert [(entry["rule_id"], entry["outcome"]) for entry in here.ledger] == [("nginx", "notified")]
    assert "rule load could not be compared with what agent:a1 reports" in caplog.text
