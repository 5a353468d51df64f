"""Recorded alerts under another `for` and cooldown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.healing.logic.onsets import Fired, Timing, still_fire

INF = float("inf")


def alerts(*times, **more):
    return [Fired(at, **{"until": at, **more}) for at in times]


def fire(recorded, before=(0, 300), after=(0, 300)):
    return still_fire(recorded, Timing(*before), Timing(*after))


@given(st.lists(st.integers(0, 5000), max_size=20), st.integers(0, 600), st.integers(1, 600))
def test_the_same_timing_changes_nothing(times, hold, cooldown):
    recorded = alerts(*sorted(times))
    assert fire(recorded, (hold, cooldown), (hold, cooldown)) == [True] * len(times)
    taken_in = [row._replace(taken_in=True, cooldown_most=55) if row.at % 3 else row for row in recorded]
    assert fire(taken_in, (hold, cooldown), (hold, cooldown)) == [True] * len(times)


@pytest.mark.parametrize(
    ("after", "fires"),
    [
        ((0, 600), [True, False, True, False, True]),
        ((0, 900), [True, False, False, True, False]),
        ((0, 10_000), [True, False, False, False, False]),
        ((0, 60), [True] * 5),  # more would have fired, of which nothing is recorded
    ],
)
def test_one_onset_fires_again_after_the_cooldown(after, fires):
    assert fire(alerts(0, 305, 610, 920, 1225), after=after) == fires


def test_a_new_onset_fires_whatever_the_cooldown():
    assert fire(alerts(0, 100, 4000), after=(0, 10_000)) == [True] * 3  # before the cooldown, and long after it
    assert fire(alerts(0, 305, over=True), after=(0, 10_000)) == [True] * 2


def test_what_was_suppressed_rests_for_a_shorter_time():
    recorded = alerts(0, 60, 120, cooldown_most=60)
    assert fire(recorded, after=(0, 600)) == [True] * 3
    assert fire(recorded, after=(0, 30)) == [True] * 3


def test_what_another_case_took_in_comes_again_as_the_same_alert():
    """Its cooldown counts from its first time, so the alerts at 600 and 1200 are of the same onset."""
    recorded = [
        row
        for at in (0, 600, 1200)
        for row in (Fired(at + 5, at + 5, cooldown_most=55, taken_in=True), Fired(at + 60, at + 60))
    ]
    assert fire(recorded, (0, 600), (0, 600)) == [True] * 6
    assert fire(recorded, (0, 600), (0, 1200)) == [True, True, False, False, True, True]
    assert fire(recorded, (0, 600), (0, 10_000)) == [True, True, False, False, False, False]


@pytest.mark.parametrize(
    ("hold", "fires"),
    [
        (30, [False, True]),  # it held for 30 s: the alert after the cooldown is the first
        (300, [False, True]),
        (340, [False, True]),  # between the last alert and what is known to have held
        (400, [False, False]),
    ],
)
def test_a_longer_for_needs_a_condition_that_held_so_long(hold, fires):
    assert fire([Fired(0, 20), Fired(305, 350)], after=(hold, 300)) == fires


def test_what_a_heal_has_ended_would_have_lasted():
    assert fire([Fired(0, INF, over=True)], after=(600, 300)) == [True]


def test_a_shorter_for_fires_at_least_as_soon():
    assert fire(alerts(0, 305), before=(60, 300), after=(0, 300)) == [True, True]
    assert fire(alerts(0), before=(60, 300), after=(90, 300)) == [False]
