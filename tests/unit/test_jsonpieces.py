"""Entries of a list in a JSON document that arrives in portions."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.lib.jsonpieces import ListedEntries

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def read(text, portion=7, longest=10_000):
    entries = ListedEntries("alerts", longest)
    listed = [entry for at in range(0, len(text), portion) for entry in entries.feed(text[at : at + portion])]
    return entries, listed


@given(st.lists(VALUES, max_size=6), st.dictionaries(st.text(), VALUES, max_size=3), st.integers(1, 40), st.booleans())
def test_each_entry_comes_as_it_was_written(listed, around, portion, indented):
    before = {name: value for name, value in around.items() if name != "alerts"}
    document = {**before, "alerts": listed, "after": [before]}
    text = json.dumps(document, indent=2 if indented else None).encode()
    entries, read_entries = read(text, portion)
    assert [json.loads(entry.text) for entry in read_entries] == listed
    assert [entry.place for entry in read_entries] == list(range(len(listed)))
    assert (entries.has_list, entries.is_list, entries.is_over) == (True, False, True)


@given(st.lists(VALUES, max_size=6), st.integers(1, 40))
def test_the_document_may_be_the_list(listed, portion):
    entries, read_entries = read(json.dumps(listed).encode(), portion)
    assert [json.loads(entry.text) for entry in read_entries] == listed
    assert (entries.is_list, entries.is_over) == (True, True)


@pytest.mark.parametrize(
    "text",
    [
        b'{"id": "1", "labels": {"alerts": [1]}}',
        b'"alerts"',
        b"",
        b"x [1]",
        b"]",
        b'{"alerts": {"a": [1]}}',
        b'{"a": "',
    ],
)
def test_a_document_without_the_list_is_whole(text):
    entries, listed = read(text)
    assert (listed, entries.has_list, entries.whole()) == ([], False, text)


@pytest.mark.parametrize("portion", [1, 3, 1000])
def test_what_is_no_json_costs_no_other_entry(portion):
    text = b'{"alerts": [{"a": 1}, {"a": nonsense}, , {"a": [}, "b\xff", {"b": "]},{"}, 7]}'
    entries, listed = read(text, portion)
    assert [entry.text.strip() for entry in listed] == [
        b'{"a": 1}',
        b'{"a": nonsense}',
        b"",
        b'{"a": [}, "b\xff", {"b": "]},{"}, 7]',  # its bracket was not closed: it ends with the list
    ]
    assert not entries.is_over


@pytest.mark.parametrize("portion", [1, 3, 1000])
def test_an_entry_that_is_too_long_is_named_and_not_held(portion):
    text = b'{"alerts": [1, {"a": "' + b"x\\\\" * 400 + b'"}, 2]}'
    entries, listed = read(text, portion, longest=100)
    assert [(entry.place, entry.text and entry.text.strip()) for entry in listed] == [(0, b"1"), (1, None), (2, b"2")]
    assert entries.is_over


def test_a_document_that_breaks_off_or_goes_on_behind_its_end_is_not_over():
    for text in (b'{"alerts": [1, 2', b'{"alerts": [1, 2]', b'{"alerts": [1, 2]} x', b"[1, 2] [3]"):
        entries, listed = read(text)
        assert [entry.text.strip() for entry in listed][:1] == [b"1"]
        assert not entries.is_over, text


def test_a_document_without_the_list_may_be_too_long():
    entries, listed = read(b'{"id": "' + b"x" * 500 + b'"}', longest=100)
    assert (listed, entries.is_too_long, entries.begins_as_json) == ([], True, True)
    entries, _ = read(b"nonsense " * 50, longest=100)
    assert (entries.is_too_long, entries.begins_as_json) == (True, False)


@pytest.mark.parametrize("portion", [1, 7, 64])
@pytest.mark.parametrize("front", [b"x [", b"]", b"{}]"])
def test_what_can_have_no_list_any_more_is_not_held_when_it_is_too_long(front, portion):
    """Its brackets are not looked at: nothing of it would ever be dropped as what was read."""
    entries = ListedEntries("alerts", 100)
    for _ in range(60):
        assert entries.feed(front + b'{"alerts": [1, 2]}'[:portion]) == []
        assert len(entries.whole()) <= 100
    assert (entries.is_too_long, entries.has_list) == (True, False)


@pytest.mark.parametrize("portion", [1, 7, 1000])
def test_much_may_stand_before_the_list(portion):
    text = b'{"other": "' + b"x" * 500 + b'", "more": [{"alerts": [1]}], "alerts": [1, 2]}'
    entries, listed = read(text, portion, longest=100)
    assert [entry.text.strip() for entry in listed] == [b"1", b"2"]
    assert entries.is_over
