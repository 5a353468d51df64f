"""A monitor's life in a real browser: looked at before it is saved, seen going down, paused, cloned, deleted."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.browser.test_overview import sign_in
from tests.support.browser import press, text, texts
from tests.support.process import Serve
from tests.support.targets import refused_port, website
from tests.support.waiting import until

pytestmark = pytest.mark.browser


@pytest.fixture
def serve(tmp_path):
    """A service of a test's own: each counts the monitors that it made."""
    with Serve(tmp_path / "serve", {"web": {"login": {"attempts_per_ip": 100}}}) as serve:
        yield serve


def fill(browser, **values):
    for name, value in values.items():
        field = browser.find_element(By.CSS_SELECTOR, f"#monitor-form [name={name}]")
        field.clear()
        field.send_keys(value)


def shown_live(browser, selector, words):
    """The page says so by itself, without being asked for anew."""
    until(lambda: words in text(browser, selector), 40, what=words)


def beats(browser):
    """What the bar on top of the page says: `2 up; newest up`."""
    script = "return document.querySelector('#beats svg')?.getAttribute('aria-label').split(': ')[1] ?? ''"
    return browser.execute_script(script)


def push(browser, act):
    """A button of the page that is low on it."""
    button = browser.find_element(By.CSS_SELECTOR, f"form.act input[value='{act}'] ~ .savebar button")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", button)
    press(browser, f"form.act input[value='{act}'] ~ .savebar button")


def test_two_kinds_are_tried_saved_seen_down_paused_cloned_and_deleted(browser, serve):
    sign_in(browser, serve)
    with website() as site:
        browser.get(f"{serve.url}/monitors/new")
        fill(browser, name="Shop", url=f"{site.url}/welcome")
        press(browser, "button[value=try]")
        assert "It is up" in text(browser, "#tried")
        assert "HTTP status\n200" in text(browser, "#tried")
        browser.find_element(By.CSS_SELECTOR, ".more-fields summary").click()
        fill(browser, interval="5", timeout="2", retries="0")
        press(browser, "button[value=create]")
        assert text(browser, "h1") == "Shop"
        shop = browser.current_url
        until(lambda: beats(browser).count("up") == 2, 40, what="the first check, without reloading")
        first = beats(browser)
        until(lambda: beats(browser) != first, 40, what="the next beat, though nothing has changed")
        until(lambda: text(browser, ".live") == "Live", 20, what="the stream")
    shown_live(browser, "#now", "Down")
    shown_live(browser, "#past", "Open")

    browser.get(f"{serve.url}/monitors/new")
    fill(browser, name="Database")
    browser.find_element(By.LINK_TEXT, "tcp").click()
    until(lambda: browser.current_url.endswith("type=tcp"), 15, what="the form of another type")
    name = browser.find_element(By.CSS_SELECTOR, "#monitor-form [name=name]")
    assert name.get_attribute("value") == "Database", "what was filled in stays"
    fill(browser, url=f"tcp://127.0.0.1:{refused_port()}")
    press(browser, "button[value=try]")
    assert "It is down" in text(browser, "#tried")
    press(browser, "button[value=create]")
    assert text(browser, "h1") == "Database"

    browser.get(shop)
    scrub = browser.find_element(By.CSS_SELECTOR, "#moment .scrub")
    scrub.send_keys(Keys.HOME)
    cross = browser.find_element(By.CSS_SELECTOR, "#moment .cross")
    assert float(cross.get_attribute("x1").rstrip("%")) < 20, "the arrow keys move the crosshair"
    flag = browser.find_element(By.CSS_SELECTOR, "#moment .flag-at").get_attribute("textContent")
    assert scrub.get_attribute("aria-valuetext").startswith(flag)
    push(browser, "monitor.pause")
    assert "paused: not checked" in text(browser, "#facts")
    press(browser, ".acts a[href$='/clone']")
    press(browser, "button[value=create]")
    assert text(browser, "h1") == "Shop (copy)"
    push(browser, "monitor.delete")
    assert text(browser, "h1") == "Monitors"
    assert sorted(texts(browser, "#rows tbody td:first-child a")) == ["Database", "Shop"]
    said = [line["message"] for line in browser.get_log("browser") if line["level"] in ("SEVERE", "WARNING")]
    assert said == []


@pytest.mark.nightly("the core list has a form that is sent twice")
def test_a_form_that_is_saved_again_after_back_leads_to_what_it_made(browser, serve):
    def save():
        fill(browser, name="Twice", url="http://twice.example/")
        press(browser, "button[value=create]")
        return browser.current_url.partition("?")[0]

    def named_twice():
        return [row["id"] for row in serve.admin.get("/api/monitoring/endpoints") if row["name"] == "Twice"]

    sign_in(browser, serve)
    browser.get(f"{serve.url}/monitors/new")
    made = save()
    browser.back()
    until(lambda: browser.current_url.endswith("/monitors/new"), 15, what="the form")
    assert save() == made
    assert "Nothing was done a second time" in text(browser, "[role=status]")
    assert len(named_twice()) == 1
    browser.get(f"{serve.url}/monitors/new")
    assert browser.find_element(By.CSS_SELECTOR, "#monitor-form [name=name]").get_attribute("value") == ""
    assert save() != made
    assert len(named_twice()) == 2, "who opens the form anew wants another"


def test_an_arrow_waits_for_what_answers_the_words(browser, serve):
    for name in ("Anvil", "Bellows"):
        serve.admin.post("/api/monitoring/endpoints", {"name": name, "type": "push"})
    sign_in(browser, serve)
    field = browser.find_element(By.ID, "find")
    field.send_keys("Anvil")
    until(lambda: browser.find_elements(By.CSS_SELECTOR, ".palette a"), 15, what="what was found")
    field.send_keys(Keys.BACKSPACE * 5, "Bellows", Keys.ARROW_DOWN)
    until(lambda: "Bellows" in text(browser, ".palette a:focus"), 15, what="the answer to the words having the focus")
