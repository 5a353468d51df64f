"""Rows that are alike and began together are one group; nothing that differs is in it, and nothing is lost."""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from opsapp.lib.alike import FEWEST, TOGETHER_S, gathered


class Seen(NamedTuple):
    name: str
    kind: str | None
    at: int


def groups(*rows):
    gathers = gathered([Seen(*row) for row in rows], lambda row: row.kind, lambda row: row.at)
    return ["".join(row.name for row in group) for group in gathers]


def test_three_of_a_kind_that_began_together_are_one_where_the_first_stands():
    rows = (("a", "x", 5), ("b", "y", 5), ("c", "x", 6), ("d", "x", 4), ("e", None, 4))
    assert groups(*rows) == ["acd", "b", "e"]


def test_two_are_not_many():
    assert groups(("a", "x", 5), ("b", "x", 5)) == ["a", "b"]


def test_what_began_later_is_another_outage():
    late = 10 + TOGETHER_S + 1
    first = [(name, "x", at) for name, at in zip("abc", (0, 5, 10), strict=True)]
    second = [(name, "x", late) for name in "def"]
    assert groups(*first, *second) == ["abc", "def"]
    assert groups(*first, ("d", "x", late)) == ["abc", "d"]
    assert groups(*first, ("d", "x", late - 1)) == ["abcd"]


def test_each_within_the_time_of_another_is_one_outage_however_long_it_took_to_be_noticed():
    assert groups(*((name, "x", number * TOGETHER_S) for number, name in enumerate("abcdef"))) == ["abcdef"]


def test_what_has_no_kind_stands_alone():
    assert groups(*((name, None, 0) for name in "abcd")) == ["a", "b", "c", "d"]


SEEN = st.builds(Seen, st.just("m"), st.sampled_from(["x", "y", None]), st.integers(0, 1000))


@given(st.lists(SEEN, max_size=40))
def test_nothing_is_lost_and_nothing_that_differs_is_hidden(rows):
    gathers = gathered(rows, lambda row: row.kind, lambda row: row.at)
    assert sorted(str(row) for group in gathers for row in group) == sorted(map(str, rows))
    for group in gathers:
        assert len(group) == 1 or len(group) >= FEWEST
        assert len({row.kind for row in group}) == 1
        assert len(group) == 1 or group[0].kind is not None
