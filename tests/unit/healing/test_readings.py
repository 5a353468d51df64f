"""What conditions see of units that start again and again, from what a report names."""

import pytest

from opsapp.agent.offline import readings
from opsapp.healing.engine.readings import LiveReadings
from opsapp.series.live import Live
from opsapp.wire.readings import of_report
from opsapp.wire.reports import Measurement

AGENT = "agent:a1"


@pytest.fixture
def live():
    return Live()


def seen(live, at, **report):
    live.update(AGENT, of_report(Measurement(**report)), at)
    found = LiveReadings(live).samples(AGENT)
    return found.get("service.web.restarts_5m"), found.get("service.web.crash_looping")


@pytest.mark.parametrize(
    ("state", "starts", "counted_s", "count", "looping"),
    [
        ("active", {"web": 5}, 300.0, 5, 1),
        ("activating", {"web": 5}, 20.0, 5, 1),
        ("active", {"web": 4}, 300.0, 4, 0),
        ("active", {}, 300.0, 0, 0),
        ("failed", {"web": 9}, 300.0, 9, 0),
        ("active", {"web": 4}, 299.0, None, None),
        ("active", {}, None, None, None),
    ],
    ids=["limit", "early", "below", "quiet", "given-up", "too-early", "uncounted"],
)
def test_a_unit_that_starts_five_times_in_five_minutes_loops(live, state, starts, counted_s, count, looping):
    found = seen(live, 10.0, services={"web": state}, starts=starts, starts_counted_s=counted_s)
    assert found == tuple(value if value is None else (value, 10.0) for value in (count, looping))


def test_a_loop_that_is_over_is_known_to_be_over(live):
    seen(live, 10.0, services={"web": "active"}, starts={"web": 9}, starts_counted_s=300.0)
    assert seen(live, 25.0, services={"web": "active"}, starts={}, starts_counted_s=300.0) == ((0, 25.0), (0, 25.0))


def test_an_agent_that_counts_no_longer_says_nothing(live):
    seen(live, 10.0, services={"web": "active"}, starts={"web": 9}, starts_counted_s=300.0)
    assert seen(live, 25.0, services={"web": "active"}) == (None, None)


@pytest.mark.parametrize("ran", [False, True])
@pytest.mark.parametrize(
    ("state", "failed"),
    [("active", 0), ("reloading", 0), ("failed", 1), ("activating", None), ("deactivating", None), ("inactive", "ran")],
)
def test_failed_means_the_same_to_the_service_and_to_an_agent(state, failed, ran):
    report = Measurement(services={"web": state}, starts={"web": 2}, starts_counted_s=300.0)
    live = Live()
    seen = LiveReadings(live)
    if ran:
        seen.learn(AGENT, {"service.web.state": "active"})
    live.update(AGENT, of_report(report), 10.0)
    of_the_service = {name: value for name, (value, _) in seen.samples(AGENT).items()}
    assert of_the_service == readings(report, {"web"} if ran else set())
    assert of_the_service.get("service.web.failed") == (int(ran) if failed == "ran" else failed)
    assert (of_the_service["service.web.restarts_5m"], of_the_service["service.web.crash_looping"]) == (2, 0)
