"""Spans as people write them."""

import pytest

from opsapp.lib.durations import roughly, seconds


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        ("90s", 90),
        ("30m", 1800),
        ("2h", 7200),
        ("1h30m", 5400),
        ("1d", 86400),
        ("1d2h3m4s", 93784),
        (7, 7),
        (1.5, 1.5),
        ("0s", 0),
    ],
)
def test_durations(span, expected):
    assert seconds(span) == expected


NONE = ["", "h", "1", "1x", "1m1h", "-1h", "1.5h", " 1h", "１h", True, None, [1], 10**400, -(10**400), float("nan")]


@pytest.mark.parametrize("span", NONE)
def test_what_is_no_duration(span):
    with pytest.raises(ValueError, match="duration"):
        seconds(span)


@pytest.mark.parametrize(
    ("span", "said"),
    [(0.4, "0 s"), (59.9, "59 s"), (60, "1 min"), (89, "1 min"), (91, "2 min"), (4000, "1 h 7 min"), (86400, "1 d")],
)
def test_a_span_that_is_only_read_is_rounded(span, said):
    assert roughly(span) == said
