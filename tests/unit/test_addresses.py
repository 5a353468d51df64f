"""The public part of addresses, and the way back."""

import string
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.lib.addresses import at_path, joined, public, public_address, public_text, restored, split, without_hidden
from opsapp.lib.problems import Invalid


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://h.test", "https://h.test"),
        ("https://h.test:8443/a/b", "https://h.test:8443/a/b"),
        ("https://h.test/a?k=v#f", "https://h.test/a?***"),
        ("https://h.test#f", "https://h.test#***"),
        ("https://me@h.test/@a", "https://***@h.test/@a"),
        ("https://h.test/@a", "https://h.test/@a"),
        ("https://me:word@h.test/", "https://***@h.test/"),
        ("https://me:w@rd@h.test/", "https://***@h.test/"),
        ("https://me:w/r?d#x@h.test/", "https://***@h.test/"),
        ("https://me:w/rd", "https://me:w/rd"),
        ("https://h.test:80/@a", "https://h.test:80/@a"),
        ("https://[::1]:80/@a?b", "https://[::1]:80/@a?***"),
        ("https://[::1]/@a", "https://[::1]/@a"),
        ("tcp://h.test:1", "tcp://h.test:1"),
        ("dns://h.test/name?type=A", "dns://h.test/name?***"),
        ("https://h.test:{{input:port}}/@a", "https://h.test:{{input:port}}/@a"),
        ("https://{{secret:u}}:{{secret:p}}@h.test/", "https://{{secret:u}}:{{secret:p}}@h.test/"),
        ("https://u:{{secret:p}}@h.test/", "https://***@h.test/"),
        ("https://h.test/?a={{secret:x}}&b={{input:y}}", "https://h.test/?a={{secret:x}}&b={{input:y}}"),
        ("https://h.test/?{{secret:x}}", "https://h.test/?{{secret:x}}"),
        ("https://h.test/?a={{secret:x}}&b=clear", "https://h.test/?***"),
    ],
)
def test_the_public_part(address, shown):
    assert public_address(address) == public_text(address) == shown
    assert public_text(shown) == shown
    assert restored(shown, address, "url") == address


NAMES = st.text(string.ascii_letters + string.digits, min_size=1, max_size=12)
WORDS = st.text(string.printable, min_size=1).filter(lambda text: not any(each.isspace() for each in text))


@given(NAMES, WORDS, NAMES, WORDS)
def test_no_password_and_no_query_is_ever_shown(user, password, host, query):
    shown = public_text(f"https://{user}:x{password}@{host}.test/a?{query}")
    assert shown == f"https://***@{host}.test/a?***" or "@" in query


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a = b", "a = b"),
        ("curl 'https://u:p@h.test/a?b' -o x", "curl 'https://***@h.test/a?***' -o x"),
        ("see postgres://u:p@db.test/main and amqp://u:p@mq.test", "see postgres://***@db.test/main and amqp://***@mq.test"),
        ("host=db user=app password=word dbname=x", "host=db user=app password=*** dbname=x"),
        ("Server=db;Password=word;Pwd=other", "Server=db;Password=***;Pwd=***"),
        ("password='two words' x", "password=*** x"),
        ('password="two words" x', "password=*** x"),
        ("PASSWORD=$(cat file)", "PASSWORD=$(cat file)"),
        ("password={{secret:db}} x", "password={{secret:db}} x"),
    ],
)  # fmt: skip
def test_a_text_with_addresses(text, shown):
    assert public_text(text) == shown
    assert restored(shown, text, "script") == text


@pytest.mark.parametrize(
    "text",
    [
        "a" * 2_000_000 + "://=",
        "a://b " + "a" * 2_000_000,
        "password=" * 200_000,
        "pwd=" + "x+" * 1_000_000 + "=",
        "https://" * 250_000 + " ",
    ],
)
def test_a_long_text_is_gone_through_once(text):
    """So long that a reading which looks again and again at what it has passed would not end within hours."""
    assert len(public_text(text)) <= len(text)


RECORD = {
    "headers": {"Authorization": "Bearer x", "X-Token": "{{secret:t}}", "Accept": "a", "X-Empty": ""},
    "body": {"text": "said", "n": 1, "none": None},
    "env": {"API_TOKEN": "x", "DSN": "db://u:p@h.test", "N": "1"},
    "steps": [{"body": "said"}, {"body": None}, {"url": "https://h.test/?k"}],
    "action_params": '{"url": "https://h.test/?k", "body": {"a": 1}}',
    "n": 1,
}
SHOWN = {
    "headers": {"Authorization": "***", "X-Token": "{{secret:t}}", "Accept": "***", "X-Empty": ""},
    "body": {"text": "***", "n": "***", "none": None},
    "env": {"API_TOKEN": "***", "DSN": "***", "N": "***"},
    "steps": [{"body": "***"}, {"body": None}, {"url": "https://h.test/?***"}],
    "action_params": '{"body": {"a": "***"}, "url": "https://h.test/?***"}',
    "n": 1,
}


