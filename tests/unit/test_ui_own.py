"""Everything as one document: YAML while it is small, a line of JSON for each thing of many."""

import json

import yaml

from opsapp.ui.shapes.own import MOST_YAML, document_text


def document(monitors):
    rows = [{"name": f"m{number}", "tags": ["\u00e4"]} for number in range(monitors)]
    return {"channels": [], "monitors": rows, "status_page": {"name": "x"}}


def test_a_small_document_is_yaml():
    """What is empty is left out: nobody needs to write it."""
    text = document_text(document(2))
    assert yaml.safe_load(text) == {kind: entries for kind, entries in document(2).items() if entries}
    assert "- name: m0" in text.splitlines()


def test_of_many_things_each_has_a_line():
    text = document_text(document(MOST_YAML + 1))
    assert json.loads(text) == document(MOST_YAML + 1)
    assert '    {"name": "m7", "tags": ["\u00e4"]},' in text.splitlines()
    assert len(text.splitlines()) == MOST_YAML + 1 + 6
