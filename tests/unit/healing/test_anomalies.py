"""What does not fit a metric's past: the tails, both sides, the hour of the day and of the week, once."""

import math
import random
import sys

import pytest

from opsapp.healing.logic.anomalies import STRANGE, Detector
from opsapp.healing.logic.metricpast import MetricPast
from opsapp.healing.logic.outlook import MetricOutlook
from opsapp.healing.logic.tails import BLOCKS, FEWEST, KEPT, MOST, RarityTail
from tests.support import madeup, yardsticks

FINE, HOUR, DAY = 300.0, 3600.0, 86400.0


def watched(points, detector=None):
    past, detector = MetricPast(), detector or Detector()
    for at, value in points:
        yield at, detector.watch(past, at, value)
        past.take(at, value)


def strange(points, **how):
    return [at for at, verdict in watched(points, Detector(**how)) if verdict.strange]


def calm(days, value, seed=1):
    dice = random.Random(seed)
    return [(at * FINE, value(at * FINE) + dice.gauss(0, 1)) for at in range(int(days * DAY / FINE))]


def test_a_tail_knows_how_rare_what_it_saw_was():
    dice, tail = random.Random(1), RarityTail()
    for _ in range(4000):
        tail.take(abs(dice.gauss(0, 1)))
    assert tail.rarity(1.0) == 0.0  # less than the largest kept: nothing is said
    assert tail.rarity(3.3) == pytest.approx(3.0, abs=0.4)  # one in 1,000
    assert 4.5 < tail.rarity(5.5) < 7.5  # one in 26 million by the normal law, of which nothing is known
    assert tail.rarity(1e6) == MOST


def test_a_heavy_tail_is_not_surprised_by_what_is_far():
    dice, heavy, light = random.Random(1), RarityTail(), RarityTail()
    for _ in range(4000):
        heavy.take(dice.paretovariate(1.5))
        light.take(dice.expovariate(1))
    assert heavy.rarity(3 * heavy.largest[-1]) < 6 < light.rarity(3 * light.largest[-1])


def test_what_happened_once_or_twice_is_as_rare_when_it_comes_again():
    dice, tail = random.Random(1), RarityTail()
    rarities = []
    for at in range(4000):
        tail.take(abs(dice.gauss(0, 1)))
        if at % 500 == 499:
            rarities.append(tail.rarity(20.0))
            tail.take(20.0)
    assert min(rarities[:3]) > STRANGE
    assert max(rarities[-3:]) < STRANGE  # by then it is a habit


def test_what_stayed_within_bounds_may_pass_them_by_a_little():
    """Few values, as of a counter: no distance between the largest ones says how much farther they may go."""
    tail = RarityTail()
    for at in range(4000):
        tail.take((0.0, 0.066, 0.132)[at % 3] + 1e-5 * (at % 7))
    assert tail.rarity(0.14) < STRANGE / 2 < STRANGE < tail.rarity(0.4)


