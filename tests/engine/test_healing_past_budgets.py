"""A draft rule that asks for an error budget, over the past: what was left of it then, as it would have been told."""

import pytest

from opsapp.healing.engine.rehearsal import PastBudgets
from opsapp.healing.engine.world import UNKNOWN, MeasuringMonitors
from opsapp.healing.logic.graph import Graph
from opsapp.healing.logic.stakes import RuleBudget
from opsapp.monitoring.engine import budgets_left, register_of
from opsapp.monitoring.logic.settings import MonitorSettings
from opsapp.monitoring.resources import Monitor, monitors_of
from opsapp.series import CODES
from tests.engine.test_healing_whatif import BEGIN, HOT, HOUR, fleet, hot_between
from tests.support.hosts import place
from tests.support.pastfleet import DAY

__all__ = ["fleet"]
WITH_BUDGET = {**HOT, "trust_ceiling": "approve", "budget": {"slo": 90, "window": "6h"}}
DOWN = range(BEGIN + 5 * HOUR, BEGIN + 6 * HOUR)  # more than a tenth of six hours
HOTS = ((4 * HOUR, 4.5 * HOUR), (7 * HOUR, 7.5 * HOUR), (13 * HOUR, 13.5 * HOUR))  # before, with it, when it is old


def watched(here, *, hours=14.0, blind=range(0)):
    """A monitor of the host has seen it down for an hour; in `blind` nobody looked."""
    number = here.node.series.numbers.take()[0]
    here.node.transact(_made, number)
    here.ward.hosts.here.append(place("shop", "a0", subject="monitor:m1", names=("shop", "m1"), interval=60.0))
    for at in range(BEGIN + 60, BEGIN + int(hours * HOUR), 60):
        if at not in blind:
            state = CODES["down" if at in DOWN else "up"]
            here.node.series.journal.add(number, at * 1000, None if at in DOWN else 80.0, state, 180)
    here.settle()


def _made(root, number):
    monitors_of(root)["m1"] = Monitor(MonitorSettings(name="shop", type="http"), number, float(BEGIN))


def told_now(here, root, budget):
    register_of(here.node).catch_up(root)
    return budgets_left(here.node, root, ["m1"], budget.slo, budget.window_s)["m1"]


def stops(answer):
    return [row["blocked_by"] for row in answer["firings"][::-1] if not row["again"]]


def test_each_firing_goes_by_what_was_left_then(fleet):
    here = fleet(hosts=1)
    here.live(14 * HOUR, hot_between(*HOTS), rules=False)
    watched(here)
    assert stops(here.asked(WITH_BUDGET, days=0.6)) == [["level"], ["at stake"], ["level"]]
    generous = {**WITH_BUDGET, "budget": {"slo": 50, "window": "6h"}}
    assert stops(here.asked(generous, days=0.6)) == [["level"]] * 3


def test_what_was_not_measured_then_is_no_budget(fleet):
    here = fleet(hosts=1)
    here.live(14 * HOUR, hot_between(*HOTS), rules=False)
    watched(here, blind=range(BEGIN + 7 * HOUR, BEGIN + 12 * HOUR))
    assert stops(here.asked(WITH_BUDGET, days=0.6)) == [["level"], ["at stake"], ["at stake"]]


def test_what_nothing_measures_has_none(fleet):
    here = fleet(hosts=1)
    here.live(14 * HOUR, hot_between(*HOTS), rules=False)
    assert stops(here.asked(WITH_BUDGET, days=0.6)) == [["at stake"]] * 3


@pytest.mark.parametrize("later", [0, 9 * DAY])
@pytest.mark.parametrize("hours", [1.2, 5.5, 5.9, 6.1, 9.0, 13.7])
def test_it_says_what_was_told_at_that_time(fleet, hours, later):
    """The same clock reading, asked at that time and long after it, when raw readings are summed up."""
    here = fleet(hosts=1)
    budget, names = RuleBudget(90.0, "6h"), frozenset({"a0", "box-0"})
    here.clock.advance(hours * HOUR)
    watched(here, hours=hours)
    told, at = here.node.transact(lambda root: told_now(here, root, budget)), here.clock.now()
    here.clock.advance(later)
    here.settle()
    past = PastBudgets(MeasuringMonitors(here.ward.hosts.inventory(None), Graph({})), at - HOUR, at)
    assert past.left(at, budget, "agent:a0", names)[0].share is None, "it is read when it is asked for"
    assert past.learn(here.node)
    assert past.left(at, budget, "agent:a0", names) == [("shop", pytest.approx(told, abs=0.02))]
    assert not past.learn(here.node)
    assert past.left(at, budget, "agent:a9", frozenset({"a9"})) == UNKNOWN
