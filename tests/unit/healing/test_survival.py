"""How long failures last by themselves, and that the learned wait costs hardly more than the best one."""

import random
from statistics import fmean, median

import pytest

from opsapp.healing.logic.survival import Duration, Point, area, best_wait, curve, downtime, share_at

NEVER = 1e9


def test_the_curve_is_that_of_kaplan_and_meier():
    known = [Duration(6, True), Duration(6, True), Duration(6, True), Duration(6, False), Duration(7, True),
             Duration(9, False), Duration(10, True), Duration(10, False)]  # fmt: skip
    points = curve(known)
    assert [point.seconds for point in points] == [0, 6, 7, 10]
    assert [round(point.share, 4) for point in points] == [1.0, 0.625, 0.4688, 0.2344]
    assert share_at(points, 5.9) == 1.0
    assert share_at(points, 100) == points[-1].share


def test_the_curve_without_recoveries_stays_at_one():
    assert curve([Duration(60, False)] * 3) == [Point(0.0, 1.0)]
    assert curve([Duration(0.0, True), Duration(5, False)]) == [Point(0.0, 0.5)]


def test_the_area_is_the_downtime_up_to_then():
    points = [Point(0, 1.0), Point(10, 0.5), Point(20, 0.0)]
    assert (area(points, 0), area(points, 10), area(points, 15), area(points, 60)) == (0, 10, 12.5, 15)
    assert downtime(points, 10, 40) == 10 + 0.5 * 40


def test_too_few_cases_say_nothing():
    assert best_wait([Duration(5, True)] * 4, 30) is None


def test_what_never_recovers_is_healed_at_once():
    assert best_wait([Duration(120, False)] * 10, 30) == (0.0, 30.0, 0.0)


def test_what_recovers_soon_is_waited_for():
    best = best_wait([*[Duration(10, True)] * 9, Duration(600, False)], 100)
    assert best.wait_s == 10
    assert best.saves_s == pytest.approx(100 - 20)


# How long a failure lasts by itself.
WORLDS = {
    "most are back soon": lambda chance: chance.expovariate(1 / 20) if chance.random() < 0.6 else NEVER,
    "back after a restart": lambda chance: chance.uniform(20, 40) if chance.random() < 0.7 else NEVER,
    "slow": lambda chance: chance.expovariate(1 / 300),
    "hardly ever": lambda chance: 10.0 if chance.random() < 0.05 else NEVER,
}


@pytest.mark.parametrize("heal_s", [15, 120])
@pytest.mark.parametrize("name", WORLDS)
def test_the_learned_wait_costs_at_most_a_tenth_more_than_the_best(name, heal_s):
    draw, chance = WORLDS[name], random.Random(4)
    truth = [draw(chance) for _ in range(4000)]
    grid = [*range(0, 150, 5), 200, 300, 600, 1200]

    def expected(wait_s):
        return fmean(lasts if lasts <= wait_s else wait_s + heal_s for lasts in truth)

    oracle = min(map(expected, grid))
    cost = [expected(best_wait([left_alone(draw(chance)) for _ in range(60)], heal_s).wait_s) for _ in range(15)]
    assert median(cost) <= 1.1 * oracle


def left_alone(lasts):
    """Followed for ten minutes."""
    return Duration(min(lasts, 600.0), lasts <= 600)
