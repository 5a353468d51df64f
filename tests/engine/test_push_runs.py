"""Push monitors as a job calls them: start, end, failure; by a schedule, with grace, over steps of the clock."""

import pytest

from opsapp.lib.problems import Conflict
from opsapp.monitoring.engine.pushes import LEASE, PIECES
from opsapp.monitoring.logic.settings import complete
from tests.support.monitoring import Lookout

DAY_S = 86400
SPRING, AUTUMN = 1774746000, 1792890000  # 29 March and 25 October 2026, 01:00 UTC: the clocks of Berlin change


@pytest.fixture
def lookout(service):
    return Lookout(service)


@pytest.fixture
def job(lookout):
    monitor_id = lookout.add(type="push", url="", interval=600, grace=60, retries=2)
    url = lookout.monitor(monitor_id)["push_url"]

    def call(signal="", status=200):
        lookout.service.anonymous.post(f"{url}{signal}", status=status)
        lookout.run(1)
        return lookout.monitor(monitor_id)

    lookout.run(1)
    return call


def test_a_run_is_timed_from_start_to_end(job, lookout):
    assert job("/start")["run_started"]
    lookout.run(40)
    shown = job("/0")
    assert (shown["status"], "run_started" in shown) == ("up", False)
    assert shown["metrics"]["run_seconds"]["unit"] == "s"
    assert shown["metrics"]["run_seconds"]["value"] == pytest.approx(41, abs=1)
    page = lookout.service.browser("otto").get(f"/monitors/{shown['id']}").text
    assert "The last run took" in page
    assert "grace 1 min" in page


@pytest.mark.parametrize(
    ("signal", "cause"), [("/fail", "it said that it failed"), ("/3", "it ended with exit code 3")]
)
def test_a_run_that_says_that_it_failed_is_down_at_once(job, lookout, signal, cause):
    job()
    shown = job(signal)
    assert (shown["status"], shown["cause"]) == ("down", cause)
    assert len(lookout.incidents()) == 1
    assert job("/0")["status"] == "up"


@pytest.mark.parametrize(
    ("call", "cause"),
    [
        ("?status=down&msg=&ping=", "it said that it failed"),
        ("?status=down&msg=disk%20full%0Aon%00b1&ping=12", "it said that it failed: disk full on b1"),
        ("?status=broken", "it said that it failed"),
        ("/fail?msg=disk+full", "it said that it failed: disk full"),
        ("/3?msg=" + "x" * 300, "it ended with exit code 3: " + "x" * 200),
    ],
)
def test_a_script_of_uptime_kuma_is_understood(job, lookout, call, cause):
    """Its push addresses end with `?status=up&msg=OK&ping=`."""
    assert job("?status=up&msg=OK&ping=")["status"] == "up"
    shown = job(call)
    assert (shown["status"], shown["cause"]) == ("down", cause)
    assert len(lookout.incidents()) == 1
    assert job("?status=&anything=else")["status"] == "up"


def test_a_run_that_does_not_end_within_its_grace_is_down(job, lookout):
    assert job()["status"] == "up"
    job("/start")
    lookout.run(50)
    assert job("/start")["status"] == "up"  # which is no new run
    lookout.run(40)
    shown = job()
    assert shown["status"] == "up"
    assert lookout.incidents()[0]["cause"].startswith("it began 1 min ago and has not ended")


@pytest.mark.parametrize("signal", ["/256", "/-1", "/end", "/1e1"])
def test_another_signal_is_no_call(job, lookout, signal):
    job(signal, status=404)
    assert lookout.incidents() == []


def push(**given):
    return complete({"name": "a", "type": "push", "interval": 60} | given)


def test_a_run_has_the_grace_for_itself():
    assert push(grace=30).late_at(1000.0, None, "UTC") == 1090
    assert push(grace=30).late_at(1000.0, 1050.0, "UTC") == 1080
    assert push().late_at(1000.0, 1050.0, "UTC") == 1110


@pytest.mark.parametrize(("change", "hours"), [(SPRING, 23), (AUTUMN, 25)])
def test_a_schedule_goes_by_the_clock_of_its_zone(change, hours):
    settings = push(schedule="30 5 * * *", schedule_zone="Europe/Berlin")
    before = settings.due(change - DAY_S, "UTC")
    assert settings.due(before, "UTC") - before == hours * 3600


def test_between_two_calls_of_a_schedule_it_stays_as_it_was(lookout):
    monitor_id = lookout.add(type="push", url="", interval=60, schedule="0 3 * * *", grace=600, retries=0)
    lookout.run(1)
    lookout.service.anonymous.get(lookout.monitor(monitor_id)["push_url"])
    due_at = push(schedule="0 3 * * *").due(lookout.service.clock.now(), "UTC")
    lookout.run(due_at - lookout.service.clock.now() + 540, step=30)
    assert lookout.monitor(monitor_id)["status"] == "up"
    lookout.run(120, step=5)
    assert lookout.monitor(monitor_id)["status"] == "down"


def test_a_wrong_schedule_or_zone_is_refused(lookout):
    body = {"name": "x", "type": "push", "schedule": "often", "schedule_zone": "Mars/Base"}
    answer = lookout.service.otto.post_json("/api/monitoring/endpoints", body, status=422).json
    assert answer["fields"].keys() == {"schedule", "schedule_zone"}


@pytest.mark.parametrize("seconds", [-3600, 3600])
def test_a_run_that_has_begun_moves_with_the_clock(job, lookout, seconds):
    started = job("/start")["run_started"]
    monitor_id = lookout.watch.register.ordered()[0].id
    node = lookout.service.node
    with pytest.raises(Conflict):
        node.transact(PIECES.move, seconds)  # that is for the node with the lease, or each would move it
    node.leases.want(LEASE)
    node.leases.step()
    node.transact(PIECES.move, seconds)
    while node.transact(PIECES.move_on):
        pass
    lookout.tick()
    assert lookout.monitor(monitor_id)["run_started"] == started + seconds
