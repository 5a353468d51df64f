"""Readings that are made again from roll-ups: right in their mean, in an order that fits the neighbours."""

import pytest

from opsapp.healing.engine import past_readings
from opsapp.series import CODES, FINE
from opsapp.series.observations import Row
from opsapp.series.rollup import roll_up

BEGIN = 1_800_000_000


def buckets(values, step=15, status="none"):
    rows = [
        Row((BEGIN + at * step) * 1000, value, CODES[state], 3 * step)
        for at, (value, state) in enumerate(
            (value, status) if not isinstance(value, tuple) else value for value in values
        )
    ]
    return roll_up(rows, (BEGIN * 1000, (BEGIN + len(rows) * step) * 1000), FINE)


def hot_time(points, end):
    """How long the made up readings are above 90."""
    ends = [at for at, _ in points[1:]] + [end]
    return sum(until - at for (at, value), until in zip(points, ends, strict=True) if value > 90)


@pytest.mark.parametrize(("first", "last"), [(30, 70), (25, 35), (21, 39), (10, 50), (5, 15)])
def test_an_onset_and_an_end_are_found_where_they_were(first, last):
    values = [95.0 if first <= at < last else 20.0 for at in range(80)]
    points = list(past_readings.rolled_values(buckets(values), FINE / 1000))
    hot = [at for at, value in points if value > 90]
    assert abs(min(hot) - BEGIN - first * 15) <= 150
    assert hot_time(points, BEGIN + 80 * 15) == pytest.approx((last - first) * 15)


def test_what_never_changed_is_one_reading_a_bucket():
    assert list(past_readings.rolled_values(buckets([7.0] * 40), FINE / 1000)) == [(BEGIN, 7.0), (BEGIN + 300, 7.0)]


def test_a_bucket_with_little_in_it_says_nothing():
    assert [at for at, _ in past_readings.rolled_values(buckets([7.0] * 42), FINE / 1000)] == [BEGIN, BEGIN + 300]
    assert list(past_readings.rolled_values([], 300)) == []


def test_states_come_in_the_order_of_their_neighbours():
    told = [(1.0, "up")] * 30 + [(None, "down")] * 20 + [(1.0, "up")] * 30
    points = list(past_readings.rolled_states(buckets(told)))
    changes = [
        point for before, point in zip([None, *points], points, strict=False) if not before or before[1] != point[1]
    ]
    assert changes == [(BEGIN, "up"), (BEGIN + 450, "down"), (BEGIN + 750, "up")]
