"""/api/overview: what is wrong with its root causes, who has it, what healing is about, and how many stand how."""

import pytest

from opsapp.runtime import serieswork
from opsapp.wire.probes import Outcome
from tests.support.monitoring import DOWN, UP, Lookout

PATH = "/api/overview"


@pytest.fixture
def lookout(service):
    return Lookout(service)


def test_a_new_installation_has_nothing_wrong_and_says_that_nothing_is_watched(service):
    found = service.vera.get(PATH).json
    assert (found["monitors"]["total"], found["agents"]) == (0, {"total": 0, "reporting": 0, "waiting": 0})
    assert (found["troubles"], found["cases"], found["troubles_total"], found["cases_total"]) == ([], [], 0, 0)


def test_what_is_down_comes_with_its_cause_its_owner_and_its_day(lookout):
    service = lookout.service
    well, sick = lookout.add(name="Well", retries=0), lookout.add(name="Shop", retries=0)
    lookout.sees |= {well: UP, sick: UP}
    lookout.run(3700, step=60)
    lookout.sees[sick] = DOWN
    lookout.run(61)
    serieswork.flush(service.node)
    found = service.vera.get(PATH).json
    assert {name: n for name, n in found["monitors"].items() if n} == {"total": 2, "up": 1, "down": 1}
    (trouble,) = found["troubles"]
    assert (trouble["name"], trouble["status"], trouble["cause"]) == ("Shop", "down", "HTTP 500")
    assert trouble["acknowledged_by"] is None
    assert (len(trouble["last_day"]), trouble["last_day"][-1], trouble["last_day"][0]) == (48, "down", "unknown")
    assert "up" in trouble["last_day"]
    service.otto.post_json(f"/api/monitoring/incidents/{trouble['incident_id']}/acknowledge", {})
    assert service.vera.get(PATH).json["troubles"][0]["acknowledged_by"] == "otto"
    assert found["monitor_ids"]["Shop"] == sick


def test_what_hangs_on_a_failure_comes_below_it(lookout):
    service = lookout.service
    shop, database = lookout.add(name="Shop", retries=0), lookout.add(name="Database", retries=0)
    entries = [{"target": "Shop", "depends_on": ["Database"]}, {"target": "Database"}]
    service.ada.put_json("/api/healing/dependencies", {"dependencies": entries})
    lookout.sees |= {shop: DOWN, database: UP}
    lookout.tick()
    service.clock.advance(5)
    lookout.sees[database] = DOWN
    lookout.run(61)
    troubles = service.vera.get(PATH).json["troubles"]
    assert [(each["name"], each["root_cause"]) for each in troubles] == [("Database", None), ("Shop", "Database")]
    assert [len(each["last_day"]) for each in troubles] == [48, 0]


def test_what_nobody_has_looked_at_for_long_is_unknown_and_no_success(lookout):
    monitor_id = lookout.add(name="Shop", retries=0)
    lookout.sees[monitor_id] = UP
    lookout.tick()
    lookout.service.clock.advance(4000)
    found = lookout.service.vera.get(PATH).json
    assert (found["monitors"]["up"], found["monitors"]["unknown"]) == (0, 1)
    assert found["troubles"][0]["status"] == "unknown"


def test_what_was_down_when_the_looking_ended_stands_before_what_was_well(lookout):
    lookout.watch_through((UP, 120), name="Well")
    lookout.watch_through((DOWN, 61), name="Shop")
    lookout.service.clock.advance(600)
    troubles = lookout.service.vera.get(PATH).json["troubles"]
    assert [(each["name"], each["status"]) for each in troubles] == [("Shop", "unknown"), ("Well", "unknown")]


def test_viewers_do_not_see_what_an_address_hides(lookout):
    monitor_id = lookout.add(name="Shop", retries=0)
    lookout.sees[monitor_id] = Outcome(False, None, "no answer of https://u:secret@shop.example/?token=secret")
    lookout.tick()
    assert "secret" not in lookout.service.vera.get(PATH).text
    assert "secret" in lookout.service.otto.get(PATH).text


def test_a_result_that_is_too_old_is_unknown_and_what_is_paused_or_new_does_not_age(lookout):
    service = lookout.service
    seen = {"Up": UP, "Down": DOWN, "Slow": Outcome(True, 900.0, "HTTP 200")}
    for name, outcome in seen.items():
        monitor = lookout.add(name=name, interval=60, timeout=10, retries=0, degraded_ms=500)
        lookout.sees[monitor] = outcome
    lookout.tick()  # all three at one moment, so that they are too old at one moment
    lookout.add(name="New")
    lookout.add(name="Off", enabled=False)
    lookout.watch.follow()

    def counts():
        return {name: n for name, n in service.vera.get(PATH).json["monitors"].items() if n and name != "total"}

    fresh = {"pending": 1, "paused": 1, "up": 1, "down": 1, "degraded": 1}
    assert counts() == fresh
    service.clock.advance(71)  # a turn, a timeout and a second
    assert counts() == fresh
    service.clock.advance(1)
    assert counts() == {"pending": 1, "paused": 1, "unknown": 3}