def test_a_tail_never_grows_and_says_nothing_of_little():
    tail = RarityTail()
    for at in range(FEWEST - 1):
        tail.take(at % 7)
    assert tail.rarity(1e6) == 0.0
    for at in range(9000):
        tail.take(at % 7, at // 1000)
        assert max(map(len, (tail.largest, *tail.blocks))) <= KEPT
    assert (tail.seen, len(tail.blocks), len(tail.counts)) == (3000, BLOCKS, BLOCKS)


def test_what_never_moved_may_move_a_little():
    tail = RarityTail()
    for _ in range(1000):
        tail.take(0.0)
    assert tail.rarity(0.5, 1.0) < 3 < 6 < tail.rarity(20.0, 1.0)
    assert tail.rarity(1e-3) == MOST


@pytest.mark.parametrize(("value", "above"), [(80.0, True), (2.0, False)])
def test_both_sides_are_seen_at_once_and_told_once(value, above):
    points = calm(5, lambda at: 40.0)
    points += [(5 * DAY + at * FINE, value) for at in range(30)]
    seen = list(watched(points))
    told = [(at, verdict.above, round(verdict.usual)) for at, verdict in seen if verdict.strange]
    assert told == [(5 * DAY, above, 40)]
    assert max(verdict.score for at, verdict in seen[:-30] if at > 2 * DAY) < 0.5 <= seen[-30][1].score <= 1


def test_the_hour_of_the_day_is_known():
    """A job at two in the night is no anomaly from its third time on; without it there is one."""
    points = calm(10, lambda at: 60.0 if 2 <= at % DAY / HOUR < 6 else 20.0)
    assert [at for at in strange(points) if at > 3 * DAY] == []
    missing = [(at, 20.0 if at > 9 * DAY else value) for at, value in points]
    [told] = [at for at in strange(missing) if at > 3 * DAY]
    assert 9 * DAY + 2 * HOUR <= told < 9 * DAY + 6 * HOUR


@pytest.mark.parametrize("first", [0, 12])
def test_a_daily_job_makes_nobody_blind_for_longer_than_two_weeks(first):
    """The first nights of a job were the largest deviations that were known, for six weeks."""
    points = calm(first + 14, lambda at: 70.0 if first <= at // DAY and 2 <= at % DAY / HOUR < 4 else 20.0)
    odd = (first + 13) * DAY + 14 * HOUR
    told = strange([(at, value + 22 if odd <= at < odd + HOUR else value) for at, value in points])
    assert odd in told
    assert [at for at in told if at > (first + 7) * DAY and at != odd] == []


def test_who_is_fed_with_the_last_two_weeks_says_the_same():
    """After a restart, or on another node: the past by the hour, then 14 days of points."""
    dice = random.Random(4)
    nights = calm(34, lambda at: 50.0 if 2 <= at % DAY / HOUR < 4 else 20.0)
    points = [(at, value + dice.paretovariate(3)) for at, value in nights]
    whole, back = (MetricOutlook(0.5) for _ in range(2))
    restart = 32 * DAY
    for at, value in points:
        if at < restart - 14 * DAY:
            back.past.take(at, value)
    for at, value in points:
        verdicts = [whole.take(at, value)]
        if at >= restart - 14 * DAY:
            verdicts.append(back.take(at, value))
        if at >= restart:
            assert verdicts[0].strange == verdicts[1].strange
            assert verdicts[0].score == pytest.approx(verdicts[1].score, abs=0.01)
    days = [outlook.detector.rarest_by_day(25, 32) for outlook in (whole, back)]
    assert days[0] == pytest.approx(days[1], abs=0.5)


def test_the_hour_of_the_week_is_known():
    points = calm(27, lambda at: 70.0 if at // DAY % 7 < 5 and 8 <= at % DAY / HOUR < 18 else 20.0)
    assert [at for at in strange(points) if at > 15 * DAY] == []


def test_a_peak_that_comes_again_after_days_is_told_again():
    peaks = (4 * DAY + 3 * HOUR, 7 * DAY + 14 * HOUR)
    points = calm(9, lambda at: 70.0 if any(peak <= at < peak + 3 * FINE for peak in peaks) else 40.0)
    assert strange(points) == list(peaks)


@pytest.mark.no_cover
def test_nothing_is_told_of_a_few_values_by_chance():
    for seed in range(12):
        dice = random.Random(seed)
        few = [dice.choice((0.0, 0.066, 0.068, 0.1, 0.132, 0.2)) for _ in range(dice.randrange(2, 6))]
        assert strange([(at * FINE, dice.choice(few)) for at in range(14 * 288)]) == []


def test_nothing_is_told_of_nothing():
    for seed in range(6):
        assert strange(calm(8, lambda at: 40.0, seed)) == []
    assert strange([(at * FINE, 7.0) for at in range(3000)]) == []
    assert list(watched([])) == []


def test_its_state_never_grows():
    detector, past = Detector(), MetricPast()
    sizes = set()
    for at, value in calm(40, lambda at: 40.0):
        detector.watch(past, at, value)
        past.take(at, value)
        if at % (10 * DAY) == 0:
            sides = (detector.season, detector.lasting, detector.jump, detector.together)
            tails = [tail for each in sides for tail in (each.up, each.down)]
            assert all(len(tail.largest) <= KEPT for tail in tails)
            sizes.add(sys.getsizeof(past.means) + sum(tail.largest.itemsize * KEPT for tail in tails))
    assert max(sizes) < 4096


def test_gaps_and_other_scales_do_not_disturb():
    for scale in (1e-6, 1.0, 1e9):
        points = [(at, -scale * value) for at, value in calm(6, lambda at: 40.0) if int(at // HOUR) % 5]
        assert strange(points) == []
        assert len(strange([*points, (6 * DAY + HOUR, 30 * scale)])) == 1
    assert not math.isnan(Detector().watch(MetricPast(), 0.0, 1.0).score)


@pytest.mark.nightly("a benchmark of months of readings")
@pytest.mark.no_cover
def test_the_benchmarks_score_is_twice_that_of_a_windowed_gaussian():
    """A small set; `make bench ARGS=foresight` has the whole."""
    sets = [made for made in madeup.labelled(5) if made.name.split()[0] in ("daily", "riders", "server", "traffic")]
    ours = [made._replace(points=made.points) for made in sets]
    scores = [[verdict.score for _, verdict in watched(made.points)] for made in ours]
    theirs = [yardsticks.windowed_gaussian(made.points) for made in sets]
    found = [
        yardsticks.best_nab_score(
            [yardsticks.Scored(made.points, made.wrong, of) for made, of in zip(sets, which, strict=True)]
        )
        for which in (scores, theirs)
    ]  # fmt: skip
    assert found[0][0] > 2 * found[1][0] > 0


def test_a_past_that_came_back_tells_what_is_usual_at_once():
    past = MetricPast()
    for hour in range(72):
        past.take((hour + 0.5) * HOUR, 40.0)
    assert Detector().watch(past, 72 * HOUR, 41.0).usual == 40.0
