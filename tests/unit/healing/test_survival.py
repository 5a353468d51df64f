"""How long failures last by themselves, and that the learned wait costs hardly more than the best one."""

import random
from statistics import fmean, median

import pytest

from opsapp.healing.logic.survival import Duration, LeftAlone, StillBroken, area, best_wait, curve, downtimes, share_at

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
    assert curve([Duration(60, False)] * 3) == [StillBroken(0.0, 1.0)]
    assert curve([Duration(0.0, True), Duration(5, False)]) == [StillBroken(0.0, 0.5)]


def test_the_area_is_the_downtime_up_to_then():
    points = [StillBroken(0, 1.0), StillBroken(10, 0.5), StillBroken(20, 0.0)]
    assert (area(points, 0), area(points, 10), area(points, 15), area(points, 60)) == (0, 10, 12.5, 15)
    assert [(wait.wait_s, wait.downtime_s) for wait in downtimes(points, 40)] == [(0, 40), (10, 30), (20, 15)]


def test_too_few_cases_say_nothing():
    assert best_wait(LeftAlone([Duration(5, True)] * 4), 30) is None


def test_what_never_recovers_is_healed_at_once():
    assert best_wait(LeftAlone([Duration(120, False)] * 10), 30) == (0.0, 30.0, 0.0)


def test_what_recovers_soon_is_waited_for():
    best = best_wait(LeftAlone([*[Duration(10, True)] * 9, Duration(600, False)]), 100)
    assert best.wait_s == 10
    assert best.saves_s == pytest.approx(100 - 20)


# -- what a rule with few cases borrows --------------------------------------------------------------------------------

SOON, LATE = Duration(10, True), Duration(100, True)


@pytest.mark.parametrize(("own", "share"), [(0, 0.0), (1, 0.05), (5, 0.25), (10, 0.5), (19, 0.95), (20, 1), (40, 1)])
def test_a_curve_is_its_own_by_a_twentieth_for_each_case(own, share):
    known = LeftAlone([LATE] * own, [SOON] * 7)
    assert known.weight == pytest.approx(share)
    assert share_at(known.curve(), 50) == pytest.approx(share), "its own cases go on at 50 s, the others' are over"
    assert share_at(known.curve(), 100) == pytest.approx(0)


def test_from_twenty_cases_on_the_curve_is_its_own_alone():
    own = [LATE, Duration(30, False)] * 10
    assert LeftAlone(own, [SOON] * 300).curve() == curve(own)


def test_where_nobody_lends_its_own_cases_count_in_full():
    assert LeftAlone([LATE, SOON]).weight == 1
    assert LeftAlone([LATE, SOON]).curve() == curve([LATE, SOON])


def test_nothing_known_at_all_says_nothing():
    assert best_wait(LeftAlone(), 30) is None
    assert best_wait(LeftAlone([SOON] * 2, [SOON] * 2), 30) is None


def test_a_rule_without_a_case_waits_as_the_others_would():
    assert best_wait(LeftAlone((), [SOON] * 9), 100) == (10, 10, 90)


def test_its_own_cases_outweigh_what_it_borrows_long_before_twenty():
    assert best_wait(LeftAlone([Duration(3600, False)] * 2, [SOON] * 9), 100).wait_s == 10
    assert best_wait(LeftAlone([Duration(3600, False)] * 19, [SOON] * 9), 100).wait_s == 0


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

    def learned_s():
        return best_wait(LeftAlone([left_alone(draw(chance)) for _ in range(60)]), heal_s).wait_s

    def expected(wait_s):
        return fmean(lasts if lasts <= wait_s else wait_s + heal_s for lasts in truth)

    oracle = min(map(expected, grid))
    cost = [expected(learned_s()) for _ in range(15)]
    assert median(cost) <= 1.1 * oracle


def left_alone(lasts):
    """Followed for ten minutes."""
    return Duration(min(lasts, 600.0), lasts <= 600)
