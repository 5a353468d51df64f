"""JSON text of long answers is made in portions, and is the text that it was."""

import json

import pytest

from opsapp.web import jsontext

ROWS = [{"id": number, "name": f"Größe {number}", "tags": ["a", None]} for number in range(250)]


class NotingEncoder:
    """How many rows it is given at once."""

    def __init__(self):
        self.rows = []

    def encode(self, value):
        lists = [value, *(value.values() if isinstance(value, dict) else ())]
        self.rows += [len(rows) for rows in lists if isinstance(rows, list)]
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@pytest.mark.parametrize("value", [ROWS, {"total": 2, "rows": ROWS, "none": [], 'a"b': "c"}, {1: ROWS, None: True}])
def test_long_lists_are_encoded_in_portions(monkeypatch, value):
    encoder = NotingEncoder()
    monkeypatch.setattr(jsontext, "_ENCODER", encoder)
    assert jsontext.dumps(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert max(encoder.rows) == 100


def test_short_values_are_encoded_as_they_are():
    for value in ([], [1, 2.5, "x"], {}, {"a": []}, "text", None, 3):
        assert jsontext.dumps(value) == json.dumps(value, separators=(",", ":"))


def test_what_no_json_has_is_refused_in_a_long_list_too():
    with pytest.raises(ValueError, match="not JSON compliant"):
        jsontext.dumps([1.0] * 150 + [float("nan")])
