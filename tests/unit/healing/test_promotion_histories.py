"""Whole histories of a rule through the code that promotes it, in worlds in which counting alone would be wrong. The
full numbers: `make bench ARGS=evidence`."""

import math
from statistics import median

import pytest

from tests.support import wavehistories
from tests.support.histories import (
    SWINGING,
    USEFUL,
    USELESS,
    History,
    bad_after,
    constant,
    false_alarm,
    keeps_level,
    needless_after,
    ranges_that_hold,
)

FALSE = 1 / 25  # so often at most is a rule that helps nothing ever believed to help

pytestmark = pytest.mark.no_cover


def at_most(histories, chance=FALSE, surprise=1e-4):
    """More of them would be a surprise of one in 10,000."""
    tail, count = 1.0, -1
    while tail >= surprise:
        count += 1
        tail -= math.comb(histories, count) * chance**count * (1 - chance) ** (histories - count)
    return count


def believed(name, histories, outages):
    """How many histories believe that it helps, and in how many the rule acts by itself."""
    lived = [History(USELESS[name], f"{name} {seed}").lived(outages) for seed in range(histories)]
    return sum(history.known_after is not None for history in lived), sum(history.acted_alone for history in lived)


@pytest.mark.parametrize("name", USELESS)
def test_what_helps_nothing_is_hardly_ever_believed_to_help(name):
    helps, acts = believed(name, histories=60, outages=100)
    assert helps <= at_most(60)
    assert acts <= helps, "nothing acts by itself without proof"


@pytest.mark.nightly("thousands of histories")
@pytest.mark.parametrize("name", USELESS)
def test_what_helps_nothing_is_hardly_ever_believed_to_help_in_long_histories(name):
    assert believed(name, histories=300, outages=200)[0] <= at_most(300)


@pytest.mark.parametrize(("name", "goal"), [("30 to 90 %", 40), ("50 to 90 %", 70)])
def test_what_helps_is_known_soon_and_acts_by_itself(name, goal):
    lived = [History(USEFUL[name], f"{name} {seed}").lived(200) for seed in range(60)]
    assert median(history.known_after or math.inf for history in lived) <= goal
    assert sum(history.acted_alone for history in lived) >= 50


@pytest.mark.nightly("thousands of histories")
@pytest.mark.parametrize(("alone", "healed"), [(0.9, 0.9), (0.9, 0.97), (0.3, 0.9)])
def test_of_ten_ranges_that_people_read_eight_hold_the_truth(alone, healed):
    assert 0.75 <= ranges_that_hold(alone, healed, histories=2000, outages=200) / 2000 <= 0.90


@pytest.mark.nightly("thousands of histories")
@pytest.mark.parametrize("name", ["90 % whatever is done", "known late"])
def test_what_helps_nothing_hardly_ever_comes_to_act_by_itself(name):
    """At most 3 % of 2,000; 4 % are promised."""
    lived = [History(USELESS[name], f"bench {name} {seed}").lived(200) for seed in range(2000)]
    assert sum(history.acted_alone for history in lived) <= 0.03 * 2000


# -- what has become needless -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("before", "goal"), [(0.3, 80), (0.5, 130)])
def test_a_heal_that_has_become_needless_is_noticed(before, goal):
    after = [needless_after(before, 0.95, f"needless {seed}") for seed in range(60)]
    acting = [cases for cases in after if cases is not None]
    assert len(acting) >= 50
    assert median(acting) <= goal


@pytest.mark.parametrize("alone", [0.1, 0.3, 0.5])
def test_a_rule_that_did_not_change_is_hardly_ever_thought_needless(alone):
    """At most 10 % within 500 cases, of which one in ten is left alone."""
    assert sum(false_alarm(alone, f"{alone} {seed}") for seed in range(150)) <= at_most(150, chance=0.1)


@pytest.mark.parametrize("name", SWINGING)
def test_a_night_is_not_taken_for_a_change_by_waves(name):
    """Of the rules that help by day and at night, at most one of ten is thought needless within 100 outages."""
    known = wavehistories.known(SWINGING[name], name, histories=20, outages=100)
    assert known.needless * 20 / 100 <= at_most(20, chance=0.1)
    assert known.helps == 100


def test_waves_notice_soon_that_a_heal_has_become_needless():
    assert median(wavehistories.needless_after(0.3, 0.95, f"waves {seed}") for seed in range(10)) <= 12


@pytest.mark.nightly("hundreds of long histories")
@pytest.mark.parametrize("name", SWINGING)
def test_a_night_is_not_taken_for_a_change_by_coins(name):
    lost = sum(not keeps_level(SWINGING[name], f"swings {seed}") for seed in range(200))
    assert lost <= at_most(200, chance=0.1)


# -- what has become bad -----------------------------------------------------------------------------------------------


def test_a_heal_that_has_become_bad_is_noticed():
    assert median(bad_after(0.5, f"bad {seed}") for seed in range(20)) <= 40


def test_a_rule_that_heals_nine_of_ten_keeps_its_level():
    """At most 10 % lose it within 500 cases, by either of the two detectors."""
    lost = sum(not keeps_level(constant(0.1, 0.9), f"keeps {seed}") for seed in range(12))
    assert lost <= at_most(12, chance=0.1)


@pytest.mark.nightly("hundreds of long histories")
@pytest.mark.parametrize(("alone", "healed"), [(0.1, 0.9), (0.3, 0.9), (0.5, 0.95)])
def test_rules_that_do_not_change_keep_their_level(alone, healed):
    lost = sum(not keeps_level(constant(alone, healed), f"keeps {seed}") for seed in range(200))
    assert lost <= at_most(200, chance=0.1)
