"""What fires reaches the pipeline: whatever fails between the look and the commit."""

import pytest
from ZEO.Exceptions import ClientDisconnected

from opsapp.healing.engine import alerts, pipeline
from opsapp.healing.stages.case import RuleEvent
from opsapp.lib.problems import StoreAway
from tests.support.hosts import place

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


LOAD = {"id": "load", "condition": "load1 > 5", "for": 300, "action": {"type": "clear_cache"}}


@pytest.mark.parametrize(("silent_s", "fires"), [(150, True), (200, False)])
def test_nobody_can_say_that_a_condition_held_while_its_host_was_silent(ward, silent_s, fires):
    """Its readings are valid for three intervals of 60 s. After more `for` begins anew, though nothing has come in
    between."""
    here = ward(LOAD, places=[place(interval=60.0)])
    here.report(load1=9.0).turn()
    for _ in range(silent_s // 10):
        here.turn(10)
    here.report(load1=9.0).turn()
    for _ in range((310 - silent_s) // 10):
        here.turn(10)
    here.turn(6)
    assert bool(here.ledger) == fires


@pytest.mark.parametrize(("level", "apart_s"), [("notify", 540), ("execute", 600)])
def test_what_another_case_took_in_fires_no_sooner_after_its_own_heal(ward, level, apart_s):
    """The cooldown of 600 s counts from the alert's first time where people were told, from its second if it acted."""
    other = {**LOAD, "id": "other", "for": 0, "cooldown_s": 600}
    own = {**other, "id": "own", "settle_s": 1, "verify_timeout_s": 5}
    here = ward(other, own, places=[place(interval=60.0)])
    begun, events = here.clock.now(), []

    def noting(alerts, now, budget_s):
        fired = type(alerts).step(alerts, now, budget_s)
        events.extend(event for event in fired if isinstance(event, RuleEvent) and event.rule_id == "own")
        return fired

    here.count_events(noting)
    while len(events) < 3:
        here.report(load1=9.0).turn(1)
        if here.clock.now() == begun + 30:  # the case of the other one is closed
            here.at(level, "own")
        answer(here)
    first, second, third = (event.at - begun for event in events)
    assert [event.first_at for event in events] == [None, events[0].at, None]
    assert (second - first, third - second) == (60, apart_s)


def answer(here):
    for command in here.hosts.sent:
        if command["answer"] is None:
            here.hosts.finish(command["params"]["phase"], among=command, snapshot={"kind": "unit", "state": {}})


def test_an_alert_that_comes_again_is_one_outage_however_often_it_is_taken_in(ward):
    """Another case opens each time just before it comes again."""
    others = [{**LOAD, "id": f"other{n}", "for": wait} for n, wait in enumerate((0, 60, 120, 180))]
    here = ward(*others, {**LOAD, "id": "own", "for": 0, "cooldown_s": 600}, places=[place(interval=60.0)])
    for _ in range(300):
        here.report(load1=9.0).turn(1)
    assert [entry["outcome"] for entry in here.ledger if entry["rule_id"] == "own"] == ["absorbed"] * 4 + ["notified"]
    assert len(here.trust("own").triggers) == 1
