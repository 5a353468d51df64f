"""Frozen dataclasses as sections of the YAML file: the schema and the value come from the annotations alone."""

from dataclasses import field
from typing import Annotated, Any, Literal

import pytest

from opsapp.lib.settings import Between, CheckedBy, Length, Most
from opsapp.runtime.config import Configuration, General
from opsapp.wire.dataclass import dataclass
from opsapp.wire.kinds import Choice, DeclaredField, MapOf, Whole
from opsapp.wire.records import DeclaredObject, IfSaid, SaidAs, made, parts_of, plain


@dataclass(frozen=True)
class Part:
    size: Annotated[int, Between(1, 5)]


EVEN = CheckedBy(lambda number: "must be even" if number % 2 else None)


@dataclass(frozen=True)
class Inner:
    factor: Annotated[float, Between(0, 1)] = 0.5


@dataclass(frozen=True)
class Section:
    name: Annotated[str, Length(1, 5)]
    size: Annotated[int | None, Between(1, 10), EVEN] = None
    tags: Annotated[tuple[Annotated[str, Length(1, 3)], ...], Most(2)] = ()
    mode: Literal["slow", "fast"] = "slow"
    colour: Annotated[str, Choice("red", "blue")] = "red"
    enabled: bool = True
    port: Annotated[int | str, Whole()] = 1
    parts: Annotated[tuple[Part, ...], Most(2)] = ()
    wait: Annotated[int, SaidAs("for")] = 0
    data: Annotated[dict[str, Any], MapOf(DeclaredField("", Whole()))] = field(default_factory=dict)
    note: Annotated[str | None, IfSaid()] = None
    inner: Inner = field(default_factory=Inner)

    @staticmethod
    def across(sound):
        return {"mode": "fast needs a size"} if sound.get("mode") == "fast" and sound.get("size") is None else {}


def read(given):
    wrong = {}
    values = DeclaredObject(Section).read(given, "", wrong)
    return wrong or made(Section, values)


def test_a_section_that_says_little_has_its_defaults():
    assert read({"name": "a"}) == Section("a")


def test_lists_are_tuples_and_sections_within_are_values():
    given = {"name": "a", "size": 4, "tags": ["x", "y"], "mode": "fast", "inner": {"factor": 1}}
    assert read(given) == Section("a", 4, ("x", "y"), "fast", inner=Inner(1))


def test_a_field_may_be_called_what_python_has_for_itself():
    section = read({"name": "a", "for": 5})
    assert section.wait == 5
    assert plain(section)["for"] == 5


def test_what_nobody_said_stays_out():
    said, unsaid = read({"name": "a", "note": "b"}), read({"name": "a", "note": None})
    assert (plain(said)["note"], said.data, unsaid.note) == ("b", {}, None)
    assert "note" not in plain(unsaid)


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({}, {"name": "is required"}),
        ({"name": "longer"}, {"name": "must have 1 to 5 characters"}),
        ({"name": "a", "size": 3}, {"size": "must be even"}),
        ({"name": "a", "size": 12}, {"size": "must be 1 to 10"}),
        ({"name": "a", "tags": ["x", "long"]}, {"tags.1": "must have 1 to 3 characters"}),
        ({"name": "a", "tags": ["x", "y", "z"]}, {"tags": "must have 0 to 2 entries"}),
        ({"name": "a", "mode": "fast"}, {"mode": "fast needs a size"}),
        ({"name": "a", "colour": "green"}, {"colour": "must be one of red, blue"}),
        ({"name": "a", "enabled": 1}, {"enabled": "must be true or false"}),
        ({"name": "a", "port": "x"}, {"port": "must be an integer"}),
        ({"name": "a", "parts": [{"size": 9}]}, {"parts.0.size": "must be 1 to 5"}),
        ({"name": "a", "inner": {"factor": 2}}, {"inner.factor": "must be 0 to 1"}),
    ],
)
def test_every_mark_is_held(given, wrong):
    assert read(given) == wrong


def test_a_type_without_a_schema_is_a_mistake_of_ours():
    @dataclass(frozen=True)
    class Odd:
        when: bytes = b""

    with pytest.raises(TypeError, match="no kind for"):
        parts_of(Odd)


def test_a_configuration_has_the_defaults_and_is_never_changed():
    first = Configuration()
    second = first.having(General("Europe/Berlin"))
    assert (first.timezone, second.timezone) == ("UTC", "Europe/Berlin")
    assert second[Inner] == Inner()
    third = second.having(Section("a", inner=Inner(0.1)))
    assert (third[Inner], third.timezone) == (Inner(0.1), "Europe/Berlin"), "a section within a section has a class too"
