"""A tree in parts behaves like one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.tree.sharded import ShardedTree


@given(st.dictionaries(st.text(), st.integers()), st.text())
def test_it_is_an_ordered_mapping(content, low):
    tree = ShardedTree()
    for key, value in content.items():
        tree[key] = value
    ordered = sorted(content)
    assert len(tree) == len(content)
    assert list(tree.keys()) == ordered
    assert list(tree.items()) == [(key, content[key]) for key in ordered]
    assert list(tree.values()) == [content[key] for key in ordered]
    assert list(tree.keys(low)) == [key for key in ordered if key >= low]
    for key in ordered:
        assert key in tree
        assert tree.get(key) == content[key]
        del tree[key]
    assert list(tree.keys()) == []


def test_what_is_not_there():
    tree = ShardedTree()
    assert "a" not in tree
    assert tree.get("a") is None
    assert tree.get("a", 7) == 7
    with pytest.raises(KeyError):
        del tree["a"]


@given(st.sets(st.text(min_size=1)), st.integers(0, 2500))
def test_its_greatest_keys(names, count):
    tree = ShardedTree()
    for name in names:
        tree[name] = True
    assert tree.last(count) == (sorted(names)[-count:] if count else [])
