"""Sketches: a percentile of any values is at most 2 % away from the true one, however they were put together."""

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from opsapp.series import sketch
from opsapp.series.rollup import percentile

values = st.floats(1e-6, 1e300) | st.floats(-1e300, -1e-6) | st.just(0.0) | st.integers(0, 50_000).map(lambda n: n / 10)
shares = st.sampled_from([0.01, 0.5, 0.95, 0.99, 1.0])


@given(st.lists(st.lists(values, max_size=40), min_size=1, max_size=20).filter(any), shares)
def test_a_percentile_of_merged_parts_is_within_two_percent_of_the_true_one(parts, share):
    whole = sketch.merged(map(sketch.sketch, parts))
    true = percentile([value for part in parts for value in part], share)
    assert abs(sketch.percentile(whole, share) - true) <= 0.02 * abs(true)


@given(st.lists(values, max_size=60), st.randoms())
def test_the_order_of_merging_does_not_matter(found, random):
    whole = sketch.sketch(found)
    random.shuffle(found)
    source = iter(found)
    parts = [list(islice(source, 7)) for _ in range(len(found) // 7 + 1)]
    assert sketch.merged(map(sketch.sketch, parts)) == whole
    assert sum(count for _, count in sketch.pairs(whole)) == len(found)


def test_one_slow_part_among_many_fast_ones_is_seen():
    """The p95 of the p95s said 20 here: 95 % of the parts never saw anything slow."""
    parts = [[20.0] * 90 + [900.0] * 10] * 4 + [[20.0] * 100] * 4
    whole = sketch.merged(map(sketch.sketch, parts))
    assert sketch.percentile(whole) == 20.0 or abs(sketch.percentile(whole) - 20) <= 0.4
    assert abs(sketch.percentile(whole, 0.96) - 900) <= 18


def test_what_is_nearer_to_nothing_than_can_be_told_is_nothing():
    assert sketch.percentile(sketch.sketch([1e-12, -1e-12, 0.0])) == 0.0
    assert sketch.percentile(sketch.of_one(1.7e308, 3)) > 1e307
