"""Chaos rehearsed while the service is in use: what is live never makes a scenario fail, and the answer says so."""

import time

import pytest

from opsapp.healing.engine import chaos
from opsapp.healing.engine.chaos.scenarios import SCENARIOS
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.cases import case_of
from tests.support.counting import CountedCalls
from tests.support.hosts import place

ENTRIES = 500
MOST_CALLS = 2_000_000  # of one rehearsal: somebody waits for it


def fill_ledger(root, count, now):
    rule = {"source": "test", "rule_id": "nginx", "condition": "c", "severity": "info", "metrics": {}}
    for at in range(count):
        event = {**rule, "target": f"box-{at % 7}", "at": now}
        told = {"rule_id": "nginx", "outcome": "notified", "reason": "", "now": now, "events": 1}
        healing_of(root)["ledger"].end(root, case_of(event), **told)


@pytest.fixture
def used(ward):
    """500 ledger entries, a scoped maintenance window, a scoped healing window, a pending approval, an open case."""
    here = ward(places=[place(), place("box-2", "a2")]).at("approve")
    here.node.transact(fill_ledger, ENTRIES, here.clock.now())
    monitor = {"type": "tcp", "url": "tcp://127.0.0.1:9", "name": "shop", "enabled": False}
    made = here.service.otto.post_json("/api/monitoring/endpoints", monitor).json
    now = int(here.clock.now())
    start, end = (time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) for at in (now - 60, now + 3600))
    window = {"name": "database work", "start": start, "end": end, "scope": [made["id"]]}
    here.service.otto.post_json("/api/maintenance", window)
    healing = {"target": "box-2", "duration": "1h", "reason": "tests", "action": "suppress"}
    here.service.otto.post_json("/api/healing/maintenance", healing)
    here.report(service__nginx__state="failed").turn().turn(5)
    assert here.ledger[-1]["outcome"] == "awaiting_approval"
    return here


def test_what_is_live_and_matters_is_said(used):
    notes = chaos.rehearse(used.node, "manual_fix_race").notes
    assert len(notes) == 2
    assert "The window database work is on now" in " ".join(notes)
    used.service.ada.post("/api/healing/pause")
    found = chaos.rehearse(used.node, "manual_fix_race")
    assert found.status == "passed"
    assert found.notes[0] == "Healing is paused now: on real hosts nothing is done until it is resumed."
    used.service.ada.post("/api/healing/resume")
    used.configure(brake={"max_heals_per_hour": {"fleet": 0}})
    told = " ".join(chaos.rehearse(used.node, "manual_fix_race", "default").notes)
    assert "The brake is on now" in told
    assert "The setting" not in told


def test_each_scenario_passes_with_the_live_settings_in_few_calls(used):
    used.configure(hold_s=40.0, absorption_window_s=300.0, breaker={"failures": 2})
    for name in SCENARIOS:
        with CountedCalls() as counted:
            found = chaos.rehearse(used.node, name)
        assert [one for one in found.expectations if not one.passed] == [], name
        assert (found.status, found.settings) == ("passed", "live")
        assert "The setting healing.hold_s is 40.0; the default is 5." in found.notes
        assert counted.calls < MOST_CALLS, name


def test_a_live_setting_that_fails_a_scenario_is_named_and_the_default_is_tried_on_demand(used):
    used.configure(brake={"max_unhealthy_percent": 100})
    found = chaos.rehearse(used.node, "heal_storm_circuit_breaker")
    assert found.status == "failed"
    assert "The setting healing.brake.max_unhealthy_percent is 100; the default is 40." in found.notes
    found = chaos.rehearse(used.node, "heal_storm_circuit_breaker", "default")
    assert (found.status, found.settings) == ("passed", "default")
