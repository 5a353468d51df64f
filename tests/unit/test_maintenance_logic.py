"""When a window is on: first occurrence, cron, changes of the clock, leap days, hands."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opsapp.maintenance import logic
from opsapp.maintenance.logic import MAINTENANCE, Occurrence, WindowPlan

BERLIN = "Europe/Berlin"


def at(text, zone=BERLIN, fold=0):
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp()


def plan(start, end, recurring=None, zone=BERLIN, **more):
    times = {"start": logic.instant(start, zone), "end": logic.instant(end, zone)}
    about = {"id": "w", "family": MAINTENANCE, "name": "w", "scope": None, "effect": "disabled"}
    return WindowPlan(**about, **times, cron=recurring, length=logic.length_of(start, end), zone=zone)._replace(**more)


ONCE = plan("2026-01-10T22:00:00", "2026-01-11T02:00:00")
NIGHTLY = plan("2026-01-10T22:00:00", "2026-01-11T02:00:00", "0 22 * * *")


@pytest.mark.parametrize(
    ("now", "on"),
    [
        ("2026-01-10T21:59:59", False),
        ("2026-01-10T22:00:00", True),
        ("2026-01-11T01:59:59", True),
        ("2026-01-11T02:00:00", False),
        ("2026-01-11T22:30:00", False),
    ],
)
def test_once(now, on):
    assert (logic.current(ONCE, at(now)) is not None) is on


def test_all_times_between_two_moments():
    since, until = at("2026-01-10T23:00"), at("2026-01-13T22:00")
    nights = [Occurrence(at(f"2026-01-{day}T22:00"), at(f"2026-01-{day + 1}T02:00")) for day in (10, 11, 12)]
    assert logic.occurrences(NIGHTLY, since, until, 9) == nights
    assert logic.occurrences(NIGHTLY, since, until, 2) == nights[:2]
    ended = NIGHTLY._replace(void_until=nights[1].start + 60)
    assert logic.occurrences(ended, nights[1].start - 1, until, 9) == [
        nights[1]._replace(end=nights[1].start + 60),
        nights[2],
    ]
    by_hand = ONCE._replace(forced=(since + 86400, since + 90000), void_until=until)
    assert logic.occurrences(by_hand, since, until, 9) == [Occurrence(since + 86400, since + 90000)]
    assert logic.occurrences(ONCE, until, until + 9, 9) == []


@pytest.mark.parametrize(
    ("now", "span"),
    [
        ("2026-01-09T22:30", None),
        ("2026-01-10T23:00", ("2026-01-10T22:00", "2026-01-11T02:00")),
        ("2026-01-11T21:00", None),
        ("2026-01-12T01:00", ("2026-01-11T22:00", "2026-01-12T02:00")),
        ("2028-02-29T01:00", ("2028-02-28T22:00", "2028-02-29T02:00")),
        ("2028-02-29T22:00", ("2028-02-29T22:00", "2028-03-01T02:00")),
        # The clocks go forward at 02:00 and back at 03:00: a window lasts as long as ever.
        ("2026-03-29T03:30", None),
        ("2026-03-28T23:00", ("2026-03-28T22:00", "2026-03-29T03:00")),
        ("2026-10-24T23:00", ("2026-10-24T22:00", "2026-10-25T02:00")),
    ],
)
def test_every_night(now, span):
    assert logic.current(NIGHTLY, at(now)) == (span and Occurrence(at(span[0]), at(span[1])))


def test_a_start_in_the_hour_that_the_clocks_skip_is_when_they_jump():
    window = plan("2026-01-10T02:30", "2026-01-10T03:30", "30 2 * * *")
    found = logic.following(window, at("2026-03-29T01:00"))
    assert found == Occurrence(at("2026-03-29T03:00"), at("2026-03-29T03:00") + 3600)
    assert logic.instant("2026-03-29T02:30", BERLIN) == at("2026-03-29T03:00")


def test_a_start_in_the_hour_that_comes_twice_is_the_first():
    window = plan("2026-01-10T02:30", "2026-01-10T03:00", "30 2 * * *")
    first, second = at("2026-10-25T02:30"), at("2026-10-25T02:30", fold=1)
    assert second - first == 3600
    assert logic.following(window, at("2026-10-25T00:00")) == Occurrence(first, first + 1800)
    assert logic.current(window, second + 60) is None
    assert logic.following(window, second).start == at("2026-10-26T02:30")


def test_the_29th_of_february_waits_for_its_year():
    window = plan("2024-02-29T01:00", "2024-02-29T02:00", "0 1 29 2 *")
    assert logic.following(window, at("2026-03-01T00:00")) == Occurrence(at("2028-02-29T01:00"), at("2028-02-29T02:00"))


def test_ticks_before_the_start_do_not_count_and_the_start_need_not_be_one():
    window = plan("2026-01-10T12:15", "2026-01-10T12:45", "0 * * * *")
    assert logic.current(window, at("2026-01-10T12:05")) is None
    assert logic.current(window, at("2026-01-10T12:20")) is not None
    assert logic.current(window, at("2026-01-10T12:50")) is None
    assert logic.current(window, at("2026-01-10T13:29")) == Occurrence(at("2026-01-10T13:00"), at("2026-01-10T13:30"))


def test_occurrences_may_overlap_and_the_last_end_counts():
    window = plan("2026-01-10T12:00", "2026-01-10T14:00", "0 * * * *")
    assert logic.current(window, at("2026-01-10T15:30")).end == at("2026-01-10T17:00")


def test_a_tick_a_minute_and_a_month_of_length_do_not_cost_a_walk_through_all(monkeypatch):
    window = plan("2026-01-01T00:00", "2026-01-31T00:00", "* * * * *")
    asked, real = [], logic.cron.next_time
    monkeypatch.setattr(logic.cron, "next_time", lambda *about: asked.append(about) or real(*about))
    assert logic.current(window, at("2026-06-01T12:00:30")).start == at("2026-06-01T12:00")
    assert len(asked) < 10


def test_hands():
    now = at("2026-01-11T00:00")
    assert logic.current(ONCE._replace(void_until=now), now) is None
    assert logic.current(NIGHTLY._replace(void_until=now), at("2026-01-11T22:30")) is not None
    forced = ONCE._replace(enabled=False, forced=(now, now + 60))
    assert logic.current(forced, now + 30) == Occurrence(now, now + 60)
    assert logic.current(forced, now + 60) is None
    assert logic.current(ONCE._replace(enabled=False), now) is None
    assert logic.following(NIGHTLY._replace(enabled=False), now) is None


def test_what_comes_next():
    assert logic.following(ONCE, at("2026-01-10T00:00")) == Occurrence(ONCE.start, ONCE.end)
    assert logic.following(ONCE, at("2026-01-10T23:00")) is None
    assert logic.steady_until(ONCE, at("2026-01-10T00:00")) == ONCE.start
    assert logic.steady_until(ONCE, at("2026-01-10T23:00")) == ONCE.end
    assert logic.steady_until(ONCE, at("2026-01-12T00:00")) == float("inf")


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-10",
        "2026-01-10 22:00",
        "2026-01-10T22:00Z",
        "2026-01-10T22:00+01:00",
        "20260110T2200",
        "2026-02-29T22:00",
        "2026-01-10T24:30",
        "tomorrow",
        "",
    ],
)
def test_what_is_no_date_time_without_a_zone(text):
    with pytest.raises(ValueError, match=r"must be|is no"):
        logic.read_wall(text)


@settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.datetimes(datetime(2026, 1, 1), datetime(2028, 12, 31)).map(lambda wall: wall.replace(microsecond=0)),
    st.integers(1, 7 * 1440),
    st.sampled_from([None, "0 22 * * *", "*/15 * * * *", "30 2 * * sun", "0 0 1 * *", "0 1 29 2 *"]),
    st.integers(0, 400 * 86400),
    st.sampled_from(["UTC", BERLIN, "America/New_York", "Australia/Lord_Howe"]),
)
def test_on_and_next_agree(start, minutes, recurring, after, zone):
    """What is called next is on when it comes, and nothing changes before it is said to."""
    end = start + timedelta(minutes=minutes)
    window = plan(start.isoformat(), end.isoformat(), recurring, zone)
    if window.end <= window.start:
        return
    now = window.start + after
    on, to_come = logic.current(window, now), logic.following(window, now)
    assert on is None or on.start <= now < on.end
    if to_come is not None:
        assert to_come.start > now
        assert logic.current(window, to_come.start) is not None
    still = logic.steady_until(window, now)
    for moment in (now + 1, now + 3600):
        if moment < still:
            assert (logic.current(window, moment) is None) == (on is None)
