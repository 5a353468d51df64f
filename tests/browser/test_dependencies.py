"""The graph of dependencies in a real browser: drawn by dragging, walked by keys, with 50 services."""

import pytest
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By

from tests.browser.test_overview import sign_in
from tests.support.browser import chromium, press, text
from tests.support.process import Serve

pytestmark = pytest.mark.browser
SERVICES = 50


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    with Serve(tmp_path_factory.mktemp("serve"), {"web": {"login": {"attempts_per_ip": 100}}}) as serve:
        entries = [{"target": f"s{n:02}", "depends_on": [f"s{n // 3:02}"] if n else []} for n in range(SERVICES)]
        serve.admin.put("/api/healing/dependencies", {"dependencies": entries})
        yield serve


@pytest.fixture
def browser(tmp_path, serve):
    driver = chromium(tmp_path / "profile")
    driver.set_window_size(1440, 1200)
    sign_in(driver, serve)
    driver.get(f"{serve.url}/healing/dependencies")
    yield driver
    assert [line for line in driver.get_log("browser") if line["level"] != "DEBUG"] == []
    driver.quit()


def box(browser, name):
    return browser.find_element(By.CSS_SELECTOR, f".graph a[data-name='{name}']")


def value(browser, name):
    return browser.find_element(By.ID, f"add-{name}").get_attribute("value")


def test_a_dependency_is_drawn_from_box_to_box_and_added(browser):
    assert len(browser.find_elements(By.CSS_SELECTOR, ".graph a")) == SERVICES
    start, end = box(browser, "s01").find_element(By.CSS_SELECTOR, ".node"), box(browser, "s02")
    chain = ActionChains(browser).click_and_hold(start).move_by_offset(5, 20)
    chain.move_to_element(end.find_element(By.CSS_SELECTOR, ".node")).release().perform()
    assert (value(browser, "target"), value(browser, "depends_on")) == ("s01", "s02")
    assert browser.current_url.endswith("/healing/dependencies"), "a drag is no visit"
    assert browser.switch_to.active_element.text == "Add"
    press(browser, "#add form[data-joins] button")
    assert "The dependency is added." in text(browser, "main")
    edges = {(edge["from"], edge["to"]) for edge in edges_of(browser)}
    assert ("s01", "s02") in edges


def edges_of(browser):
    return browser.execute_async_script(
        "const done = arguments[0]; fetch('/api/healing/dependencies').then((a) => a.json()).then((g) => done(g.edges))"
    )


def test_a_box_leads_to_its_editor_and_arrow_keys_walk_from_box_to_box(browser):
    tabbed = browser.find_elements(By.CSS_SELECTOR, ".graph a[tabindex='0']")
    assert len(tabbed) == 1, "one stop of the Tab key"
    browser.execute_script("arguments[0].focus()", tabbed[0])
    tabbed[0].send_keys(Keys.ARROW_RIGHT)
    there = browser.switch_to.active_element
    assert there.get_attribute("data-name") not in (None, tabbed[0].get_attribute("data-name"))
    there.send_keys(Keys.ARROW_LEFT)
    name = browser.switch_to.active_element.get_attribute("data-name")
    press(browser, f".graph a[data-name='{name}']")
    assert text(browser, "#add h2") == name
    assert value(browser, "target") == name
    assert "It is needed by" in text(browser, "#add")
    assert browser.find_elements(By.CSS_SELECTOR, f".graph a[aria-current][data-name='{name}']")
