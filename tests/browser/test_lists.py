"""Lists and forms with script: rows chosen by the keyboard, rows of a form added and moved, what is left ticking."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.support.browser import press, text
from tests.support.pages import add_users, fill, look, sign_in, size
from tests.support.process import Serve
from tests.support.sound import sound
from tests.support.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    with Serve(tmp_path_factory.mktemp("serve"), {"web": {"login": {"attempts_per_ip": 100}}}) as serve:
        add_users(serve)
        serve.ids = fill(serve)
        yield serve


def keys(browser, *typed):
    browser.switch_to.active_element.send_keys(*typed)


def push(browser, selector):
    """Press what may lie under the tabs of a phone until it is scrolled to."""
    found = browser.find_element(By.CSS_SELECTOR, selector)
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", found)
    press(browser, selector)


def chosen(browser):
    return browser.execute_script("return [...document.querySelectorAll('.pick:checked')].map((each) => each.value)")


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1440, "light")])
def test_rows_are_chosen_and_changed_with_the_keyboard_alone(browser, serve, tmp_path, width, scheme):
    sign_in(browser, serve, "ada")
    size(browser, width, 900)
    look(browser, scheme)
    browser.get(serve.url + "/monitors?sort=name")
    assert not browser.find_element(By.CSS_SELECTOR, ".many button").is_displayed(), "nothing is chosen yet"
    browser.find_element(By.TAG_NAME, "body").send_keys("j")
    keys(browser, "x")
    assert chosen(browser) == ["Checkout"]
    assert text(browser, "[data-chosen]") == "1 chosen"
    keys(browser, "j")
    keys(browser, "x")
    assert chosen(browser) == ["Checkout", "Shop"]
    pause = browser.find_element(By.CSS_SELECTOR, ".many button[value='monitors.pause']")
    assert pause.rect["x"] + pause.rect["width"] <= width
    sound(browser)
    browser.save_screenshot(str(tmp_path / "chosen.png"))
    browser.execute_script("arguments[0].focus()", pause)
    keys(browser, Keys.ENTER)
    until(lambda: browser.find_elements(By.CSS_SELECTOR, "#many"), 20, what="the page that says what will happen")
    assert "nobody is told" in text(browser, "main")
    sound(browser)
    browser.find_element(By.LINK_TEXT, "Cancel").send_keys(Keys.ENTER)
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".pick"), 20, what="the list")
    assert "sort=name" in browser.current_url
    link = browser.find_element(By.CSS_SELECTOR, ".many .all")
    link.click()
    assert len(chosen(browser)) == len(browser.find_elements(By.CSS_SELECTOR, ".pick"))
    assert link.text == "Choose none"


def test_a_live_part_keeps_what_is_chosen(browser, serve):
    sign_in(browser, serve, "otto")
    browser.get(serve.url + "/monitors?sort=name")
    browser.find_element(By.CSS_SELECTOR, ".pick[value='Shop']").click()
    body = {"name": "Archive", "type": "tcp", "url": "tcp://127.0.0.1:1", "interval": 5, "timeout": 1, "retries": 0}
    made = serve.admin.post("/api/monitoring/endpoints", body)["id"]
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".pick[value='Archive']"), 30, what="the new row")
    assert chosen(browser) == ["Shop"], "the tick stays with its row"
    serve.admin.delete(f"/api/monitoring/endpoints/{made}")


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1440, "dark")])
def test_steps_are_added_moved_and_chips_taken_out(browser, serve, tmp_path, width, scheme):
    sign_in(browser, serve, "ada")
    size(browser, width, 900)
    look(browser, scheme)
    browser.get(serve.url + "/automations/new?type=workflow")
    push(browser, "button[value='params.steps:add']")
    browser.find_element(By.NAME, "params.steps:0:id").send_keys("first")
    push(browser, "button[value='params.steps:add']")
    browser.find_element(By.NAME, "params.steps:1:id").send_keys("second")
    push(browser, "button[value='params.steps:up:1']")
    names = [browser.find_element(By.NAME, f"params.steps:{at}:id").get_attribute("value") for at in (0, 1)]
    assert names == ["second", "first"]
    sound(browser)
    browser.save_screenshot(str(tmp_path / "steps.png"))
    browser.get(serve.url + "/monitors/new")
    browser.execute_script("document.querySelectorAll('main details').forEach((each) => { each.open = true; })")
    tags = browser.find_element(By.NAME, "tags")
    tags.send_keys("web, shop")
    chips = browser.find_elements(By.CSS_SELECTOR, ".chips .tag")
    assert [chip.get_attribute("aria-label") for chip in chips] == ["Take web out", "Take shop out"]
    browser.execute_script("arguments[0].click()", chips[0])
    assert tags.get_attribute("value") == "shop"
    sound(browser)


def test_what_is_left_to_decide_counts_down(browser, serve):
    body = {"name": "needs a person", "type": "script", "params": {"script": "true"}, "requires_approval": True}
    made = serve.admin.post("/api/automations", body)["id"]
    serve.admin.post(f"/api/automations/{made}/run")
    sign_in(browser, serve, "otto")
    browser.get(serve.url + "/approvals")
    first = text(browser, "time[data-until]")
    assert "left" in first
    until(lambda: text(browser, "time[data-until]") != first, 30, what="a later time")
