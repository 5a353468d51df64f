"""A monitor's life in a real browser: looked at before it is saved, seen going down, paused, cloned, deleted."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.support.browser import click, keys, press, text, texts, type_into
from tests.support.pages import fill_in, sign_in
from tests.support.targets import refused_port, website
from tests.support.waiting import until

pytestmark = pytest.mark.browser


def fill(page, **values):
    for name, value in values.items():
        field = page.find_element(By.CSS_SELECTOR, f"#monitor-form [name={name}]")
        field.clear()
        field.send_keys(value)


def shown_live(page, selector, words):
    """The page says so by itself, without being asked for anew."""
    until(lambda: words in text(page, selector), 40, what=words)


def beats(page):
    """What the bar on top of the page says: `2 up; newest up`."""
    script = "return document.querySelector('#beats svg')?.getAttribute('aria-label').split(': ')[1] ?? ''"
    return page.execute_script(script)


# Where the crosshair stands, what its flag says, and what is read out of it.
CROSSHAIR = """
const [cross, flag, scrub] = [".cross", ".flag-at", ".scrub"].map((name) => document.querySelector("#moment " + name));
return [cross.getAttribute("x1"), flag.textContent, scrub.getAttribute("aria-valuetext")];
"""


def push(page, act):
    """A button of the page that is low on it."""
    button = page.find_element(By.CSS_SELECTOR, f"form.act input[value='{act}'] ~ .savebar button")
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    press(page, f"form.act input[value='{act}'] ~ .savebar button")


def test_two_kinds_are_tried_saved_seen_down_paused_cloned_and_deleted(page, house):
    sign_in(page, house, "ada")
    with website() as site:
        page.get(f"{house.url}/monitors/new")
        fill(page, name="Corner shop", url=f"{site.url}/welcome")
        press(page, "button[value=try]")
        assert "It is up" in text(page, "#tried")
        assert "HTTP status\n200" in text(page, "#tried")
        click(page, ".more-fields summary")
        fill(page, interval="5", timeout="2", retries="0")
        fill(page, tags="corner")
        press(page, "button[value=create]")
        assert text(page, "h1") == "Corner shop"
        shop = page.current_url
        until(lambda: beats(page).count("up") == 2, 40, what="the first check, without reloading")
        first = beats(page)
        until(lambda: beats(page) != first, 40, what="the next beat, though nothing has changed")
        until(lambda: text(page, ".live") == "Live", 20, what="the stream")
    shown_live(page, "#now", "Down")
    shown_live(page, "#past", "Open")

    page.get(f"{house.url}/monitors/new")
    fill(page, name="Database")
    click(page, ".kinds a[href$='type=tcp']")
    until(lambda: page.current_url.endswith("type=tcp"), 15, what="the form of another type")
    name = page.find_element(By.CSS_SELECTOR, "#monitor-form [name=name]")
    assert name.get_attribute("value") == "Database", "what was filled in stays"
    fill_in(page, "#monitor-form", url=f"tcp://127.0.0.1:{refused_port()}", tags="corner")
    press(page, "button[value=try]")
    assert "It is down" in text(page, "#tried")
    press(page, "button[value=create]")
    assert text(page, "h1") == "Database"

    page.get(shop)
    type_into(page, "#moment .scrub", Keys.HOME)
    x, flag, said = page.execute_script(CROSSHAIR)
    assert float(x.rstrip("%")) < 20, "the arrow keys move the crosshair"
    assert said.startswith(flag)
    push(page, "monitor.pause")
    assert "paused: not checked" in text(page, "#facts")
    press(page, ".acts a[href$='/clone']")
    press(page, "button[value=create]")
    assert text(page, "h1") == "Corner shop (copy)"
    push(page, "monitor.delete")
    assert text(page, "h1") == "Monitors"
    page.get(f"{house.url}/monitors?tag=corner")
    assert sorted(texts(page, "#rows tbody td:first-child a")) == ["Corner shop", "Database"]


@pytest.mark.nightly("the core list has a form that is sent twice")
def test_a_form_that_is_saved_again_after_back_leads_to_what_it_made(page, house):
    def save():
        fill(page, name="Made again", url="http://twice.example/")
        press(page, "button[value=create]")
        return page.current_url.partition("?")[0]

    def named_so():
        return [row["id"] for row in house.admin.get("/api/monitoring/endpoints") if row["name"] == "Made again"]

    sign_in(page, house, "ada")
    page.get(f"{house.url}/monitors/new")
    made = save()
    page.back()
    until(lambda: page.current_url.endswith("/monitors/new"), 15, what="the form")
    assert save() == made
    assert "Nothing was done a second time" in text(page, "[role=status]")
    assert len(named_so()) == 1
    page.get(f"{house.url}/monitors/new")
    assert page.find_element(By.CSS_SELECTOR, "#monitor-form [name=name]").get_attribute("value") == ""
    assert save() != made
    assert len(named_so()) == 2, "who opens the form anew wants another"


def test_an_arrow_waits_for_what_answers_the_words(page, house):
    for name in ("Anvil", "Bellows"):
        house.admin.post("/api/monitoring/endpoints", {"name": name, "type": "push"})
    sign_in(page, house, "ada")
    page.find_element(By.ID, "find").send_keys("Anvil")
    until(lambda: page.find_elements(By.CSS_SELECTOR, ".palette a"), 15, what="what was found")
    keys(page, Keys.BACKSPACE * 5, "Bellows", Keys.ARROW_DOWN)
    until(lambda: "Bellows" in text(page, ".palette a:focus"), 15, what="the answer to the words having the focus")
