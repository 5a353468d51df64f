"""The small path language of `json` monitors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.wire.jsonpath import PathMissing, parse_path, read_path, same_value, shown

DOCUMENT = {"a": {"b": [10, {"c d": True}]}, "state": "ok", "n": 1, "0": "text key", "none": None}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("up", '"up"'),
        ({"é": None}, '{"é": null}'),
        ("a\ud800b", '"a\\ud800b"'),
        (["x" * 100], '["' + "x" * 77 + "…"),
        (float("nan"), "NaN"),
    ],
)
def test_any_value_is_shown_as_text_that_can_be_sent_and_stored(value, text):
    assert shown(value) == text
    shown(value).encode()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$", DOCUMENT),
        ("$.state", "ok"),
        ("$.a.b[0]", 10),
        ("$.a.b[-1]['c d']", True),
        ('$.a["b"][1]["c d"]', True),
        ('$["0"]', "text key"),
        ("$.none", None),
    ],
)
def test_paths_lead_to_values(path, value):
    assert read_path(DOCUMENT, path) == value


@pytest.mark.parametrize("path", ["$.x", "$.a.b[2]", "$.a.b.c", "$.state[0]", "$[0]", "$.a.b['0']", "$.n.x"])
def test_a_path_that_leads_nowhere_says_so(path):
    with pytest.raises(PathMissing, match="nothing at"):
        read_path(DOCUMENT, path)


@pytest.mark.parametrize("path", ["", "a.b", "$a", "$.", "$..a", "$.a[", "$[*]", "$.a[1:2]", "$['a", "$.a b"])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(ValueError, match=r"\$"):
        parse_path(path)


@pytest.mark.parametrize(
    ("found", "expected", "same"),
    [
        (1, 1, True),
        (1, 1.0, True),
        (1, True, False),
        (True, 1, False),
        (True, True, True),
        (True, "true", True),
        (5, "5", True),
        ("5", 5, False),
        ("ok", "ok", True),
        (None, None, True),
        (None, "null", False),
        ([1], [1], True),
    ],
)
def test_equality_is_that_of_json(found, expected, same):
    assert same_value(found, expected) is same


@given(st.text())
def test_any_text_is_a_path_or_a_value_error(text):
    try:
        parse_path(text)
    except ValueError:
        pass
