"""The bets that a rule has changed: what recovers by itself more often than it used to at that hour, and what helps too
seldom."""

import math
from itertools import pairwise

import pytest

from opsapp.healing.config import ChangeSettings
from opsapp.healing.logic import changes
from opsapp.healing.logic.changes import BESIDE, BRINGS, COINS, FEW, HOURS, OFTEN, HourSums, hour_of
from opsapp.healing.logic.lift import Arm, Bets, Draw, Shares, Trials

ALARM = ChangeSettings().threshold
ALONE, TREATED = Draw(0.1, 0.5, False), Draw(0.1, 0.5, True)
NOON = 12


def seen(outcomes, draw=ALONE, hour=NOON):
    trials = Trials()
    for recovered in outcomes:
        trials = trials.added(draw, recovered, hour)
    return trials


def at(hour, n, alone):
    return HourSums(
        tuple(n if place == hour else 0 for place in range(HOURS)),
        tuple(alone if place == hour else 0.0 for place in range(HOURS)),
    )


def by_day(day, night, times=4):
    """Each hour so often; from 8 to 18 by day."""
    rates = [day if 8 <= hour < 18 else night for hour in range(HOURS)]
    return HourSums((times,) * HOURS, tuple(times * rate for rate in rates))


# -- what has become needless -----------------------------------------------------------------------------------------


def test_what_recovers_more_often_by_itself_than_it_used_to_has_become_needless():
    trials = seen(number % 3 == 0 for number in range(60))
    assert trials.needless < ALARM
    for _ in range(8):
        trials = trials.added(ALONE, True, NOON)
    assert trials.needless >= ALARM


def test_few_cases_and_those_that_were_healed_say_nothing_of_what_is_needless():
    assert seen([True] * FEW).bets.needless == Bets().needless
    assert seen([True] * 50, TREATED).bets.needless == Bets().needless


@pytest.mark.parametrize("hour", [None, 3])
def test_cases_of_an_unknown_hour_and_of_other_hours_say_nothing_of_it(hour):
    """A coin of an older version has none. And what holds at noon may not hold at night."""
    known = seen([False] * 30)
    assert known.added(ALONE, True, hour).bets.needless == known.bets.needless
    assert known.added(ALONE, True, NOON).needless > known.needless


@pytest.mark.parametrize("used_to", [(10, 3), (40, 20), (100, 90)])
@pytest.mark.parametrize("hour", [0, NOON, 23])
def test_whoever_bets_on_a_change_expects_to_keep_what_he_has(used_to, hour):
    """If nothing has changed: one more case adds what is brought, and nothing else."""
    hours = at(hour, *used_to)
    before = Trials(control=Arm(*used_to), bets=Bets(needless=(2.0, 3.0, 4.0), hours=hours))
    rate = hours.usual(hour, COINS)
    won, lost = (before.added(ALONE, outcome, hour).bets.needless for outcome in (True, False))
    expected = [rate * up + (1 - rate) * down for up, down in zip(won, lost, strict=True)]
    assert expected == pytest.approx([2.0 + BRINGS, 3.0 + BRINGS, 4.0 + BRINGS])


def test_a_bet_on_waves_is_about_what_waves_have_shown_before():
    """Not about coins, whose window is longer; and whoever joins brings less, because waves are many."""
    bets = Bets(needless=(2.0, 3.0, 4.0), hours=at(NOON, 40, 0.0), wave_hours=at(NOON, 10, 5.0))
    same, more = (Trials(bets=bets).compared(Shares(1.0, alone), NOON).bets.needless for alone in (0.5, 0.9))
    assert same == pytest.approx([2.0 + OFTEN, 3.0 + OFTEN, 4.0 + OFTEN])
    assert all(now > then for now, then in zip(more, same, strict=True))
    assert Trials(bets=bets).compared(Shares(1.0, 0.9)).bets.needless == bets.needless


