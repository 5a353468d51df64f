"""docs/guide/causes.md says what is so."""

from opsapp.wire.causes import CAUSES
from tests.support.causes_page import PAGE, page


def test_the_page_is_the_table():
    assert PAGE.read_text() == page(), "write it anew: python -m tests.support.causes_page"


def test_every_sentence_has_its_fields_and_an_advice():
    for kind in CAUSES.values():
        assert kind.sentence.format(**dict.fromkeys(kind.fields, "x"))
        assert kind.by_hand.endswith(".")
        assert not kind.helped_by or kind.no_step_helps
