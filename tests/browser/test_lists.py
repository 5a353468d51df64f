"""Lists and forms with script: rows chosen by the keyboard, rows of a form added and moved, what is left ticking."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.support.browser import click, keys, press, text, type_into
from tests.support.pages import look, sign_in, size
from tests.support.sound import sound
from tests.support.waiting import until

pytestmark = pytest.mark.browser


@pytest.fixture
def chosen_from(house):
    """A list of two monitors, which are all that have its tag."""
    made = [house.admin.post("/api/monitoring/endpoints", {"name": name, "type": "push", "tags": ["to-choose"]})["id"]
            for name in ("Checkout", "Shop front")]  # fmt: skip
    yield house
    for each in made:
        house.admin.delete(f"/api/monitoring/endpoints/{each}")


def push(page, selector):
    """Press what may lie under the tabs of a phone until it is scrolled to."""
    found = page.find_element(By.CSS_SELECTOR, selector)
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
    press(page, selector)


LIST = "/monitors?sort=name&tag=to-choose"
CHOSEN = """
const ticks = [...document.querySelectorAll(".pick")];
const names = ticks.filter((each) => each.checked).map((each) => each.value);
const [said, all] = ["[data-chosen]", ".many .all"].map((each) => document.querySelector(each).innerText);
return [names, ticks.length, said, all];
"""


def chosen(page):
    """The rows that are chosen, how many there are, and what the page says of it; in one step, for the list is live."""
    return page.execute_script(CHOSEN)


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1440, "light")])
def test_rows_are_chosen_and_changed_with_the_keyboard_alone(page, chosen_from, tmp_path, width, scheme):
    sign_in(page, chosen_from, "ada")
    size(page, width, 900)
    look(page, scheme)
    page.get(chosen_from.url + LIST)
    pause = ".many button[value='monitors.pause']"
    assert text(page, pause) == "", "nothing is chosen yet"
    type_into(page, "body", "j")
    keys(page, "x")
    assert chosen(page)[0] == ["Checkout"]
    assert chosen(page)[2] == "1 chosen"
    keys(page, "j")
    keys(page, "x")
    assert chosen(page)[0] == ["Checkout", "Shop front"]
    right = "return document.querySelector(arguments[0]).getBoundingClientRect().right"
    assert page.execute_script(right, pause) <= width
    sound(page)
    page.save_screenshot(str(tmp_path / "chosen.png"))
    type_into(page, pause, Keys.ENTER)
    until(lambda: page.find_elements(By.CSS_SELECTOR, "#many"), 20, what="the page that says what will happen")
    assert "nobody is told" in text(page, "main")
    sound(page)
    page.find_element(By.LINK_TEXT, "Cancel").send_keys(Keys.ENTER)
    until(lambda: page.find_elements(By.CSS_SELECTOR, ".pick"), 20, what="the list")
    assert "sort=name" in page.current_url
    click(page, ".many .all")
    names, count, _, offered = chosen(page)
    assert (len(names), offered) == (count, "Choose none")
    assert count == 2


def test_a_live_part_keeps_what_is_chosen(page, chosen_from):
    sign_in(page, chosen_from, "otto")
    page.get(chosen_from.url + LIST)
    click(page, ".pick[value='Shop front']")
    body = {"name": "Archive", "type": "push", "tags": ["to-choose"]}
    made = chosen_from.admin.post("/api/monitoring/endpoints", body)["id"]
    until(lambda: page.find_elements(By.CSS_SELECTOR, ".pick[value='Archive']"), 30, what="the new row")
    assert chosen(page)[0] == ["Shop front"], "the tick stays with its row"
    chosen_from.admin.delete(f"/api/monitoring/endpoints/{made}")


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1440, "dark")])
def test_steps_are_added_moved_and_chips_taken_out(page, house, tmp_path, width, scheme):
    sign_in(page, house, "ada")
    size(page, width, 900)
    look(page, scheme)
    page.get(house.url + "/automations/new?type=workflow")
    push(page, "button[value='params.steps:add']")
    page.find_element(By.NAME, "params.steps:0:id").send_keys("first")
    push(page, "button[value='params.steps:add']")
    page.find_element(By.NAME, "params.steps:1:id").send_keys("second")
    push(page, "button[value='params.steps:up:1']")
    names = [page.find_element(By.NAME, f"params.steps:{at}:id").get_attribute("value") for at in (0, 1)]
    assert names == ["second", "first"]
    sound(page)
    page.save_screenshot(str(tmp_path / "steps.png"))
    page.get(house.url + "/monitors/new")
    page.execute_script("document.querySelectorAll('main details').forEach((each) => { each.open = true; })")
    tags = page.find_element(By.NAME, "tags")
    tags.send_keys("web, shop")
    chips = page.find_elements(By.CSS_SELECTOR, ".chips .tag")
    assert [chip.get_attribute("aria-label") for chip in chips] == ["Take web out", "Take shop out"]
    page.execute_script("arguments[0].click()", chips[0])
    assert tags.get_attribute("value") == "shop"
    sound(page)


def test_what_is_left_to_decide_counts_down(page, house):
    body = {"name": "needs a person", "type": "script", "params": {"script": "true"}, "requires_approval": True}
    made = house.admin.post("/api/automations", body)["id"]
    house.admin.post(f"/api/automations/{made}/run")
    sign_in(page, house, "otto")
    welcome = {"features": [{"name": "prefers-reduced-motion", "value": "no-preference"}]}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", welcome)  # or it counts each 20 s
    page.get(house.url + "/approvals")
    first = text(page, "time[data-until]")
    assert "left" in first
    until(lambda: text(page, "time[data-until]") != first, 30, what="a later time")
