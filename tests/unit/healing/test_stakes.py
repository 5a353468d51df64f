"""What is at stake, and the level that it leaves: as values."""

import pytest

from opsapp.healing.logic.levels import LEVELS, rank
from opsapp.healing.logic.stakes import (
    BUDGET,
    HANDS_OFF,
    HERE,
    RELEASE,
    BudgetLeft,
    RuleBudget,
    Stake,
    lowered,
    of_budget,
)  # fmt: skip
from opsapp.monitoring.logic.uptime import StateTimes, budget_left

RELEASED, OFF, PRESENT = Stake(RELEASE, "release"), Stake(HANDS_OFF, "hands off"), Stake(HERE, "here")
SLO = RuleBudget(99.0, "30d")


@pytest.mark.parametrize("own", LEVELS)
@pytest.mark.parametrize("stakes", [(), (RELEASED,), (RELEASED, OFF), (RELEASED, OFF, PRESENT), (PRESENT,)])
@pytest.mark.parametrize("risk", ["low", "medium", "high"])
def test_it_is_one_level_at_most_and_never_one_at_which_nobody_is_told(own, stakes, risk):
    less = lowered(own, own, risk, stakes)
    level = own if less is None else less.level
    assert rank(own) - rank(level) in (0, 1)
    assert rank(level) >= min(rank(own), rank("notify"))
    assert (less is None) == (level == own)


def test_somebody_who_is_here_is_asked_about_a_medium_risk_only():
    assert lowered("execute", "execute", "medium", [PRESENT]).level == "approve"
    assert lowered("execute", "execute", "low", [PRESENT]) is None
    assert lowered("execute", "execute", "high", [PRESENT]) is None, "that is asked about anyhow"
    assert lowered("approve", "approve", "medium", [PRESENT]) is None


def test_what_is_lower_already_is_not_lowered_again():
    assert lowered("approve", "execute", "low", [RELEASED]) is None
    assert lowered("notify", "execute", "low", [RELEASED, OFF]) is None


def test_only_the_reasons_that_decide_are_named():
    less = lowered("approve", "approve", "medium", [PRESENT, OFF])
    assert (less.level, less.reasons) == ("notify", (OFF,))
    assert str(less) == "notify instead of approve: hands off"


@pytest.mark.parametrize(
    ("left", "said"),
    [
        ([BudgetLeft("a", 0.5), BudgetLeft("b", 0.1)], None),
        ([BudgetLeft("a", 0.5), BudgetLeft("b", 0.04)], "error budget of b 4 % left (99 % over 30d)"),
        ([BudgetLeft("a", -2.0), BudgetLeft("b", 0.5)], "error budget of a used up (99 % over 30d)"),
        ([BudgetLeft("a", 0.5), BudgetLeft("b", None)], "error budget of b unknown (99 % over 30d)"),
        ([BudgetLeft("", None)], "error budget unknown (99 % over 30d)"),
        ([], None),  # it plays no part
    ],
)
def test_a_budget_is_enough_only_where_all_is_known_to_be(left, said):
    stake = of_budget(SLO, left)
    assert (stake and (stake.kind, stake.said)) == (said and (BUDGET, said))


@pytest.mark.parametrize(
    ("spent", "window", "left"),
    [
        (StateTimes(up=990, down=10), 1000, 0.0),
        (StateTimes(up=495, degraded=500, down=5), 1000, 0.5),
        (StateTimes(up=400), 1000, None),
        (StateTimes(maintenance=900), 1000, None),
        (StateTimes(up=500), 1000, 1.0),
    ],
)
def test_the_share_of_an_error_budget(spent, window, left):
    assert budget_left(spent, window, 99.0) == (left if left is None else pytest.approx(left))
