"""`opsapp.wire.dataclass` means what the standard library's does."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from functools import partial
from inspect import signature
from typing import get_type_hints

import pytest

from opsapp.wire.dataclass import dataclass, frozen


class Pair:
    """Two names for what is made in both ways."""

    def __init__(self, **options):
        theirs = partial(dataclasses.dataclass, frozen=True)
        self.ours, self.theirs = (self.make(way, options) for way in (frozen, theirs))

    def make(self, way, options):
        @way(**options)
        class Host:
            """A host."""

            name: str
            port: int = 22
            tags: list[str] = field(default_factory=list)
            seen: float = field(default=0.0, compare=False, repr=False)

        @way(**options)
        class Box(Host):
            """One that stands in a rack."""

            rack: str = "a"

            def __repr__(self):
                return f"<{self.name} in {self.rack}>"

            def __hash__(self):
                return 7

        return Host, Box


@pytest.fixture(params=[{}, {"kw_only": True}], ids=["places", "keywords"])
def pair(request):
    return Pair(**request.param)


def said(act):
    """What came of it, or which error with which words."""
    try:
        return act()
    except Exception as error:
        return type(error), str(error)


QUESTIONS = {
    "nothing given": lambda kind: repr(kind()),
    "one by place": lambda kind: repr(kind("a")),
    "all by name": lambda kind: repr(kind(name="a", port=1, tags=["x"], seen=2.0)),
    "an unknown name": lambda kind: kind(name="a", nothing=1),
    "too many": lambda kind: kind("a", 1, [], 0.0, "r", 1),
    "a field set": lambda kind: setattr(kind(name="a"), "port", 1),
    "another name set": lambda kind: setattr(kind(name="a"), "other", 1),
    "a field deleted": lambda kind: delattr(kind(name="a"), "port"),
    "equal": lambda kind: kind(name="a", seen=1.0) == kind(name="a", seen=2.0),
    "unequal": lambda kind: kind(name="a") == kind(name="b"),
    "of another class": lambda kind: kind(name="a") == ("a", 22),
    "hashed with a list": lambda kind: hash(kind(name="a")),
    "hashed alike": lambda kind: hash(kind(name="a", tags=())) == hash(kind(name="a", tags=(), seen=3.0)),
    "replaced": lambda kind: repr(replace(kind(name="a"), port=2)),
    "as a dictionary": lambda kind: asdict(kind(name="a", tags=["x"])),
    "its fields": lambda kind: [(one.name, one.default, one.kw_only) for one in fields(kind)],
    "its hints": get_type_hints,
    "its signature": lambda kind: str(signature(kind)),
    "its match": lambda kind: kind.__match_args__,
    "its words": lambda kind: kind.__doc__,
    "a list of its own": lambda kind: kind(name="a").tags is kind(name="a").tags,
    "a copy": lambda kind: copy.deepcopy(kind(name="a")) == kind(name="a"),
    "its state": lambda kind: kind(name="a").__reduce_ex__(2)[2],
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_it_answers_as_the_standard_library_does(pair, question):
    for ours, theirs in zip(pair.ours, pair.theirs, strict=True):
        assert said(lambda kind=ours: question(kind)) == said(lambda kind=theirs: question(kind))


def test_a_class_below_may_have_more_than_the_fields_and_never_changes_one(pair):
    for host in (pair.ours[0], pair.theirs[0]):
        named = type("Named", (host,), {})(name="a")
        named.more = 1
        assert named.more == 1
        with pytest.raises(FrozenInstanceError):
            named.port = 2
        del named.more
        with pytest.raises(FrozenInstanceError):
            del named.port


@frozen
class Node:
    """One that can hold itself."""

    below: list[Node]


def test_one_that_holds_itself_is_said_and_one_is_pickled():
    node = Node([])
    node.below.append(node)
    assert repr(node) == "Node(below=[...])"
    assert pickle.loads(pickle.dumps(Node([Node([])]))) == Node([Node([])])


def test_what_is_not_frozen_is_the_standard_librarys():
    @dataclass
    class Count:
        number: int = 0

    @frozen(slots=True)
    class Place:
        name: str

    count = Count()
    count.number = 3
    assert count == Count(3)
    assert Count.__hash__ is None
    assert not hasattr(Place("a"), "__dict__")
    assert {one.__dataclass_params__.frozen for one in (Count, Place)} == {False, True}
