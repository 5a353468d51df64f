"""Everything as one document: indented while it is small, a line for each thing of many."""

import json

from opsapp.ui.shapes.own import MOST_INDENTED, document_text


def document(monitors):
    rows = [{"name": f"m{number}", "tags": ["\u00e4"]} for number in range(monitors)]
    return {"channels": [], "monitors": rows, "status_page": {"name": "x"}}


def test_a_small_document_is_indented():
    text = document_text(document(2))
    assert json.loads(text) == document(2)
    assert '      "name": "m0",' in text.splitlines()


def test_of_many_things_each_has_a_line():
    text = document_text(document(MOST_INDENTED + 1))
    assert json.loads(text) == document(MOST_INDENTED + 1)
    assert '    {"name": "m7", "tags": ["\u00e4"]},' in text.splitlines()
    assert len(text.splitlines()) == MOST_INDENTED + 1 + 6
