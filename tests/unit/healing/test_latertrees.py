"""A tree that came with a later version: until it is there, its place reads as an empty one and takes nothing."""

import copy
import pickle

import pytest
from BTrees.OOBTree import OOBTree
from persistent import Persistent

from opsapp.healing.resources.latertrees import NO_TREE, grown

WRITES = {
    "item": lambda tree: tree.__setitem__("a", 1),
    "setdefault": lambda tree: tree.setdefault("a", 1),
    "update": lambda tree: tree.update({"a": 1}),
    "update by name": lambda tree: tree.update(a=1),
    "or": lambda tree: tree.__ior__({"a": 1}),
    "insert": lambda tree: tree.insert("a", 1),
    "popitem": lambda tree: tree.popitem(),
    "clear": lambda tree: tree.clear(),
    "attribute": lambda tree: setattr(tree, "a", 1),
    "a dict's own": lambda tree: dict.__setitem__(tree, "a", 1),
}


class Owner(Persistent):
    tree = NO_TREE


@pytest.mark.parametrize("how", WRITES)
def test_nothing_comes_into_it(how):
    with pytest.raises((TypeError, AttributeError)):
        WRITES[how](NO_TREE)
    assert list(NO_TREE.items()) == []


def test_it_reads_as_an_empty_tree():
    assert (len(NO_TREE), bool(NO_TREE), "a" in NO_TREE, NO_TREE.get("a"), NO_TREE.pop("a", 7)) == (
        0,
        False,
        False,
        None,
        7,
    )
    for read in (NO_TREE.__getitem__, NO_TREE.pop):
        with pytest.raises(KeyError):
            read("a")


def test_who_is_copied_with_it_keeps_the_one_that_all_share():
    assert copy.deepcopy(NO_TREE) is NO_TREE
    assert pickle.loads(pickle.dumps(NO_TREE)) is NO_TREE


def test_a_tree_comes_with_the_first_that_is_put_in_and_for_its_owner_alone():
    owner = Owner()
    grown(owner, "tree")["a"] = 1
    assert type(owner.tree) is OOBTree
    assert grown(owner, "tree") is owner.tree
    assert Owner().tree is NO_TREE