# -- by the hour ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("at", "hour"), [(0, 0), (3599, 0), (3600, 1), (86400 + 23.5 * 3600, 23), (1_800_000_000, 8)])
def test_the_hour_is_that_of_the_day(at, hour):
    assert hour_of(at) == hour


def test_each_case_counts_at_its_hour():
    sums = HourSums().added(0, 1.0).added(23, 0.25).added(23, 0.5)
    assert (sums.n[0], sums.n[23], sum(sums.n)) == (1, 2, 3)
    assert (sums.alone[0], sums.alone[23], sum(sums.alone)) == (1.0, 0.75, 1.75)


@pytest.mark.parametrize("hour", range(HOURS))
def test_by_day_and_at_night_another_share_is_usual(hour):
    usual = by_day(0.9, 0.1).usual(hour, 0.0)
    near_the_day = any(8 <= (hour + away) % HOURS < 18 for away in range(-BESIDE, BESIDE + 1))
    if not near_the_day:
        assert usual == pytest.approx(0.1)
    elif 8 <= hour < 18:
        assert usual >= 0.74, "of both sides the one where more recover"
    else:
        assert 0.1 < usual <= 0.9


def test_nobody_knows_the_hours_that_are_still_to_come_on_the_first_day():
    """All of the first night, and the first hours of the day: what comes next was never seen."""
    sums = HourSums()
    for hour in range(12):
        assert sums.usual(hour, COINS) is None or hour < BESIDE
        for _ in range(20):
            sums = sums.added(hour, 0.9 if hour >= 8 else 0.1)
    assert sums.usual(6, 0.0) is not None, "the next night it is known"


def test_where_little_is_known_of_an_hour_all_of_them_count():
    sums = by_day(0.9, 0.1, times=1)
    alone = sum(sums.alone)
    shrunk = [sums.usual(NOON, others) for others in (0.0, 8.0, 1e9)]
    assert all(more > less for more, less in pairwise(shrunk))
    assert shrunk[-1] == pytest.approx((alone + 1) / (HOURS + 2), abs=1e-6)


def test_a_day_and_a_night_are_no_change():
    """A hundred days of waves, of which most recover by themselves by day and few at night."""
    trials, highest = Trials(), 0.0
    for number in range(2400):
        alone = 0.9 if 8 <= number % HOURS < 18 else 0.2
        trials = trials.compared(Shares(1.0, alone), number % HOURS)
        highest = max(highest, trials.needless)
    assert highest < ALARM
    for number in range(HOURS):
        trials = trials.compared(Shares(1.0, 0.9), number)
    assert trials.needless >= ALARM, "a night like a day is one"


def test_wealth_stays_within_what_a_number_holds():
    bets = Bets(hours=at(NOON, 10_000, 1.0))
    for _ in range(500):
        bets = bets._replace(needless=changes.bet_on_needless(bets.needless, 0.001, 1.0))
    assert math.isfinite(changes.won(bets.needless))
    assert max(bets.needless) == changes.MOST


# -- what helps too seldom --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [0.6, 0.75, 0.9])
def test_whoever_bets_that_it_helps_too_seldom_gains_nothing_where_it_helps_as_often_as_is_asked(asked):
    for rate in (asked, (1 + asked) / 2, 1.0):
        won, lost = (changes.bet_on_bad((2.0, 3.0, 4.0), outcome, asked) for outcome in (True, False))
        expected = [rate * up + (1 - rate) * down for up, down in zip(won, lost, strict=True)]
        if rate == asked:
            assert expected == pytest.approx([3.0, 4.0, 5.0])
        else:
            assert all(mean < held for mean, held in zip(expected, (3.0, 4.0, 5.0), strict=True))


@pytest.mark.parametrize("asked", [0.0, 1.0])
def test_a_bound_that_asks_for_nothing_or_for_all_is_bet_on_too(asked):
    wealth = changes.NOTHING
    for _ in range(100):
        wealth = changes.bet_on_bad(wealth, True, asked)
    assert changes.won(wealth) < ALARM
