"""With everything opened that can be: forms behind buttons, tables behind charts, and every page of the guide."""

import pytest

from opsapp.ui import guidebook
from tests.support.pages import places, sign_in, size

pytestmark = pytest.mark.browser
# What goes beyond the window, but for what scrolls in a box of its own and for words of charts, which are clipped.
BEYOND = """
for (const each of document.querySelectorAll("main details")) each.open = true;
const scrolls = (each) => each && each !== document.body
  && (getComputedStyle(each).overflowX !== "visible" || scrolls(each.parentElement));
return [...document.querySelectorAll("main *:not(svg *)")]
  .filter((each) => each.checkVisibility() && each.getBoundingClientRect().right > innerWidth + 1 && !scrolls(each))
  .map((each) => `${each.tagName}.${each.className}`).slice(0, 3);
"""
# A gate with this reason: whether its words are narrower than the longest of them.
GATE = """
document.querySelector("main").innerHTML = `<ul class="gates"><li><svg class="g"></svg><span>Not begun</span>
  <span class="v">${arguments[0]}</span></li></ul>`;
const words = document.querySelector(".gates li > span");
return words.getBoundingClientRect().width < 5 * parseFloat(getComputedStyle(words).fontSize) / 2;
"""


@pytest.mark.parametrize("half", [0, 1])
def test_what_opens_and_each_page_of_the_guide_fits_a_phone(page, house, half):
    sign_in(page, house, "ada")
    size(page, 390, 844)
    beyond = {}
    for place in [*places(house, house.ids), *(f"/help/{name}" for name in guidebook.pages())][half::2]:
        page.get(house.url + place)
        beyond[place] = page.execute_script(BEYOND)
    assert {place: elements for place, elements in beyond.items() if elements} == {}


@pytest.mark.parametrize("width", [390, 1440])
def test_a_long_reason_leaves_room_for_the_words_of_its_gate(page, house, width):
    sign_in(page, house, "ada")
    size(page, width, 844)
    narrow = page.execute_script(GATE, "the heal did not do well elsewhere, " * 5)
    assert not narrow
