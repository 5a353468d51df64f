"""What is remembered of a metric: hours, of fixed size, and what was usual at an hour."""

from math import isnan

import pytest

from opsapp.healing.logic.metricpast import HOURS, MetricPast

HOUR = 3600.0


def fed(*points):
    past = MetricPast()
    for hour, value in points:
        past.take(hour * HOUR + 1800, value)
    return past


def test_an_hour_is_the_mean_of_its_readings_and_the_newest_is_not_over():
    past = fed((10, 1.0), (10, 2.0), (11, 5.0))
    assert past.hours() == [1.5]
    past.take(11.5 * HOUR, 11.0, 2)
    assert past.mean(11) == 9.0
    assert MetricPast().hours() == []


def test_gaps_are_not_known():
    past = fed((10, 1.0), (13, 2.0), (14, 3.0))
    assert [value for value in past.hours() if not isnan(value)] == [1.0, 2.0]
    assert len(past.hours()) == 4
    assert isnan(past.mean(11))
    assert isnan(past.mean(15))


def test_what_comes_too_late_is_left_out():
    past = fed((10, 1.0), (11, 2.0), (10, 50.0))
    assert past.hours() == [1.0]


def test_it_never_grows():
    past = fed(*((hour, float(hour)) for hour in range(3 * HOURS)))
    assert len(past.means) == HOURS
    assert past.hours() == [float(hour) for hour in range(2 * HOURS, 3 * HOURS - 1)]
    past.take(9 * HOURS * HOUR, 1.0)  # after a silence that is longer than all of it
    assert past.hours() == []
    assert isnan(past.mean(3 * HOURS - 1))


def test_the_usual_is_the_median_of_the_same_hours():
    past = fed(*((day * 24 + 5, value) for day, value in enumerate([1.0, 2.0, 90.0, 3.0])))
    assert past.usual(4 * 24 + 5, 24, 7) == 2.5
    assert past.usual(4 * 24 + 5, 24, 1) == 3.0
    assert past.usual(7 * 24 + 5, 168, 4) == 1.0
    assert isnan(past.usual(4 * 24 + 6, 24, 7))
    with pytest.raises(AttributeError):
        past.more = 1


def test_an_hour_can_be_corrected_before_the_first_within_and_at_the_end():
    past = fed((10, 1.0), (13, 4.0))
    for hour, value in ((8, 8.0), (11, 2.0), (13, 6.0), (15, 9.0)):
        past.correct((hour + 0.5) * HOUR, value, 3)
    assert [None if isnan(value) else value for value in past.hours()] == [8.0, None, 1.0, 2.0, None, 6.0, None]
    past.take(15.6 * HOUR, 5.0)
    assert past.mean(15) == 8.0  # three readings of 9, one of 5
    past.correct((15 - HOURS) * HOUR, 1.0, 1)
    assert past.first == 8
