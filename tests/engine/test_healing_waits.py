"""A rule with few cases of its own borrows those of others: whose they are, how many, and what is said of it."""

import pytest

from opsapp.healing.engine import lift as worth
from opsapp.healing.engine import world
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.trials import Healed
from opsapp.wire.records import plain
from tests.engine.healing import QUICK

FAILED = {"service__nginx__state": "failed"}
NGINX = {**QUICK, "wait": "learned"}
APACHE = {**QUICK, "id": "apache", "condition": 'service.apache.state != "active"'}
MEMORY = {**QUICK, "id": "memory", "condition": "mem_percent > 90", "action": {"type": "clear_cache"}}


def lasted(here, rule_id, seconds, count, heal_s=100):
    """So many cases of a rule were over by themselves after so long."""

    def note(root):
        healing = healing_of(root)
        durations = healing.trials.durations_of(rule_id, healing["trust"][rule_id].trust.definition)
        for _ in range(count):
            durations.lasted(seconds, True)
        durations.took(Healed(heal_s + 10, heal_s))

    here.node.transact(note)


def wait(here, rule_id="nginx"):
    return plain(here.node.transact(worth.wait, rule_id, here.clock.now()))


@pytest.fixture
def fleet(ward):
    return ward(NGINX, APACHE, MEMORY)


def test_nothing_known_at_all_stays_unknown(fleet):
    answer = fleet.service.vera.get("/api/healing/wait?rule_id=nginx").json
    assert (answer["cases"], answer["borrowed"], answer["borrowed_from"], answer["weight"]) == (0, 0, None, 1)
    assert (answer["wait_s"], answer["curve"]) == (None, [])


def test_rules_about_the_same_reading_lend_before_others(fleet):
    lasted(fleet, "memory", 500.0, 9)
    assert (wait(fleet)["borrowed"], wait(fleet)["borrowed_from"]) == (9, "all_rules")
    lasted(fleet, "apache", 30.0, 7)
    answer = wait(fleet)
    assert (answer["cases"], answer["borrowed"], answer["borrowed_from"], answer["weight"]) == (
        0,
        7,
        "same_readings",
        0,
    )
    assert answer["curve"] == [{"seconds": 0, "share": 1}, {"seconds": 30, "share": 0}]
    assert answer["wait_s"] is None, "how long its heal takes nobody knows"


def test_its_own_cases_weigh_more_until_they_stand_alone(fleet):
    lasted(fleet, "apache", 30.0, 7)
    lasted(fleet, "nginx", 60.0, 5)
    answer = fleet.service.vera.get("/api/healing/wait?rule_id=nginx").json
    assert (answer["cases"], answer["borrowed"], answer["weight"]) == (5, 7, 0.25)
    assert [point["share"] for point in answer["curve"]] == [1, 0.25, 0]
    lasted(fleet, "nginx", 60.0, 15)
    answer = wait(fleet)
    assert (answer["cases"], answer["borrowed"], answer["borrowed_from"], answer["weight"]) == (20, 0, None, 1)
    assert [point["seconds"] for point in answer["curve"]] == [0, 60]


def test_a_rule_waits_by_what_it_borrows(fleet):
    lasted(fleet, "apache", 30.0, 19)
    lasted(fleet, "nginx", 30.0, 1)
    fleet.at("execute")
    fleet.report(**FAILED).turn().turn(5).pass_time(20, step=5, **FAILED)
    assert fleet.hosts.sent == []
    fleet.pass_time(10, step=1, **FAILED)
    assert fleet.hosts.phases() == ["snapshot"]


def test_no_rule_lends_more_than_another(ward):
    rules = [{**APACHE, "id": f"rule-{number}"} for number in range(30)]
    here = ward(NGINX, *rules)
    for rule in rules:
        lasted(here, rule["id"], 30.0, 40)
    lent = here.node.transact(lambda root: world.borrowed(healing_of(root).trials, _rules(root), "nginx", 0))
    assert len(lent.durations) == world.MOST_BORROWED


def _rules(root):
    return {name: rule.record for name, rule in healing_of(root)["rules"].items()}
