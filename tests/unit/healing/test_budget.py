"""How rare an anomaly has to be: so many false ones a week in the whole fleet, by what its metrics did."""

import random

from opsapp.healing.logic.anomalies import STRANGE
from opsapp.healing.logic.budget import HIGHEST, LOWEST, bound_of
from opsapp.healing.logic.outlook import MetricOutlook

FINE, DAY = 300.0, 86400.0
NOW = 9.5 * DAY


def fleet(metrics, days, jumps=0.0):
    """Quiet metrics; some jump a few times a week, farther than before."""
    outlooks = []
    for number in range(metrics):
        dice, outlook = random.Random(number), MetricOutlook()
        for at in range(int(days * DAY / FINE)):
            far = 10 ** dice.uniform(1, 3) if dice.random() < jumps else 0.0
            outlook.take(at * FINE, 40 + dice.gauss(0, 1) + far)
        outlooks.append(outlook)
    return outlooks


def detectors(outlooks):
    return [outlook.detector for outlook in outlooks]


def test_a_restless_fleet_has_a_higher_bound_and_a_quiet_one_the_lowest():
    quiet, restless = fleet(5, 9.5), fleet(5, 9.5, 0.0006)
    assert LOWEST <= bound_of(detectors(quiet), 2, NOW) < STRANGE
    bound = bound_of(detectors(restless), 2, NOW)
    assert STRANGE < bound <= HIGHEST
    assert bound_of(detectors(restless), 0, NOW) >= bound >= bound_of(detectors(restless), 20, NOW)
    assert bound_of(detectors(restless), 10_000, NOW) == LOWEST
    scores = [score for outlook in restless for score in outlook.detector.rarest_by_day(2, 9)]
    assert sum(score >= bound for score in scores) <= 2 or bound == HIGHEST


def test_of_few_days_nothing_is_concluded():
    assert bound_of([], 2, NOW) == STRANGE
    assert bound_of(detectors(fleet(2, 4)), 2, NOW) == STRANGE


def test_the_bound_decides_what_is_told():
    [outlook] = fleet(1, 4)
    assert not outlook.take(4 * DAY, 49.0, bound=HIGHEST + 3).strange
    [outlook] = fleet(1, 4)
    assert outlook.take(4 * DAY, 49.0, bound=LOWEST).strange


def test_only_days_that_are_over_count_and_none_before_two_days_of_readings():
    [outlook] = fleet(1, 4.5)
    assert len(outlook.detector.rarest_by_day(0, 4)) == 2
    assert len(outlook.detector.rarest_by_day(0, 5)) == 3
    outlook.take(40 * DAY, 40.0)
    assert len(outlook.detector.rarest_by_day(0, 41)) == 1
