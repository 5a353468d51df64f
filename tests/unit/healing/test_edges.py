"""How sure a dependency is after heals of the parent alone: wrong edges fall out, true ones stay."""

import random

import pytest

from opsapp.healing.logic.edges import CERTAIN, EdgeBelief, confidence, fresh, judged

DAY, HALF_LIFE = 86400.0, 90 * 86400.0
LEAST = 0.2


def incidents_until_out(rng, comes_back, most, learned=True, alone=0.3):
    """After how many incidents an edge falls out whose child comes back in this share of them; None: it stays."""
    belief, now = fresh(learned, 0.0), 0.0
    for number in range(1, most + 1):
        now += rng.expovariate(1 / DAY)
        belief = judged(belief, rng.random() < comes_back, alone, now, HALF_LIFE)
        if confidence(belief, now, HALF_LIFE) < LEAST:
            return number
    return None


@pytest.mark.parametrize(("by_chance", "share"), [(0.0, 1.0), (0.1, 0.99), (0.3, 0.9)])
def test_a_wrong_edge_falls_out_within_ten_incidents(by_chance, share):
    rng = random.Random(7)
    worlds = [incidents_until_out(rng, by_chance, 10, alone=by_chance) for _ in range(2000)]
    assert sum(out is not None for out in worlds) >= share * len(worlds)


def test_a_wrong_edge_whose_child_never_comes_back_is_out_after_three():
    assert incidents_until_out(random.Random(1), 0.0, 10) == 3


@pytest.mark.parametrize("comes_back", [0.95, 1.0])
def test_a_true_edge_stays_for_a_hundred_incidents(comes_back):
    rng = random.Random(11)
    worlds = [incidents_until_out(rng, comes_back, 100) for _ in range(1000)]
    assert sum(out is not None for out in worlds) <= 0.03 * len(worlds)


def test_an_edge_that_was_true_for_long_falls_out_when_the_world_changes():
    belief = fresh(learned=True, now=0.0)
    for day in range(200):
        belief = judged(belief, True, None, day * DAY, HALF_LIFE)
    assert belief.odds == CERTAIN
    incidents = 0
    while confidence(belief, 200 * DAY, HALF_LIFE) >= LEAST:
        belief, incidents = judged(belief, False, None, 200 * DAY, HALF_LIFE), incidents + 1
    assert incidents <= 4
    assert (belief.came_back, belief.stayed, belief.tried) == (200, incidents, 200 + incidents)


def test_without_news_nobody_knows_any_more():
    belief = EdgeBelief(CERTAIN, 0.0)
    sure = [confidence(belief, days * DAY, HALF_LIFE) for days in (0, 90, 900, 9000)]
    assert sure == sorted(sure, reverse=True)
    assert sure[0] == pytest.approx(0.9526, abs=0.001)
    assert sure[-1] == pytest.approx(0.5, abs=0.001)


def test_what_comes_back_by_itself_anyway_says_less():
    known, flaky = (judged(fresh(True, 0.0), True, alone, 0.0, HALF_LIFE).odds for alone in (0.0, 1.0))
    assert fresh(True, 0.0).odds < flaky < known


def test_an_edge_that_a_person_wrote_is_surer_at_first():
    assert fresh(False, 0.0).odds > fresh(True, 0.0).odds
