"""docs/guide/actions.md says what is so."""

from tests.support.actions_page import PAGE, page, states


def test_the_page_is_the_table():
    assert PAGE.read_text() == page(), "write it anew: python -m tests.support.actions_page"


def test_every_action_is_tried_somewhere():
    assert [name for name, state in states().items() if state == "untried"] == []
