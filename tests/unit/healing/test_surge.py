"""A rise that began less than two hours ago and meets its threshold within four: told from its minutes, or no alarm."""

import math
import random

import pytest

from opsapp.healing.logic.outlook import MetricOutlook
from opsapp.healing.logic.surge import KEPT, Minutes
from tests.support import metrics_of_hosts as hosts
from tests.support.madeup import BEGIN, DAY, HOUR

FINE = 300.0


def fed(points):
    """Without the anomalies, which cost most and say nothing here."""
    outlook = MetricOutlook(1.0)
    for at, value in points:
        outlook.past.take(at, value)
        outlook.minutes.take(at, value)
    return outlook


def rising(slope, minutes, level=40.0, days=6, noise=0.3, seed=1):
    """A calm disk, which for so many minutes has filled by `slope` an hour."""
    dice = random.Random(f"{slope}{seed}")
    count = int(days * DAY / FINE) + seed % 12
    began = BEGIN + count * FINE
    times = [BEGIN + at * FINE for at in range(count + minutes // 5)]
    return [(at, level + dice.gauss(0, noise) + slope * max(0.0, at - began) / HOUR) for at in times]


@pytest.mark.parametrize("minutes", [35, 60, 90])
@pytest.mark.parametrize("slope", [15, 30])
def test_a_disk_that_fills_within_four_hours_is_foretold_from_its_minutes(slope, minutes):
    if slope * minutes / 60 >= 45:
        minutes = 45
    for seed in range(4):
        points = rising(slope, minutes, seed=seed)
        at, value = points[-1]
        full = at + (90 - value) / slope * HOUR
        forecast = fed(points).look(90.0, value)
        assert forecast.sudden
        assert forecast.within(DAY, at)
        assert forecast.low <= full <= forecast.high
        assert abs(forecast.hits_at - full) < 0.25 * (full - at)


def test_most_of_those_that_are_full_within_four_hours_are_told_half_an_hour_before():
    told = []
    for kind in (hosts.flat, hosts.daily):
        for seed in range(4):
            points, began, met = hosts.running_away(kind, seed, 20, 5, FINE)
            if HOUR <= met - began <= 4 * HOUR:
                told.append(any(is_told(points, at) for at in range(6, int((met - began) / FINE) - 6, 3)))
    assert sum(told) >= 0.6 * len(told) > 3


def is_told(points, after):
    """So many points after the rise began, five days in."""
    part = points[: int(5 * DAY / FINE) + after]
    forecast = fed(part).look(90.0, part[-1][1])
    return forecast.within(DAY, part[-1][0])


@pytest.mark.parametrize("minutes", [5, 15])
def test_a_few_minutes_are_no_rise_yet(minutes):
    points = rising(20, minutes)
    assert not fed(points).look(90.0, points[-1][1]).sudden


def test_a_step_what_has_stopped_and_what_is_too_slow_are_none():
    calm = rising(0, 60)
    stepped = [(at, value + 15 * (n > len(calm) - 8)) for n, (at, value) in enumerate(calm)]
    stopped = [*rising(20, 45), *[(calm[-1][0] + n * FINE, 55.0) for n in range(-2, 4)]]
    for points in (stepped, stopped, rising(4, 60)):
        assert not fed(points).look(90.0, points[-1][1]).sudden


def test_what_rises_so_every_night_or_did_so_before_is_none():
    """A job that fills 30 points within an hour: at the same hour each night, or at any."""
    for shift in (0, 7):
        dice, values = random.Random(1), []
        for at in range(int(9 * DAY / FINE) + 9):
            day, since = divmod(at * FINE, DAY)
            into = since - shift * HOUR * (int(day) * 5 % 3)
            full = max(0, min(1, into / HOUR, 5 - into / HOUR))
            values.append((BEGIN + at * FINE, 40 + 30 * full + dice.gauss(0, 0.3)))
        assert not fed(values).look(90.0, values[-1][1]).sudden


@pytest.mark.parametrize(("hour", "is_own"), [(5, True), (12, False)])
def test_what_is_twice_as_steep_as_at_this_hour_of_other_days_is_none(hour, is_own):
    """Backups fill ten points an hour from noon until two. A rise of twenty is news at five, and not at noon."""
    dice, values, begin = random.Random(1), [], 8 * DAY + hour * HOUR
    for at in range(int((begin + 75 * 60) / FINE)):
        backups = max(0.0, min(2.0, at * FINE % DAY / HOUR - 12, 23 - at * FINE % DAY / HOUR))
        tonight = max(0.0, (at * FINE - begin) / HOUR)
        level = 20 * tonight if tonight else 10 * backups
        values.append((BEGIN + at * FINE, 40 + level + dice.gauss(0, 0.1)))
    assert fed(values).look(90.0, values[-1][1]).sudden is is_own


def test_a_gap_in_the_middle_of_it_is_not_crossed():
    points = rising(20, 60)
    assert not fed(points[:-8] + points[-4:]).look(90.0, points[-1][1]).sudden
    assert fed([]).look(90.0, 1.0) is None


def test_it_never_grows():
    minutes = Minutes()
    for at in range(100):
        minutes.take(at * FINE, float(at))
    assert (list(minutes.values), len(minutes.times)) == (list(range(100 - KEPT, 100)), KEPT)


def alarms(kind, seed, days):
    """How often it was told of a quiet host that it meets its threshold, by its minutes and not by its hours."""
    outlook, told = MetricOutlook(1.0), 0
    for count, (at, value) in enumerate(hosts.healthy(kind, seed, days, FINE)):
        outlook.past.take(at, value)
        outlook.minutes.take(at, value)
        if count % 3 == 0 and at > BEGIN and count > 3 * DAY / FINE and is_moving(outlook.minutes):
            told += outlook.look(90.0, value).within(DAY, at) and not without_minutes(outlook, value).within(DAY, at)
    return told


def without_minutes(outlook, value):
    kept, outlook.minutes = outlook.minutes, Minutes()
    forecast = outlook.look(90.0, value)
    outlook.minutes = kept
    return forecast


def is_moving(minutes):
    """What has not risen by three in half an hour is no surge anyhow."""
    return minutes.values[-1] - min(minutes.values[-7:]) > 3 and not math.isnan(minutes.values[-1])


@pytest.mark.parametrize("kind", hosts.KINDS, ids=lambda kind: kind.__name__)
def test_quiet_hosts_raise_no_alarm_by_their_minutes(kind):
    assert sum(alarms(kind, seed, 6) for seed in (0, 2)) == 0


@pytest.mark.nightly("months of minutes of many hosts")
@pytest.mark.no_cover
@pytest.mark.parametrize("kind", hosts.KINDS, ids=lambda kind: kind.__name__)
def test_many_quiet_hosts_raise_no_alarm_by_their_minutes(kind):
    assert sum(alarms(kind, seed, 14) for seed in range(12)) <= 1