def test_a_record():
    assert public(RECORD) == SHOWN
    assert public({"env": None, "action_params": None}) == {"env": None, "action_params": None}


def test_what_was_hidden_comes_back():
    fields = {name: value for name, value in SHOWN.items() if name != "action_params"}
    assert {name: restored(value, RECORD[name], name) for name, value in fields.items()} == {
        name: RECORD[name] for name in fields
    }


def test_elements_of_a_list_may_have_moved():
    steps = [{"name": "new"}, *reversed(SHOWN["steps"])]
    assert restored(steps, RECORD["steps"], "steps") == [{"name": "new"}, *reversed(RECORD["steps"])]
    assert restored(["***", ["x"]], ["a"], "list") == ["a", ["x"]]


def test_the_same_address_twice_keeps_each_its_own():
    stored = "curl https://h.test/?a\ncurl https://h.test/?b"
    assert restored(public_text(stored) + "\ntrue", stored, "script") == stored + "\ntrue"


def test_what_is_added_beside_a_hidden_part_is_taken_as_it_is():
    given = "curl https://new.test/?a https://h.test/?***"
    assert restored(given, "curl https://h.test/?b", "script") == "curl https://new.test/?a https://h.test/?b"


@pytest.mark.parametrize(
    ("given", "stored", "field"),
    [
        ("***", None, "f"),
        ("https://***@other.test/", "https://u:p@h.test/", "f"),
        ("https://***@h.test/", None, "f"),
        ({"a": {"b": "***"}}, {"a": "text"}, "f.a.b"),
        ([{"b": "***"}], None, "f.0.b"),
    ],
)
def test_what_nobody_knows_is_asked_for(given, stored, field):
    with pytest.raises(Invalid) as refusal:
        restored(given, stored, "f")
    assert list(refusal.value.fields) == [field]


def test_three_stars_that_are_stored_are_text():
    assert restored("*** look ***", "*** look ***", "title") == "*** look ***"
    assert restored("*** look", None, "title") == "*** look"


def test_a_copy_without_what_is_hidden():
    assert without_hidden(SHOWN) == {
        "headers": {"X-Token": "{{secret:t}}", "X-Empty": ""},
        "body": {"none": None},
        "env": {},
        "steps": [{}, {"body": None}, {"url": "https://h.test/"}],
        "action_params": '{"body": {"a": "***"}, "url": "https://h.test/"}',
        "n": 1,
    }
    assert without_hidden(["***", "a"]) == ["a"]
    assert without_hidden("https://***@h.test/#*** password=***") == "https://h.test/ password="


# -- in the store

WHOLE = {
    "url": "https://u:p@h.test/?k=v",
    "headers": {"X-Token": "t", "X-Same": "{{secret:t}}"},
    "body": {"rows": ["a", 1]},
    "rows": (("kind", {"url": "https://h.test/#f"}), ["https://h.test/?k", "plain"]),
    "n": 1,
}


def test_a_value_is_split_for_the_store_and_joined_again():
    parts = split(WHOLE)
    assert parts.seen == {
        "url": "https://***@h.test/?***",
        "headers": {"X-Token": "***", "X-Same": "{{secret:t}}"},
        "body": {"rows": "***"},
        "rows": (("kind", {"url": "https://h.test/#***"}), ["https://h.test/?***", "plain"]),
        "n": 1,
    }
    assert dict((tuple(path), value) for path, value in parts.hidden) == {
        ("url",): WHOLE["url"],
        ("headers", "X-Token"): "t",
        ("body", "rows"): ["a", 1],
        ("rows", 0, 1, "url"): "https://h.test/#f",
        ("rows", 1, 0): "https://h.test/?k",
    }
    assert joined(parts) == WHOLE
    assert joined(split("https://h.test/?k")) == "https://h.test/?k"


@pytest.mark.parametrize("value", [{"url": "https://h.test/", "rows": (1, [2])}, {"rows": (1, [2])}, "text", None, 1.5])
def test_what_hides_nothing_is_stored_as_it_is(value):
    parts = split(value)
    assert parts.seen is value
    assert parts.hidden == []


def test_a_mapping_of_another_kind_is_looked_into():
    assert split(MappingProxyType({"url": "https://h.test/?k"})).seen == {"url": "https://h.test/?***"}


def test_what_stands_at_a_place():
    assert at_path(WHOLE, ["rows", 0, 1, "url"]) == "https://h.test/#f"
    assert at_path(WHOLE, []) is WHOLE
    for path in (["none"], ["rows", 9], ["n", 0]):
        assert at_path(WHOLE, path) is None


def test_what_holds_no_text_is_public_as_it_is():
    assert public(5) == 5
    assert public(None) is None
