"""One heal at a time on a host, and none on old ground."""

import pytest

from opsapp.healing.logic.graph import Graph, GraphNode
from opsapp.healing.stages import turns
from opsapp.healing.stages.guards import Lost
from opsapp.healing.stages.moves import Measure, Wait
from opsapp.healing.stages.world import Reading

from .world import case, world

NOW = 1000.0
ACTING = case(id="a", state="verifying", host="h1", action="restart_service", heal_id="a.0", began_at=900.0)
DONE = {
    "id": "a", "state": "closed", "host": "h1", "outcome": "verified", "action": "restart_service", "heal_id": "a.0",
    "began_at": 900.0, "params": {"service": "web"}, "acted_at": 990.0,
}  # fmt: skip


def test_a_host_is_taken_while_another_case_acts_there():
    assert turns.is_taken("b", ACTING, "h1")
    assert not turns.is_taken("a", ACTING, "h1"), "its own next step"
    assert not turns.is_taken("b", ACTING, "h2")
    assert not turns.is_taken("b", case(**DONE), "h1")
    assert not turns.is_taken("b", None, "h1")
    assert not turns.is_taken("b", case(), "h1")


def test_the_same_deed_of_another_case_gets_the_time_that_this_one_would_have_waited():
    def until(case_id="b", holder=case(**DONE), action="restart_service", service="web"):
        return turns.settles_until(case_id, holder, action, {"service": service}, 20.0)

    assert until() == 1010.0
    assert until(case_id="a") == until(holder=None) == until(holder=case(**{**DONE, "outcome": "failed"})) == 0.0
    assert until(action="service_reload") == until(service="db") == 0.0
    assert until(holder=case(**{**DONE, "action": None})) == 0.0
    assert until(holder=case(**{**DONE, "acted_at": None})) == 20.0, "from before this was noted: long over"


def look(verdict=True, measured_at=None, settled_at=0.0, **changes):
    reading = Reading(verdict, {}, measured_at)
    waiting = case(**{"subject": "agent:h1", **changes})
    return turns.look_again(waiting, reading, now=NOW, settled_at=settled_at, patience=60.0)


def test_what_has_not_waited_goes():
    assert look() is None
    assert look(waits_from=NOW - 1) is None


def test_what_has_waited_for_more_than_a_second_is_looked_at_again():
    assert isinstance(look(waits_from=NOW - 1.1, measured_at=NOW - 1.1), Measure)
    assert isinstance(look(waits_from=NOW - 30), Measure)
    assert look(waits_from=NOW - 30, measured_at=NOW - 0.5) is None, "it was just measured"
    assert isinstance(look(waits_from=NOW - 30, measured_at=NOW - 0.5, verdict=None), Measure)


def test_what_nobody_can_measure_goes_as_it_is():
    assert look(waits_from=NOW - 30, subject=None) is None


def test_only_a_reading_from_after_the_question_counts():
    asked = {"waits_from": NOW - 30, "looks_from": NOW - 10}
    assert isinstance(look(**asked, measured_at=NOW - 11), Wait)
    assert look(**asked, measured_at=NOW - 9) is None
    assert look(**asked, measured_at=NOW - 9, verdict=False) == Lost("withdrawn", "condition_gone")
    assert isinstance(look(**asked, measured_at=NOW - 9, verdict=None), Wait)


def test_what_is_not_known_in_time_is_no_ground_to_act():
    asked = {"waits_from": NOW - 90, "looks_from": NOW - 60}
    assert look(**asked, measured_at=NOW - 9, verdict=None) == Lost(
        "withdrawn", "condition_unknown: the condition is unknown"
    )
    assert look(**asked) == Lost("withdrawn", "condition_unknown: nothing fresh was reported")


def test_while_the_same_deed_may_still_work_nothing_is_asked():
    waits = look(waits_from=NOW - 30, measured_at=NOW, settled_at=NOW + 5)
    assert isinstance(waits, Wait)
    assert waits.due == NOW + 5
    assert isinstance(look(waits_from=0.0, looks_from=NOW - 1, settled_at=NOW - 2, measured_at=NOW - 1.5), Wait)


def test_what_was_asked_for_before_it_could_have_settled_is_asked_for_again():
    assert isinstance(look(waits_from=0.0, looks_from=NOW - 10, settled_at=NOW - 2, measured_at=NOW - 9), Measure)


@pytest.mark.parametrize(
    ("acted_at", "told_at", "measured_at", "counts_from"),
    [
        (None, NOW - 10, NOW - 10, 0.0),
        (NOW - 9, NOW - 10, NOW - 10, NOW - 4),
        (NOW - 9, NOW - 10, NOW - 3, 0.0),
        (NOW - 9, NOW - 3, None, 0.0),
        (NOW - 9, None, None, NOW - 4),  # it is as old as the case
        (NOW - 30, None, None, 0.0),
    ],
)
def test_a_reading_counts_from_the_hold_after_a_heal_above_on(acted_at, told_at, measured_at, counts_from):
    nodes = [GraphNode("db"), GraphNode("cache", depends_on=("db",)), GraphNode("web", depends_on=("cache",))]
    seen = world(
        graph=Graph(nodes),
        acted_at=lambda target: acted_at if target == "db" else None,
        reading=lambda about: Reading(True, {}, measured_at),
    )
    waiting = case(target="web", opened_at=NOW - 10, measured_at=told_at)
    assert turns.healed_above(waiting, seen) == counts_from


def test_what_a_heal_above_may_have_brought_up_is_waited_for_and_looked_at_again():
    waiting, reading = case(subject="agent:h1"), Reading(True, {}, NOW - 10)
    known = {"now": NOW, "settled_at": 0.0, "patience": 60.0}
    waits = turns.look_again(waiting, reading, above=NOW + 3, **known)
    assert isinstance(waits, Wait)
    assert (waits.case.why[-1], waits.due) == (turns.HEALED_ABOVE, NOW + 3)
    assert isinstance(turns.look_again(waiting, reading, above=NOW - 3, **known), Measure)
