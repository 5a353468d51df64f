"""Schedules on a clock of the test's own: on time, once, missed, changed, through clock changes, under a lease."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from opsapp.automations.engine.carrier import take_up
from opsapp.automations.engine.schedules import LEASE, LOOK_S, Scheduler
from opsapp.runtime.cluster import leases
from opsapp.runtime.threads.supervisor import PULSE_S
from tests.support.app import Service
from tests.support.clock import FakeClock

NOON = datetime(2026, 3, 27, 12, tzinfo=ZoneInfo("UTC")).timestamp()


class Table:
    """One node after the other over the same store, its schedules moved by hand."""

    def __init__(self, directory, start=NOON, **settings):
        self.directory, self.clock, self.settings = directory, FakeClock(start), settings
        self.up()

    def up(self):
        self.service = Service(self.directory, self.clock, **self.settings)
        self.service.node.leases.want(LEASE)
        self.service.node.leases.step()
        self.scheduler = Scheduler(self.service.node)

    def down(self):
        self.service.close()

    def add(self, schedule, **more):
        body = {"name": "x", "type": "notification", "params": {"title": "x"}, "schedule": schedule, **more}
        return self.service.otto.post_json("/api/automations", body).json["id"]

    def tick(self):
        self.service.node.events.step()
        self.service.node.leases.step()
        while self.scheduler.step():
            pass
        while self.service.transact(take_up, "box:test", frozenset(), 0)[1]:
            pass

    def go(self, seconds, step=60):
        end = self.clock.now() + seconds
        while self.clock.now() < end:
            self.clock.advance(min(step, end - self.clock.now()))
            self.tick()

    def runs(self, zone="UTC"):
        """When each began, oldest first."""
        rows = self.service.vera.get("/api/automations/runs?limit=1000").json
        return [
            (datetime.fromtimestamp(row["started"], ZoneInfo(zone)).strftime("%d %H:%M"), row["origin"])
            for row in reversed(rows)
        ]


@pytest.fixture
def table(tmp_path):
    table = Table(tmp_path)
    table.tick()
    yield table
    table.down()


def test_every_tick_once(table):
    table.add("*/15 * * * *")
    table.go(3600)
    assert table.runs() == [(f"27 {at}", "schedule") for at in ("12:15", "12:30", "12:45", "13:00")]


def test_through_the_change_of_the_clocks(table):
    table.add("30 2 * * *", timezone="Europe/Berlin")
    table.go(3 * 86_400, step=600)
    assert [at for at, _ in table.runs("Europe/Berlin")] == ["28 02:30", "29 03:00", "30 02:30"]


def test_what_is_switched_off_or_edited_or_deleted(table):
    kept, gone = table.add("0 * * * *"), table.add("0 * * * *")
    table.go(3600)
    table.service.otto.put_json(f"/api/automations/{kept}", {"schedule": "30 * * * *"})
    table.service.otto.delete(f"/api/automations/{gone}")
    table.go(3600)
    table.service.otto.put_json(f"/api/automations/{kept}", {"enabled": False})
    table.go(7200)
    assert [at for at, _ in table.runs()] == ["27 13:00", "27 13:00", "27 13:30"]


def test_a_missed_tick_is_made_up_for_once_and_only_when_asked(table):
    table.add("0 * * * *", name="lazy")
    table.add("0 * * * *", name="keen", catch_up=True)
    table.go(3600)
    table.down()
    table.clock.advance(5 * 3600 + 60)
    table.up()
    table.go(60)
    assert table.runs() == [("27 13:00", "schedule"), ("27 13:00", "schedule"), ("27 18:02", "catch_up")]
    table.go(3600)
    assert len(table.runs()) == 5


def test_a_tick_in_the_moment_of_a_crash_is_one_run(table, monkeypatch):
    """Killed between the commit of the runs and whatever came next: the next node finds them handled."""
    for _ in range(3):
        table.add("0 13 * * *", catch_up=True)
    table.tick()
    table.clock.advance(3600)
    table.service.node.leases.step()
    monkeypatch.setattr("opsapp.automations.engine.schedules.PAGE", 2)
    table.scheduler.step()
    assert len(table.runs()) == 2
    table.down()
    table.up()
    table.go(120)
    assert [at for at, _ in table.runs()] == ["27 13:00", "27 13:00", "27 13:01"]


def test_without_the_lease_nothing_is_started(table):
    table.add("* * * * *")
    table.tick()
    table.service.node.leases.held.clear()
    table.clock.advance(300)
    assert table.scheduler.step() is False
    assert table.runs() == []


def test_a_tick_of_a_node_that_lost_the_lease_is_refused(table):
    table.add("* * * * *")
    table.tick()

    def taken_over(root):
        root.system["leases"][LEASE].owner = "other:boot"

    table.service.transact(taken_over)
    table.clock.advance(60)
    table.service.node.leases.step()
    with pytest.raises(Exception, match="does not hold the lease"):
        table.scheduler.step()
    assert table.runs() == []


def test_a_schedule_that_is_faster_than_its_runs_queues_no_more_than_it_may(tmp_path):
    config = tmp_path / "opsapp.yaml"
    config.write_text("automations: {max_waiting: 4}")
    table = Table(tmp_path, **{"opsapp.config": str(config)})
    table.tick()
    slow = table.add("* * * * *", type="script", params={"script": "true"})

    def waiting():
        return table.service.otto.get(f"/api/automations/{slow}").json["queued"]

    def said():
        rows = table.service.ada.get("/api/audit?action=automation.run&limit=1000").json
        return [(row["username"], row["result"]) for row in rows if row["target"] == slow]

    table.go(4 * 60)
    assert (waiting(), said()) == (3, [])
    table.go(20 * 60)
    assert (waiting(), said()) == (4, [("schedule", "refused")])
    assert table.service.otto.post_json(f"/api/automations/{slow}/run").json["status"] == "queued"
    table.down()


@pytest.mark.parametrize(("left", "slept"), [(30.0, LOOK_S), (0.6, 0.6 - PULSE_S), (0.2, 0.2), (0.0, 0.0)])
def test_the_step_sleeps_until_the_next_tick_and_never_past_it(table, left, slept):
    """A pulse comes up to half of itself late: the last stretch is slept to the point."""
    table.add("*/5 * * * *")
    table.tick()
    table.clock.advance(table.scheduler.heap[0].at - table.clock.now() - left)
    table.service.node.leases.step()
    assert table.scheduler.pause() == pytest.approx(slept, abs=0.001)


def test_a_node_without_the_lease_does_not_look_again_at_once_for_what_is_due(table):
    """It may have read schedules before it lost the lease."""
    table.add("*/5 * * * *")
    table.tick()
    table.clock.advance(table.scheduler.heap[0].at - table.clock.now() + 1)
    table.service.node.leases.step()
    assert table.scheduler.pause() == 0.0
    table.service.transact(leases.release, table.service.node.owner)
    table.service.node.leases.held.clear()
    assert table.scheduler.pause() == LOOK_S


def test_without_schedules_it_sleeps_for_as_long_as_it_may(table):
    assert table.scheduler.pause() == LOOK_S


def set_clock(table, seconds):
    table.clock.set_by(seconds)
    table.service.node.clock_steps.step()
    table.service.tokens.clear()  # sessions end by the clock on the wall


def test_what_repeats_goes_on_when_the_clock_is_set_back(table):
    table.add("*/10 * * * *")
    table.go(3600 + 300)
    set_clock(table, -3600)
    table.go(3600)
    first = [f"27 {at}" for at in ("12:10", "12:20", "12:30", "12:40", "12:50", "13:00")]
    assert [at for at, _ in table.runs()] == [*first, *first]


@pytest.mark.parametrize("hours", [1, 25])
def test_what_has_an_hour_of_its_own_runs_once_for_a_time_that_comes_twice(table, hours):
    table.add("30 12 * * *")
    table.go(3600 + (hours > 24) * 86_400)
    set_clock(table, -3600 * hours)
    before = table.runs()
    table.go(3600 * hours)
    table.service.tokens.clear()
    assert table.runs() == before
    table.go(86_400)
    table.service.tokens.clear()
    assert len(table.runs()) == len(before) + 1


def test_a_tick_that_has_just_been_is_not_done_again_because_of_half_a_minute(table):
    table.add("* * * * *")
    table.go(70, step=10)
    set_clock(table, -30)
    table.go(120, step=10)
    assert [at for at, _ in table.runs()] == ["27 12:01", "27 12:02"]


def test_what_a_clock_jumped_over_is_missed_and_comes_when_it_is_set_back(table):
    """By an hour too many: somebody mends that at once."""
    table.add("30 12 * * *", name="lazy")
    table.add("30 12 * * *", name="keen", catch_up=True)
    table.go(60)
    set_clock(table, 3600)
    table.go(60)
    assert table.runs() == [("27 13:02", "catch_up")]
    set_clock(table, -3600)
    table.go(3600)
    assert sorted(table.runs()) == [("27 12:30", "schedule"), ("27 13:02", "catch_up")]


def test_a_clock_that_was_a_year_ahead_holds_no_schedule_up(table):
    table.add("30 12 * * *")
    set_clock(table, 365 * 86_400)
    table.go(86_400)
    set_clock(table, -366 * 86_400)
    table.go(3600)
    assert [at for at, _ in table.runs()] == ["27 12:30", "27 12:30"]


@pytest.mark.parametrize(("schedule", "more"), [("*/10 * * * *", 6), ("30 12 * * *", 0)])
def test_a_clock_that_was_set_back_while_no_node_was_up(table, schedule, more):
    table.add(schedule)
    table.go(3600)
    before = len(table.runs())
    table.down()
    table.clock.advance(-3600)
    table.up()
    table.go(3600)
    assert len(table.runs()) == before + more
