"""The newest rows of a long list, from their own end."""

from BTrees.OOBTree import OOTreeSet
from hypothesis import given
from hypothesis import strategies as st

from opsapp.tree.counted import LAST, NEAR, StoredCounts, newest

NAMES = st.sets(st.text(min_size=1), max_size=40)


@given(NAMES, st.text(max_size=1), st.integers(0, 50), st.sampled_from([0, 3, NEAR, NEAR + 1]))
def test_of_texts_that_begin_alike(names, front, offset, limit):
    expected = sorted((name for name in names if front <= name <= front + LAST), reverse=True)
    assert newest(OOTreeSet(names), front, front + LAST, offset, limit) == expected[offset : offset + limit]


@given(st.sets(st.tuples(st.sampled_from("ab"), st.floats(0, 9), st.text(min_size=1)), max_size=40), st.integers(0, 9))
def test_of_rows_with_a_time(rows, offset):
    expected = sorted((row for row in rows if row[0] == "a"), reverse=True)[offset : offset + 5]
    assert newest(OOTreeSet(rows), ("a", 0.0, ""), ("a", 10.0, LAST), offset, 5) == expected


def test_kinds_that_are_forgotten_count_from_nothing_again():
    counts = StoredCounts()
    counts.add("a", "b", by=3)
    counts.add("b")
    counts.forget("a", "never counted")
    assert [counts[kind] for kind in ("a", "b", "never counted")] == [0, 4, 0]
    counts.add("a")
    assert counts["a"] == 1
