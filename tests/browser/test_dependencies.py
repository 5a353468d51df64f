"""The graph of dependencies in a real browser: drawn by dragging, walked by keys, with 50 services."""

import pytest
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By

from tests.support.browser import focus, press, text, type_into
from tests.support.pages import sign_in, size
from tests.support.waiting import until

pytestmark = pytest.mark.browser
SERVICES = 50


@pytest.fixture(scope="module")
def fifty(house):
    """The house with 50 services; without them when these tests are over."""
    entries = [{"target": f"s{n:02}", "depends_on": [f"s{n // 3:02}"] if n else []} for n in range(SERVICES)]
    house.admin.put("/api/healing/dependencies", {"dependencies": entries})
    yield house
    house.admin.put("/api/healing/dependencies", {"dependencies": []})


@pytest.fixture
def graph(fifty, page):
    size(page, 1440, 1200)
    sign_in(page, fifty, "ada")
    page.get(f"{fifty.url}/healing/dependencies")
    return page


# Where the signs of two services stand: the graph is live, and both are asked for in one step.
BOTH = """
return [...arguments].map((name) => document.querySelector(`.graph a[data-name="${name}"] .node`))
"""


def value(page, name):
    return page.find_element(By.ID, f"add-{name}").get_attribute("value")


def drag(page, start, end):
    """From box to box; whether both were still there when the mouse came to them."""
    start, end = page.execute_script(BOTH, start, end)
    chain = ActionChains(page).click_and_hold(start).move_by_offset(5, 20)
    try:
        chain.move_to_element(end).release().perform()
    except StaleElementReferenceException:
        page.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseReleased", "x": 0, "y": 0, "button": "left"})
        return False
    return True


def test_a_dependency_is_drawn_from_box_to_box_and_added(graph):
    assert len(graph.find_elements(By.CSS_SELECTOR, ".graph a")) == SERVICES
    until(lambda: drag(graph, "s01", "s02"), what="a drag from box to box")
    assert (value(graph, "target"), value(graph, "depends_on")) == ("s01", "s02")
    assert graph.current_url.endswith("/healing/dependencies"), "a drag is no visit"
    assert focus(graph).text == "Add"
    press(graph, "#add form[data-joins] button")
    assert "The dependency is added." in text(graph, "main")
    edges = {(edge["from"], edge["to"]) for edge in edges_of(graph)}
    assert ("s01", "s02") in edges


def edges_of(page):
    return page.execute_async_script(
        "const done = arguments[0]; fetch('/api/healing/dependencies').then((a) => a.json()).then((g) => done(g.edges))"
    )


def test_a_box_leads_to_its_editor_and_arrow_keys_walk_from_box_to_box(graph):
    stops = "return [...document.querySelectorAll('.graph a[tabindex=\"0\"]')].map((each) => each.dataset.name)"
    [first] = graph.execute_script(stops)  # one stop of the Tab key
    type_into(graph, ".graph a[tabindex='0']", Keys.ARROW_RIGHT)
    there = focus(graph).name
    assert there not in ("", first)
    type_into(graph, f".graph a[data-name='{there}']", Keys.ARROW_LEFT)
    name = focus(graph).name
    press(graph, f".graph a[data-name='{name}']")
    assert text(graph, "#add h2") == name
    assert value(graph, "target") == name
    assert "It is needed by" in text(graph, "#add")
    assert graph.find_elements(By.CSS_SELECTOR, f".graph a[aria-current][data-name='{name}']")
