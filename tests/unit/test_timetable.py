"""Checks are spread evenly, keep their phase, and none is delayed by another."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.monitoring.logic.timetable import Timetable, next_moment, passed_within, phase

START = 1_800_000_000.0


def run(table, start, seconds, step=0.1):
    """Everything that was due in a stretch of monotonic time: {key: [moments]}."""
    found = {}
    for n in range(int(seconds / step) + 1):
        for key, at in table.due(start + n * step):
            found.setdefault(key, []).append(at)
    return found


def test_every_check_runs_once_an_interval():
    table = Timetable()
    for n in range(100):
        table.put(f"m{n}", 20, START, 0.0)
    found = run(table, 0.0, 200)
    assert len(found) == 100
    for moments in found.values():
        assert len(moments) in (10, 11)
        assert all(b - a == pytest.approx(20) for a, b in itertools.pairwise(moments))


def test_checks_are_spread_evenly_over_the_interval():
    buckets = [0] * 20
    for n in range(10_000):
        buckets[int(phase(f"monitor-{n}") * 20)] += 1
    assert min(buckets) > 400
    assert max(buckets) < 600


@given(st.text(min_size=1), st.integers(5, 86400), st.floats(1e9, 2e9))
def test_the_phase_is_that_of_the_wall_clock(key, interval, now):
    moment = next_moment(key, interval, now)
    assert now < moment <= now + interval + 1e-3
    cycles = (moment - phase(key) * interval) / interval
    assert abs(cycles - round(cycles)) < 1e-3


def test_the_phase_survives_a_restart():
    before, after = Timetable(), Timetable()
    before.put("a", 60, START, 100.0)
    after.put("a", 60, START + 300, 5.0)
    first = START + before.next_at() - 100.0
    second = START + 300 + after.next_at() - 5.0
    assert (second - first) % 60 == pytest.approx(0, abs=1e-3) or (second - first) % 60 == pytest.approx(60, abs=1e-3)


def test_soon_checks_at_once_and_then_in_phase():
    table = Timetable()
    table.put("a", 60, START, 0.0, soon=True)
    assert table.due(0.0) == [("a", 0.0)]
    regular = next_moment("a", 60, START) - START
    assert table.next_at() == pytest.approx(regular)


def test_hurry_adds_one_check_and_leaves_the_regular_one():
    table = Timetable()
    table.put("a", 60, START, 0.0)
    regular = table.next_at()
    table.hurry("a", regular / 2)
    assert [key for key, _ in table.due(regular / 2)] == ["a"]
    assert table.next_at() == regular
    table.hurry("a", regular + 1)
    assert table.next_at() == regular


def test_what_was_missed_is_skipped_not_made_up_for():
    table = Timetable()
    table.put("a", 10, START, 0.0)
    regular = table.next_at()
    assert len(table.due(regular + 95)) == 1
    assert table.next_at() == pytest.approx(regular + 100)


def test_dropped_checks_are_never_due():
    table = Timetable()
    table.put("a", 10, START, 0.0)
    table.put("b", 10, START, 0.0)
    table.drop("a")
    assert {key for key, _ in table.due(20.0)} == {"b"}
    assert len(table) == 1
    assert "a" not in table


def test_a_changed_interval_takes_effect_and_an_unchanged_one_does_not_move():
    table = Timetable()
    table.put("a", 3600, START, 0.0)
    first = table.next_at()
    table.put("a", 3600, START + 10, 10.0)
    assert table.next_at() == first
    table.put("a", 10, START, 0.0)
    assert table.next_at() <= 10
    assert sum(1 for _ in table.due(10.0)) == 1


def test_move_sets_the_beat():
    table = Timetable()
    table.put("a", 10, START, 0.0)
    table.move("a", 33.0)
    assert table.due(32.9) == []
    assert table.due(33.0) == [("a", 33.0)]
    assert table.next_at() == 43.0


def test_nothing_is_due_in_an_empty_table():
    table = Timetable()
    assert table.due(1e9) == []
    assert table.next_at() is None
    table.hurry("ghost", 1.0)
    table.move("ghost", 1.0)
    assert table.next_at() is None


def test_what_is_dropped_or_moved_is_not_due_at_its_old_moment():
    table = Timetable()
    table.put("gone", 20, START, 0.0)
    table.put("stays", 20, START, 0.0)
    table.drop("gone")
    assert table.next_at() is not None
    assert {key for key, _ in table.due(1000.0)} == {"stays"}
    table.drop("stays")
    assert table.next_at() is None
    assert table.due(10_000.0) == []


def test_whoever_waits_is_told_of_an_earlier_moment_and_of_no_later_one():
    told = []
    table = Timetable(lambda: told.append(table.next_at()))
    table.put("late", 20, START, 0.0)
    first = table.next_at()
    table.move("late", first + 5)
    table.hurry("late", first - 0.5)
    table.hurry("late", first + 1)
    assert told == [first, first - 0.5]


def test_what_is_put_where_it_was_is_due_once():
    table = Timetable()
    table.put("m", 20, START, 0.0)
    first = table.next_at()
    table.move("m", first + 5)
    table.move("m", first + 5)
    assert table.next_at() == first + 5
    assert table.due(first + 5) == [("m", first + 5)]


@given(st.text(min_size=1), st.floats(5, 3600), st.floats(0.1, 20), st.floats(0, 1))
def test_a_moment_is_known_to_have_passed_a_short_time_ago(key, interval, window, part):
    moment = next_moment(key, interval, START)
    assert passed_within(key, interval, moment + part * min(window, interval) * 0.99, window)
    if interval > window * 1.01:
        assert not passed_within(key, interval, moment + window * 1.001, window)
