"""Roll-ups: nothing is lost or invented by cutting time into buckets and putting it together again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.series.observations import DOWN, MARK, NONE, PAUSED, UP, Row
from opsapp.series.rollup import FINE, HOUR, merge, percentile, roll_up
from opsapp.series.tails import SeriesTail
from opsapp.series.totals import joined
from tests.support.measuring import WHOLE

START, END = 1_700_000_000_000 - 1_700_000_000_000 % HOUR, 1_700_000_000_000 - 1_700_000_000_000 % HOUR + 3 * HOUR
row = st.builds(
    Row,
    st.integers(START, END - 1),
    st.none() | st.integers(0, 5000).map(lambda tenths: tenths / 10),
    st.sampled_from([NONE, UP, DOWN, PAUSED, UP | MARK]),
    st.integers(0, 4000),
)
some_rows = st.lists(row, max_size=60).map(lambda found: sorted(found, key=lambda each: each.time))


def spent(rows, until):
    """How long each state lasted, the plain way."""
    times = dict.fromkeys((UP, DOWN, PAUSED), 0)
    for at, this in enumerate(rows):
        after = rows[at + 1].time if at + 1 < len(rows) else until
        if this.state in times:
            times[this.state] += max(0, min(after, this.time + this.hold * 1000, until) - this.time)
    return times


@given(some_rows, st.sampled_from([FINE, HOUR, 420_000, WHOLE]))
def test_buckets_hold_all_checks_values_and_time(rows, width):
    found = roll_up(rows, (START, END), width)
    assert sum(each.checks for each in found) == sum(each.is_check for each in rows)
    assert sum(each.valued for each in found) == sum(each.value is not None for each in rows)
    wanted = spent(rows, END)
    assert [sum(each.spent[at] for each in found) for at in (0, 2, 4)] == [wanted[UP], wanted[DOWN], wanted[PAUSED]]
    if width != WHOLE:
        assert all(sum(each.spent) <= width and each.start % width == 0 for each in found)


@given(some_rows)
def test_merging_fine_buckets_gives_the_long_ones_but_for_the_p95(rows):
    fine, hourly = roll_up(rows, (START, END), FINE), roll_up(rows, (START, END), HOUR)
    for merged, exact in zip(merge(fine, HOUR), hourly, strict=True):
        assert merged._replace(p95=None, mean=None) == exact._replace(p95=None, mean=None)
        if exact.valued:
            assert abs(merged.mean - exact.mean) < 0.01
            assert abs(merged.p95 - exact.p95) <= 0.02 * exact.p95
            assert exact.low <= merged.p95 <= exact.high
    assert merge([]) == []
    assert [each.checks for each in merge(fine)] == ([sum(each.checks for each in fine)] if fine else [])


def test_a_part_without_a_sketch_leaves_the_p95_unknown():
    first, second = (each._replace(start=0) for each in roll_up(_at([5.0, 7.0]), (START, END), FINE))
    assert merge([first, second])[0].p95 == 7.0
    assert merge([first, second._replace(sketch=b"")])[0]._replace(spent=()).p95 is None
    assert merge([second._replace(sketch=b"")])[0].p95 == 7.0


def test_what_is_not_merged_yet_is_no_p95_beside_a_part_without_a_sketch():
    merged, *_ = roll_up(_at([5.0]), (START, END), FINE)
    spell = SeriesTail(START + FINE, [Row(START + FINE, 9.0, UP, 60)]).between(START + FINE, END)
    assert joined(merged, spell, percentiles=True).p95 == pytest.approx(9.0, rel=0.02)
    total = joined(merged._replace(sketch=b""), spell, percentiles=True)
    assert (total.checks, total.up, total.p95) == (2, 120_000, None)
    nothing = SeriesTail(START + FINE, []).between(START + FINE, END)
    assert joined(merged._replace(sketch=b""), nothing, percentiles=True).p95 == 5.0


def _at(values):
    return [Row(START + number * FINE, value, UP, 60) for number, value in enumerate(values)]


def test_the_state_before_the_window_counts_into_it():
    before = Row(START - 10_000, 5.0, DOWN, 60)
    (only,) = roll_up([Row(START + 20_000, 5.0, UP, 30)], (START, END), HOUR, before)
    assert (only.up, only.down, only.worst) == (30_000, 20_000, UP)
    (gap,) = roll_up([], (START, END), HOUR, before)
    assert (gap.checks, gap.down, gap.mean, gap.worst) == (0, 50_000, None, NONE)
    assert roll_up([], (START, END), HOUR, Row(START - 90_000, 5.0, DOWN, 60)) == []


def test_the_percentile_is_the_nearest_rank():
    assert percentile([5.0]) == 5.0
    assert percentile(list(range(1, 101))) == 95
    assert percentile(list(range(1, 21))) == 19


def test_the_median_is_near_the_true_one_and_unknown_without_values():
    rows = [Row(number * 1000, float(number), UP, 1) for number in range(1, 100)]
    whole = merge(roll_up(rows, (0, HOUR), FINE))[0]
    assert whole.median == pytest.approx(50, rel=0.02)
    assert merge(roll_up([Row(0, None, DOWN, 60)], (0, HOUR), FINE))[0].median is None
    assert whole._replace(sketch=b"").median is None
