"""Where a metric is heading: the robust line, its interval, what it is worth, and what does not fit."""

import random

import pytest

from opsapp.healing.logic.forecast import DAY, coverage, enough, forecast, line_through, strange, thin

HOUR = 3600.0


def ramp(hours=96, start=50.0, per_hour=0.3, noise=0.5, seed=1):
    dice = random.Random(seed)
    return [(hour * HOUR, start + per_hour * hour + dice.gauss(0, noise)) for hour in range(hours)]


def test_three_days_or_200_points_are_enough():
    assert enough(ramp(74))
    assert not enough(ramp(70))
    assert enough([(second, 1.0) for second in range(200)])
    assert not enough([(second, 1.0) for second in range(199)])
    assert forecast(ramp(70), 90, 70 * HOUR) is None


def test_a_ramp_meets_its_threshold_when_it_does():
    found = forecast(ramp(96), 90, 96 * HOUR)  # at 50 + 0.3 h: 90 after 133 h
    assert found.low <= 133.3 * HOUR <= found.high
    assert abs(found.hits_at - 133.3 * HOUR) < 4 * HOUR
    assert found.coverage > 0.9
    assert found.within(48 * HOUR, 96 * HOUR)
    assert not found.within(24 * HOUR, 96 * HOUR)


def test_outliers_do_not_move_it():
    points = ramp(96)
    for at in range(0, 96, 10):
        points[at] = (points[at][0], 1000.0)
    assert abs(forecast(points, 90, 96 * HOUR).hits_at - 133.3 * HOUR) < 8 * HOUR


@pytest.mark.parametrize("per_hour", [0.0, -0.3])
def test_what_does_not_rise_meets_nothing(per_hour):
    found = forecast([(hour * HOUR, 50 + per_hour * hour) for hour in range(96)], 90, 96 * HOUR)
    assert (found.hits_at, found.low, found.high) == (None, None, None)
    assert not found.within(72 * HOUR, 96 * HOUR)


def test_noise_has_an_interval_that_says_nothing():
    for seed in range(20):
        dice = random.Random(seed)
        found = forecast([(hour * HOUR, dice.uniform(20, 80)) for hour in range(96)], 90, 96 * HOUR)
        assert not found.within(72 * HOUR, 96 * HOUR)


def test_a_past_that_was_not_foretold_is_not_trusted():
    points = ramp(72, per_hour=0.0, noise=0.01) + [(hour * HOUR, 50 + 3.0 * (hour - 72)) for hour in range(72, 82)]
    found = forecast(points, 90, 82 * HOUR)
    assert found is None or not found.within(72 * HOUR, 82 * HOUR)


def test_what_is_past_its_threshold_meets_it_now():
    found = forecast(ramp(96, start=95, per_hour=0.1), 90, 96 * HOUR)
    assert found.hits_at == 96 * HOUR


def test_points_of_one_moment_have_no_line():
    assert line_through([(1.0, 2.0), (1.0, 3.0)]) is None
    assert forecast([(1.0, 2.0)] * 300, 90, 2.0) is None


def test_thinned_to_medians_in_order():
    thinned = thin([(float(at), float(at % 7)) for at in range(1000)], 10)
    assert len(thinned) == 10
    assert [time for time, _ in thinned] == sorted(time for time, _ in thinned)


def test_strange_is_what_lies_far_above_all_that_was():
    calm = [(at * 60.0, 20.0 + at % 3) for at in range(400)]
    assert strange(calm, [(24100.0, 80.0), (24160.0, 82.0)]) is not None
    assert strange(calm, [(24100.0, 80.0), (24160.0, 21.0)]) is None  # not all of it
    assert strange(calm, [(24100.0, 29.0)]) is None  # hardly more
    assert strange(calm[:50], [(24100.0, 80.0)]) is None  # too little is known
    assert strange(calm, []) is None
    assert DAY == 86400


def test_a_past_too_short_to_be_tried_foretold_nothing():
    assert coverage([(0.0, 1.0), (60.0, 2.0), (120.0, 3.0)]) == 0.0
