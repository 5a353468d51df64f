"""Schedules against tables of dates, clock changes and leap days included."""

import itertools
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from opsapp.lib.cron import BadSchedule, next_time, parse, problem

BERLIN = "Europe/Berlin"


def at(text, zone="UTC", fold=0):
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp()


def series(expression, zone, start, count):
    """The next few, as wall time with the offset."""
    found, moment = [], start
    for _ in range(count):
        moment = next_time(expression, zone, moment)
        found.append(datetime.fromtimestamp(moment, ZoneInfo(zone)).strftime("%m-%d %H:%M %z"))
    return found


@pytest.mark.parametrize(
    ("expression", "start", "expected"),
    [
        ("*/15 * * * *", "2026-01-01T00:00:00", "2026-01-01T00:15:00"),
        ("*/15 * * * *", "2026-01-01T00:14:59", "2026-01-01T00:15:00"),
        ("0 4 * * *", "2026-01-01T04:00:00", "2026-01-02T04:00:00"),
        ("30 6 * * mon-fri", "2026-01-02T07:00:00", "2026-01-05T06:30:00"),
        ("0 0 29 2 *", "2026-01-01T00:00:00", "2028-02-29T00:00:00"),
        ("0 0 29 2 *", "2096-03-01T00:00:00", "2104-02-29T00:00:00"),  # 2100 is no leap year
        ("0 12 13 * 5", "2026-01-01T00:00:00", "2026-01-02T12:00:00"),  # day or weekday, as cron has it
        ("0 0 31 * *", "2026-01-31T00:00:00", "2026-03-31T00:00:00"),
        ("50-10/10 * * * *", "2026-01-01T00:10:00", "2026-01-01T00:50:00"),  # a range may go over the end of its field
        ("50-10/10 * * * *", "2026-01-01T00:50:00", "2026-01-01T01:00:00"),
        ("0 22-2 * * *", "2026-01-01T23:00:00", "2026-01-02T00:00:00"),
        ("0 22-2 * * *", "2026-01-02T02:00:00", "2026-01-02T22:00:00"),
        ("0 6 * * fri-mon", "2026-01-05T06:00:00", "2026-01-09T06:00:00"),
        ("@daily", "2026-01-01T00:00:01", "2026-01-02T00:00:00"),
        ("@hourly", "2026-01-01T00:00:00", "2026-01-01T01:00:00"),
        ("@monthly", "2026-01-15T00:00:00", "2026-02-01T00:00:00"),
        ("@Weekly", "2026-01-01T00:00:00", "2026-01-04T00:00:00"),
        ("@yearly", "2026-01-01T00:00:00", "2027-01-01T00:00:00"),
    ],
)
def test_the_next_time(expression, start, expected):
    assert next_time(expression, "UTC", at(start)) == at(expected)


def test_a_daily_run_comes_once_on_the_day_without_its_hour():
    found = series("30 2 * * *", BERLIN, at("2026-03-28T00:00:00", BERLIN), 3)
    assert found == ["03-28 02:30 +0100", "03-29 03:00 +0200", "03-30 02:30 +0200"]


def test_nothing_is_skipped_when_asked_within_the_jump():
    jump = at("2026-03-29T01:00:00")
    assert next_time("30 2 * * *", BERLIN, jump - 0.5) == jump
    assert next_time("30 2 * * *", BERLIN, jump) == at("2026-03-30T02:30:00", BERLIN)


def test_a_daily_run_comes_once_on_the_day_that_has_its_hour_twice():
    found = series("30 2 * * *", BERLIN, at("2026-10-24T00:00:00", BERLIN), 3)
    assert found == ["10-24 02:30 +0200", "10-25 02:30 +0200", "10-26 02:30 +0100"]
    second_pass = at("2026-10-25T02:10:00", BERLIN, fold=1)
    assert next_time("30 2 * * *", BERLIN, second_pass) == at("2026-10-26T02:30:00", BERLIN)


def test_what_repeats_goes_by_elapsed_time():
    assert series("30 * * * *", BERLIN, at("2026-10-25T01:00:00", BERLIN), 4) == [
        "10-25 01:30 +0200",
        "10-25 02:30 +0200",
        "10-25 02:30 +0100",
        "10-25 03:30 +0100",
    ]
    assert series("0 * * * *", BERLIN, at("2026-03-29T00:30:00", BERLIN), 3) == [
        "03-29 01:00 +0100",
        "03-29 03:00 +0200",
        "03-29 04:00 +0200",
    ]
    spaced = [at("2026-10-25T00:00:00")]
    for _ in range(30):
        spaced.append(next_time("*/20 * * * *", BERLIN, spaced[-1]))
    assert {later - earlier for earlier, later in itertools.pairwise(spaced)} == {1200.0}


def test_every_day_of_a_year_has_its_run_exactly_once():
    for zone in (BERLIN, "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "America/Sao_Paulo"):
        moment, days = at("2026-01-01T00:00:00", zone) - 1, []
        for _ in range(365):
            moment = next_time("15 2 * * *", zone, moment)
            days.append(datetime.fromtimestamp(moment, ZoneInfo(zone)).date())
        assert len(set(days)) == 365, zone
        assert (days[0].isoformat(), days[-1].isoformat()) == ("2026-01-01", "2026-12-31"), zone


@pytest.mark.parametrize(
    "bad",
    ["", "* * * *", "* * * * * *", "61 * * * *", "* 24 * * *", "x * * * *", "@reboot", "* * 31 2 *", "R * * * *",
     "H * * * *", "*/0 * * * *", "1-70 * * * *", "; * * * *", "* * 0 * *", "@every 5m"],
)  # fmt: skip
def test_what_is_no_schedule(bad):
    with pytest.raises(BadSchedule):
        parse(bad)
    assert problem(bad)


def test_what_is_one():
    assert problem("0 4 * * sun") is None
    assert parse("  0  4 * * SUN ") == "0 4 * * sun"
