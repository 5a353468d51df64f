"""Storms: many alerts with one root cause are one heal and one message; many with none meet the brake."""

from collections import Counter

import pytest

from opsapp.notify.resources import inbox
from tests.support.hosts import place

DOWN = {"id": "down", "condition": "down == 1", "action": {"type": "clear_cache"}}
WIDE = {"max_heals_per_hour": {"fleet": 10_000, "site": 10_000, "rule": 10_000}}


def turn(here, seconds=0.0):
    here.clock.advance(seconds)
    while here.engine.look() or here.engine.work():
        pass


@pytest.mark.parametrize("first", [True, False], ids=["root first", "root last"])
def test_a_storm_with_one_root_cause_is_one_heal(ward, first):
    count = 200
    here = ward(
        DOWN,
        places=[place("root", "r"), *(place(f"h{n}", f"a{n}") for n in range(count))],
        dependencies=[{"target": "root"}, *({"target": f"h{n}", "depends_on": ["root"]} for n in range(count))],
        brake={**WIDE, "max_unhealthy_percent": 40},  # what hangs on the root is not sick by itself
    ).at("execute", "down")
    turn(here)
    if first:
        here.report("agent:r", down=1)
        turn(here)
    for n in range(count):
        here.report(f"agent:a{n}", down=1)
    turn(here)
    here.report("agent:r", down=1)
    turn(here, 1)
    turn(here, 5)
    turn(here, 1)
    entries = here.ledger
    assert Counter(entry["outcome"] for entry in entries) == {"suppressed": count, None: 1}
    assert {entry["reason"] for entry in entries if entry["outcome"]} == {"root cause root: depends on root"}
    assert [command["agent_id"] for command in here.hosts.sent] == ["r"]
    assert here.node.transact(inbox.take, 10_000) == []


def test_500_targets_failing_at_once_meet_the_brake(ward):
    """40 % may be sick: of 1,000 targets 500 fail, so nothing acts, everything is told, and somebody is called."""
    here = ward(
        DOWN, places=[place(f"h{n}", f"a{n}") for n in range(1000)], brake={**WIDE, "max_unhealthy_percent": 40}
    ).at("execute", "down")
    for n in range(500):
        here.report(f"agent:a{n}", down=1)
    turn(here)
    turn(here, 5)
    assert Counter(entry["outcome"] for entry in here.ledger) == {"notified": 500}
    assert all("50 % of all targets are unhealthy" in entry["reason"] for entry in here.ledger)
    assert here.hosts.sent == []
    kinds = Counter(row.kind for row in here.node.transact(inbox.take, 10_000))
    assert (kinds["heal.brake"], kinds["heal.notified"]) == (1, 500)


def test_under_the_limit_it_acts(ward):
    here = ward(
        {**DOWN, "waves": "off"},
        places=[place(f"h{n}", f"a{n}") for n in range(30)],
        brake={**WIDE, "max_unhealthy_percent": 40},
    ).at("execute", "down")
    for n in range(10):
        here.report(f"agent:a{n}", down=1)
    turn(here)
    turn(here, 5)
    assert len(here.hosts.sent) == 10


@pytest.mark.parametrize(("scope", "most"), [("rule", 10), ("site", 7), ("fleet", 5)])
def test_what_fails_at_once_is_healed_up_to_the_limit_and_no_further(ward, scope, most):
    """All of them are planned in one transaction."""
    limits = {**WIDE["max_heals_per_hour"], scope: most}
    here = ward(
        DOWN,
        waves="off",
        places=[place(f"h{n}", f"a{n}") for n in range(30)],
        brake={"max_heals_per_hour": limits, "max_unhealthy_percent": 100},
        dependencies=[{"target": f"h{n}", "site": "berlin"} for n in range(30)],
    ).at("execute", "down")
    for n in range(30):
        here.report(f"agent:a{n}", down=1)
    turn(here)
    turn(here, 5)
    assert len(here.hosts.sent) == most
    told = [entry for entry in here.ledger if entry["outcome"] == "notified"]
    assert len(told) == 30 - most
    assert {entry["reason"] for entry in told} == {
        f"brake: {most} heals within an hour, the limit for one {scope} is {most}"
    }


def storm(here, count):
    for n in range(count):
        here.report(f"agent:a{n}", down=1)
    turn(here)
    turn(here, 5)


def is_over(here, count):
    for n in range(count):
        here.report(f"agent:a{n}", down=0)
    turn(here, 1)
    turn(here, 600)


def test_a_storm_is_one_trigger_on_the_way_to_approve(ward):
    """24 hosts that fail together were more than the ten triggers that lead from `notify` to `approve`."""
    count = 24
    here = ward(DOWN, places=[place(f"h{n}", f"a{n}") for n in range(count)], brake={"max_unhealthy_percent": 100})
    for number in range(1, 10):
        storm(here, count)
        assert len(here.trust("down").triggers) == number
        assert here.trust("down").current_level == "notify"
        is_over(here, count)
    storm(here, count)
    assert here.trust("down").current_level == "approve", "ten outages"


def test_what_hangs_on_one_failed_target_is_one_trigger_however_late_it_fails(ward):
    count = 12
    here = ward(
        DOWN,
        {**DOWN, "id": "root-down", "condition": "lost == 1"},
        places=[place("root", "r"), *(place(f"h{n}", f"a{n}") for n in range(count))],
        dependencies=[{"target": "root"}, *({"target": f"h{n}", "depends_on": ["root"]} for n in range(count))],
        brake={**WIDE, "max_unhealthy_percent": 100},
    ).at("approve", "root-down")  # nobody decides, so its case stays open
    here.report("agent:r", lost=1)
    turn(here)
    turn(here, 5)
    for n in range(count):
        here.report("agent:r", lost=1)
        here.report(f"agent:a{n}", down=1)
        turn(here)
        turn(here, 200)
    assert len(here.trust("down").triggers) == 1
    assert here.trust("down").current_level == "notify"
