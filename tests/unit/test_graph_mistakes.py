"""The mistakes in a list of dependencies: each cycle that is told, and what they may cost."""

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from opsapp.healing.logic import graph
from opsapp.healing.logic.graph import MOST_CYCLES, MOST_NAMED, Dependency, mistakes


def entries(**parents):
    return [Dependency(target, depends_on=tuple(above)) for target, above in parents.items()]


def told(listed):
    return [(mistake.target, mistake.error) for mistake in mistakes(listed)]


def test_each_cycle_is_told_once_from_its_smallest_name_on():
    assert told(entries(c="b", b="a", a="c", d="abc")) == [("a", "cycle: a → c → b → a")]
    assert told(entries(a="bc", b="a", c="a")) == [("a", "cycle: a → b → a"), ("a", "cycle: a → c → a")]
    assert told(entries(a="a")) == [("a", "cycle: a → a")]
    assert told(entries(a="bbbb", b="aaaa")) == [("a", "cycle: a → b → a")]


@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), max_size=6), max_size=6))
def test_no_cycle_is_told_twice_and_none_where_the_targets_have_an_order(parents):
    cycles = list(graph._cycles(parents))
    assert len(cycles) == len(set(cycles))
    for cycle in cycles:
        assert all(above in parents[name] for name, above in zip(cycle, (*cycle[1:], cycle[0]), strict=True))
    assert bool(cycles) == (not is_in_order(parents))


def is_in_order(parents):
    """Whether one after the other can be taken away that depends on nothing that is left."""
    left = dict(parents)
    while free := [name for name, above in left.items() if left.keys().isdisjoint(above)]:
        for name in free:
            del left[name]
    return not left


def test_a_graph_that_closes_thousands_of_cycles_is_searched_for_a_few():
    names = [f"t{n:03}" for n in range(300)]
    everything = [Dependency(name, depends_on=tuple(other for other in names if other != name)) for name in names]
    assert len(mistakes(everything)) == MOST_CYCLES
    first = graph._cycles({entry.target: entry.depends_on for entry in everything})
    assert len(list(islice(first, 3))) == 3


def test_a_long_cycle_is_told_in_short():
    names = [f"t{n:04}" for n in range(5000)]
    chain = [Dependency(name, depends_on=(above,)) for name, above in zip(names, names[1:] + names[:1], strict=True)]
    [(target, error)] = told(chain)
    assert target == "t0000"
    assert error.startswith("cycle: t0000 → t0001 → ")
    assert error.endswith(f" → {5000 - MOST_NAMED} more → t0000")
