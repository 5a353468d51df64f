"""A monitor's life in a real browser: looked at before it is saved, seen going down, paused, cloned, deleted."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.browser.test_overview import sign_in
from tests.support.browser import chromium, press
from tests.support.process import Serve
from tests.support.targets import refused_port, website
from tests.support.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    with Serve(tmp_path_factory.mktemp("serve"), {"web": {"login": {"attempts_per_ip": 100}}}) as serve:
        yield serve


@pytest.fixture
def browser(tmp_path):
    driver = chromium(tmp_path / "profile")
    yield driver
    driver.quit()


def fill(browser, **values):
    for name, value in values.items():
        field = browser.find_element(By.CSS_SELECTOR, f"#monitor-form [name={name}]")
        field.clear()
        field.send_keys(value)


def text_of(browser, selector):
    return browser.find_element(By.CSS_SELECTOR, selector).text


def shown_live(browser, selector, words):
    """The page says so by itself, without being asked for anew."""
    until(lambda: words in text_of(browser, selector), 40, what=words)


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
        assert "It is up" in text_of(browser, "#tried")
        assert "HTTP status\n200" in text_of(browser, "#tried")
        browser.find_element(By.CSS_SELECTOR, ".more-fields summary").click()
        fill(browser, interval="5", timeout="2", retries="0")
        press(browser, "button[value=create]")
        assert text_of(browser, "h1") == "Shop"
        shop = browser.current_url
        until(lambda: serve.admin.get("/api/monitoring/endpoints")[0]["status"] == "up", 40, what="the first check")
        browser.refresh()
        until(lambda: text_of(browser, ".live") == "Live", 20, what="the stream")
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
    assert "It is down" in text_of(browser, "#tried")
    press(browser, "button[value=create]")
    assert text_of(browser, "h1") == "Database"

    browser.get(shop)
    scrub = browser.find_element(By.CSS_SELECTOR, "#response .scrub")
    scrub.send_keys(Keys.HOME)
    cross = browser.find_element(By.CSS_SELECTOR, "#response .cross")
    assert cross.get_attribute("visibility") == "visible", "the arrow keys move the crosshair"
    assert scrub.get_attribute("aria-valuetext").startswith(text_of(browser, "#response .read b"))
    push(browser, "monitor.pause")
    assert "paused: nobody looks" in text_of(browser, "#facts")
    press(browser, ".acts a[href$='/clone']")
    press(browser, "button[value=create]")
    assert text_of(browser, "h1") == "Shop (copy)"
    push(browser, "monitor.delete")
    assert text_of(browser, "h1") == "Monitors"
    names = [link.text for link in browser.find_elements(By.CSS_SELECTOR, "#rows tbody td:first-child a")]
    assert sorted(names) == ["Database", "Shop"]
    said = [line["message"] for line in browser.get_log("browser") if line["level"] in ("SEVERE", "WARNING")]
    assert said == []
