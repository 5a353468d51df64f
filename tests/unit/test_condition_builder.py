"""Comparisons that are picked from lists: what is offered can be read, and the text says what was picked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.ui.shapes.conditionbuilder import NEEDS_NAME, build, builder
from opsapp.wire.conditions import parse
from opsapp.wire.conditiontree import OPERATORS, Comparison, Name
from opsapp.wire.readings import FAMILIES, NUMBERS, of_service, split
from opsapp.wire.spoken import COMPARISONS, GROUPS, READABLE


def picked(reading, symbol, value, which="", before="", join="and"):
    form = {"pick_reading": reading, "pick_is": symbol, "pick_value": value, "pick_which": which, "pick_join": join}
    return build({"condition": before, **form})


def test_the_comparisons_and_the_readings_are_those_of_the_language():
    assert set(COMPARISONS) == set(OPERATORS)
    assert set(NUMBERS) < set(READABLE)
    told = of_service("failed", ran=True, starts=3, counted_s=400)
    assert {f"service.*.{attribute}" for attribute in told} < set(READABLE)
    assert {split(name)[0] for name in READABLE} >= {"disk", "inodes", "service", "container", "monitor", "event"}
    assert sum(len(group) for _, group in GROUPS) == len(READABLE)


@pytest.mark.parametrize("name", READABLE)
@pytest.mark.parametrize("symbol", ["==", "!="])
def test_everything_that_is_offered_can_be_read(name, symbol):
    built = picked(name, symbol, "7", which="x" if name.removesuffix(".*") in NEEDS_NAME else "")
    assert not built.wrong
    assert parse(built.condition).names[0].startswith(split(name)[0])


@pytest.mark.parametrize(
    ("reading", "symbol", "value", "which", "text"),
    [
        ("cpu_percent", ">", "90", "", "cpu_percent > 90"),
        ("cpu_percent", ">=", "90.5", "ignored", "cpu_percent >= 90.5"),
        ("disk.*.percent", ">", "95", "", "disk.*.percent > 95"),
        ("disk.*.percent", ">", "95", "/mnt/two words", 'disk."/mnt/two words".percent > 95'),
        ("service.*.state", "==", "failed", "nginx.service", 'service.nginx.state == "failed"'),
        ("monitor.status", "!=", "up", "", 'monitor.status != "up"'),
        ("plugin.*", ">", "5e9", "/var", "plugin./var > 5000000000"),
        ("event.labels.*", "==", 'a "b"', "job", "event.labels.job == 'a \"b\"'"),
    ],
)
def test_what_was_picked_is_written_as_the_language_writes_it(reading, symbol, value, which, text):
    assert picked(reading, symbol, value, which) == (text, "")


def test_it_is_joined_to_what_stands_there():
    first = "cpu_percent > 90"
    assert picked("load1", ">", "8", before=first).condition == "cpu_percent > 90 and load1 > 8"
    either = picked("load1", ">", "8", before=first, join="or").condition
    assert picked("load5", ">", "8", before=either).condition == "(cpu_percent > 90 or load1 > 8) and load5 > 8"
    assert picked("load5", ">", "8", before=either, join="or").condition.count("(") == 0
    assert picked("load5", ">", "8", before="half a cond >").condition == "half a cond > and load5 > 8"


@pytest.mark.parametrize(
    ("reading", "symbol", "value", "which", "says"),
    [
        ("cpu_percent", ">", "much", "", "must be a number"),
        ("cpu_percent", ">", "", "", "must be a number"),
        ("cpu_percent", ">", "nan", "", "something else"),
        ("cpu_percent", "~", "9", "", "Choose"),
        ("rm -rf", ">", "9", "", "Choose"),
        ("monitor.status", ">", "up", "", "text has no order"),
        ("plugin.*", ">", "1", "", "Say which"),
        ("event.labels.*", "==", "x", "", "Say which"),
        ("monitor.status", "==", "a' or load1 > 0 or monitor.status == 'b\"", "", "something else"),
    ],
)
def test_what_cannot_be_written_is_said_and_changes_nothing(reading, symbol, value, which, says):
    built = picked(reading, symbol, value, which, before="load1 > 3")
    assert built.condition == "load1 > 3"
    assert says in built.wrong


@given(
    st.sampled_from(sorted(READABLE)), st.sampled_from(sorted(COMPARISONS)), st.text(max_size=12), st.text(max_size=12)
)
def test_whatever_is_typed_one_comparison_comes_of_it_or_a_reason(reading, symbol, which, value):
    built = picked(reading, symbol, value, which)
    assert bool(built.condition) != bool(built.wrong)
    if built.condition:
        tree = parse(built.condition).tree
        assert isinstance(tree, Comparison)
        assert isinstance(tree.left, Name)
        assert split(tree.left.key)[0] == split(reading)[0]


def test_fields_are_empty_again_unless_something_was_wrong():
    form = {"do": "build", "pick_reading": "load1", "pick_is": ">", "pick_value": "8"}
    assert builder(form, ()).picked == {}
    assert builder({**form, "do": "try"}, ()).picked["pick_value"] == "8"
    refused = builder({**form, "pick_value": "x"}, ())
    assert refused.wrong
    assert refused.picked["pick_value"] == "x"
    assert len(FAMILIES) == 6, "a new family needs a row in GROUPS, or a reason for none"
