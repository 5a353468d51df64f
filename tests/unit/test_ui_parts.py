"""A page's parts say the classes of their answers, and a shape gets what they say."""

import pytest

from opsapp.ui import builder
from opsapp.ui.plan import Page, Part
from opsapp.ui.reader import AnswerOf, Answers, Reader
from opsapp.wire.dataclass import dataclass


@dataclass(frozen=True)
class Lamp:
    name: str


LAMP = AnswerOf("lamp", Lamp)
LAMPS = AnswerOf("lamps", list[Lamp])


class Said:
    """What the API answers, of one value."""

    headers: dict[str, str] = {}

    def __init__(self, value):
        self.value = value


def shown(part, value):
    reader = Reader(0.0, "UTC", "ada", "admin", {}, lambda api: True)
    page = Page("/lamps", "Lamps", (part,))
    return builder.show(page, {}, reader, lambda path, query: Said(value), lambda said: said.value, [])


def test_a_shape_gets_what_was_answered_by_the_part():
    answers = Answers({"lamp": Lamp("red"), "lamps": [Lamp("red")], "plain": {"name": "red"}})
    assert (answers[LAMP].name, answers[LAMPS][0].name, answers["plain"]["name"]) == ("red", "red", "red")
    assert answers.known(LAMP) == Lamp("red")


def test_of_a_part_that_was_left_out():
    answers = Answers.fromkeys(("lamp", "lamps", "plain"))
    assert answers[LAMPS] == []
    assert answers.known(LAMPS) is None
    assert answers["plain"] is None
    with pytest.raises(LookupError, match="lamp was left out"):
        answers[LAMP]


@pytest.mark.parametrize(
    ("name", "value"),
    [(LAMP, {"name": "red"}), (LAMP, [Lamp("red")]), (LAMPS, [{"name": "red"}]), (LAMPS, Lamp("red"))],
)
def test_an_answer_of_another_class_is_no_page(name, value):
    """So each test that shows the page fails, and not only who reads what is not there."""
    with pytest.raises(TypeError, match=name):
        shown(Part("", "/api/lamps", (), name=name), value)


@pytest.mark.parametrize(("name", "value"), [(LAMP, Lamp("red")), (LAMPS, [Lamp("red")]), (LAMPS, [])])
def test_an_answer_of_its_class_is_shown(name, value):
    (section,) = shown(Part("", "/api/lamps", (), name=name), value)
    assert section.value == value
