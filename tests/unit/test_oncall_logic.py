"""Who is on call: turns that meet at the hour on the wall, whatever the clock does; layers, overrides, who is gone."""

import datetime
import itertools
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opsapp.oncall import logic
from opsapp.oncall.records import DAYS, LayerRecord, OverrideRecord, ScheduleRecord

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "America/Santiago", "UTC",
         "America/St_Johns")  # fmt: skip
PEOPLE = ("anna", "ben", "cleo")
CLOCKS = st.builds("{:02}:{:02}".format, st.integers(0, 23), st.sampled_from([0, 15, 30]))
HOUR, DAY = 3600, 86400


def everybody(_user):
    return True


def at(text, zone="Europe/Berlin"):
    return datetime.datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def wall(moment, zone="Europe/Berlin"):
    return datetime.datetime.fromtimestamp(moment, ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M")


def schedule(*layers, zone="Europe/Berlin", overrides=()):
    return ScheduleRecord("Ops", zone, layers, overrides=tuple(overrides))


def override(user, start, end):
    return OverrideRecord(f"{user}{start}", "ops", user, at(start), at(end), "otto")


def users(plan, since, until, known=everybody):
    return [(shift.user, wall(shift.start)[5:]) for shift in logic.shifts(plan, at(since), at(until), known)]


layers = st.builds(
    LayerRecord,
    users=st.lists(st.sampled_from(PEOPLE), min_size=1, max_size=3, unique=True).map(tuple),
    start=st.dates(datetime.date(2009, 1, 1), datetime.date(2027, 1, 1)).map(str),
    handover=CLOCKS,
    every=st.integers(1, 3),
    unit=st.sampled_from(["days", "weeks"]),
)
restricted = st.builds(
    lambda layer, days, since, until: LayerRecord(**{**vars(layer), "days": days, "since": since, "until": until}),
    layers,
    st.lists(st.sampled_from(DAYS), min_size=1, unique=True).map(tuple),
    CLOCKS,
    CLOCKS,
)
moments = st.integers(1_230_000_000, 1_800_000_000).map(float)  # 2008 to 2027


class TestTurns:
    @settings(max_examples=150, deadline=None)
    @given(layers, st.sampled_from(ZONES), st.integers(0, 800))
    def test_turns_meet_and_begin_at_their_hour_on_the_wall(self, layer, zone, turn):
        begins, ends = (logic.handover(layer, zone, number) for number in (turn, turn + 1))
        assert begins <= ends  # a day that a zone has left out is a turn without time
        for moment in (begins, ends):
            here = datetime.datetime.fromtimestamp(moment, ZoneInfo(zone))
            wanted = datetime.datetime.combine(here.date(), datetime.time.fromisoformat(layer.handover))
            if datetime.datetime.fromtimestamp(moment - 1, ZoneInfo(zone)).utcoffset() == here.utcoffset():
                assert here.replace(tzinfo=None) == wanted
        if begins < ends:
            assert {logic.turn_of(layer, zone, moment) for moment in (begins, (begins + ends) / 2, ends - 1)} == {turn}
            assert logic.turn_of(layer, zone, ends) != turn

    @settings(max_examples=100, deadline=None)
    @given(st.lists(st.one_of(layers, restricted), min_size=1, max_size=3), st.sampled_from(ZONES), moments)
    def test_there_is_no_gap_nobody_is_double_and_each_moment_is_as_the_calendar_says(self, rows, zone, since):
        plan, until = schedule(*rows, zone=zone), since + 40 * DAY
        shifts = logic.shifts(plan, since, until, everybody)
        assert (shifts[0].start, shifts[-1].end) == (since, until)
        assert all(before.end == after.start for before, after in itertools.pairwise(shifts))
        assert all(shift.start < shift.end for shift in shifts)
        for shift in shifts:
            for moment in (shift.start, shift.start + (shift.end - shift.start) * 0.37, shift.end - 0.5):
                assert logic.duty(plan, moment, everybody) == (shift.user, shift.layer, shift.skipped)

    @pytest.mark.parametrize(
        ("days", "handovers"),
        [("2026-03-27", ["03-28 09:00", "03-29 09:00", "03-30 09:00"]),
         ("2026-10-23", ["10-24 09:00", "10-25 09:00", "10-26 09:00"])],
        ids=["to summer", "to winter"],
    )  # fmt: skip
    def test_days_change_at_nine_on_the_wall_also_when_the_clock_changes(self, days, handovers):
        plan = schedule(LayerRecord(("anna", "ben"), days, "09:00", 1, "days"))
        start = datetime.date.fromisoformat(days)
        changes = users(plan, f"{start}T10:00", f"{start + datetime.timedelta(days=3)}T10:00")
        assert [when for _, when in changes[1:]] == handovers
        assert [user for user, _ in changes] == ["anna", "ben", "anna", "ben"]

    def test_a_handover_that_the_clock_skips_is_at_the_change_and_of_two_it_is_the_first(self):
        spring = LayerRecord(("anna", "ben"), "2026-03-28", "02:30", 1, "days")
        assert wall(logic.handover(spring, "Europe/Berlin", 1)) == "2026-03-29 03:00"
        autumn = LayerRecord(("anna", "ben"), "2026-10-24", "02:30", 1, "days")
        first = datetime.datetime(2026, 10, 25, 2, 30, fold=0, tzinfo=ZoneInfo("Europe/Berlin")).timestamp()
        assert logic.handover(autumn, "Europe/Berlin", 1) == first
        around = [logic.duty(schedule(autumn), first + hours * HOUR, everybody).user for hours in (-0.1, 0.1, 1.1)]
        assert around == ["anna", "ben", "ben"]

    def test_a_clock_that_is_set_back_into_the_day_before_does_not_hand_back(self):
        """In Newfoundland it was set back at 00:01, to 23:01 of the day before, until 2011."""
        layer = LayerRecord(("anna", "ben"), "2010-11-05", "00:00", 1, "days")
        midnight = logic.handover(layer, "America/St_Johns", 2)
        assert wall(midnight, "America/St_Johns") == "2010-11-07 00:00"
        assert wall(midnight + 90, "America/St_Johns") == "2010-11-06 23:01"
        plan = schedule(layer, zone="America/St_Johns")
        moments = (midnight + seconds for seconds in (-1, 0, 90, HOUR, DAY, DAY + 2 * HOUR))
        on = [logic.duty(plan, moment, everybody).user for moment in moments]
        assert on == ["ben", "anna", "anna", "anna", "anna", "ben"]
        assert logic.turn_of(layer, "America/St_Johns", midnight + 90) == 2

    def test_weeks_change_on_the_weekday_of_the_first_day(self):
        plan = schedule(LayerRecord(("anna", "ben"), "2026-01-06", "08:00", 1, "weeks"))
        changes = [(None, "01-01 00:00"), *((who, f"01-{day} 08:00") for who, day in [
            ("anna", "06"), ("ben", "13"), ("anna", "20")])]  # fmt: skip
        assert users(plan, "2026-01-01T00:00", "2026-01-21T00:00") == changes


class TestLayers:
    BASE = LayerRecord(("anna",), "2026-01-01", "00:00")

    def test_a_later_layer_goes_before_within_its_hours_and_days(self):
        night = LayerRecord(("ben",), "2026-01-01", "00:00", days=("fri", "sat"), since="22:00", until="06:00")
        assert users(schedule(self.BASE, night), "2026-01-09T12:00", "2026-01-11T12:00") == [
            ("anna", "01-09 12:00"), ("ben", "01-09 22:00"), ("anna", "01-10 06:00"), ("ben", "01-10 22:00"),
            ("anna", "01-11 06:00")]  # fmt: skip

    def test_an_override_goes_before_all_and_the_youngest_before_the_others(self):
        swaps = [override("ben", "2026-01-09T10:00", "2026-01-09T20:00"),
                 override("cleo", "2026-01-09T12:00", "2026-01-09T14:00")]  # fmt: skip
        assert users(schedule(self.BASE, overrides=swaps), "2026-01-09T00:00", "2026-01-10T00:00") == [
            ("anna", "01-09 00:00"), ("ben", "01-09 10:00"), ("cleo", "01-09 12:00"), ("ben", "01-09 14:00"),
            ("anna", "01-09 20:00")]  # fmt: skip

    def test_who_is_gone_is_skipped_for_the_next_in_turn_and_said(self):
        layer = LayerRecord(PEOPLE, "2026-01-01", "00:00", 1, "days", name="Day")
        gone = logic.duty(schedule(layer), at("2026-01-01T12:00"), lambda user: user != "anna")
        assert gone == ("ben", "Day", ("anna",))

    def test_an_override_for_somebody_who_is_gone_leaves_it_to_the_layers(self):
        plan = schedule(self.BASE, overrides=[override("ben", "2026-01-09T10:00", "2026-01-09T20:00")])
        on = logic.duty(plan, at("2026-01-09T12:00"), lambda user: user != "ben")
        assert on == ("anna", "layer 1", ("ben",))

    def test_that_nobody_is_on_call_is_said_with_whom_it_would_be(self):
        layer = LayerRecord(("anna", "ben"), "2026-01-01", "00:00")
        assert logic.duty(schedule(layer), at("2026-01-02T00:00"), lambda user: False) == (None, "", ("anna", "ben"))
        (row,) = logic.shifts(schedule(layer), at("2025-01-02T00:00"), at("2025-01-03T00:00"), everybody)
        assert (row.user, row.skipped) == (None, ())

    def test_who_is_next_is_told_unless_nothing_changes(self):
        alone, nobody = logic.now_and_next(schedule(self.BASE), at("2026-02-01T00:00"), 14 * DAY, everybody)
        assert (alone.user, nobody) == ("anna", None)
        turns = schedule(LayerRecord(("anna", "ben"), "2026-01-01", "00:00", 1, "days"))
        now, following = logic.now_and_next(turns, at("2026-01-01T12:00"), 14 * DAY, everybody)
        assert (now.user, now.end, following.user) == ("anna", at("2026-01-02T00:00"), "ben")
