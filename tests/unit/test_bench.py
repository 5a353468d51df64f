"""What `make bench` says of a figure that has a bound."""

import pytest

from tests.bench import Row


@pytest.mark.parametrize(
    ("target", "inside", "outside"),
    [
        ("at most 250 idle, hold excluded", 250, 250.1),
        ("under 5", 4.9, 5),
        ("at least 50,000", 50_000, 49_999),
        ("at most 1/6 (0.17)", 0.16, 0.17),
        ("90 to 98", 98, 99),
        ("90 to 98", 90, 89),
    ],
)
def test_a_figure_outside_its_bound_is_missed(target, inside, outside):
    assert not Row("what", inside, "ms", target).missed
    assert Row("what", outside, "ms", target).missed


def test_what_has_no_bound_is_never_missed():
    assert not Row("what", 1e9, "ms").missed
    assert not Row("what", 1e9, "ms", "the more the better").missed
