"""Every page in a real browser: at two widths, light and dark, as viewer, operator and admin."""

from pathlib import Path

import axe_core_python
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.support.browser import press
from tests.support.pages import ROLES, look, places, sign_in, size, without_place
from tests.support.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
WIDTHS = {"phone": (390, 844), "desk": (1440, 900)}
ADMINS = ("/users", "/audit", "/notifications", "/secrets", "/statuspage", "/settings/service", "/settings/as-code")
REFUSED = {
    "vera": (*ADMINS, "/healing/replay", "/agents/add", "/automations/new", "/maintenance/new", "/monitors/new"),
    "otto": (*ADMINS, "/agents/add"),
    "ada": (),
}

# What a page must have besides: one h1, a label for every input, nothing wider than the window.
LACKS = """
const lacks = [];
for (const selector of ["h1", "main"])
  if (document.querySelectorAll(selector).length !== 1) lacks.push(selector);
for (const input of document.querySelectorAll("input:not([type=hidden]), select, textarea"))
  if (!input.labels.length && !input.getAttribute("aria-label")) lacks.push("label of " + input.name);
const page = document.documentElement;
if (page.scrollWidth > window.innerWidth) lacks.push("width: " + page.scrollWidth);
if (!page.lang || !document.title) lacks.push("lang or title");
return lacks;
"""
AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text()
# The guidelines' rules of the levels A and AA; gives each finding with where it is.
RULES = """
const done = arguments[arguments.length - 1];
axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}).then((said) => done(said.violations.map(
  (each) => each.id + ": " + each.nodes.slice(0, 3).map((node) => node.html.slice(0, 120)).join(" | "))));
"""


def refuses(who, place):
    """Whether the page is not for this role."""
    changes = who == "vera" and place.endswith(("/edit", "/clone"))
    return changes or (bool(REFUSED[who]) and place.startswith(REFUSED[who]))


@pytest.mark.parametrize("who", ROLES)
def test_every_page_is_whole(page, house, who):
    sign_in(page, house, who)
    page.get_log("browser")
    wrong = []
    for place in places(house, house.ids):
        size(page, *WIDTHS["phone"])
        look(page, "dark")
        page.get(house.url + place)
        h1, refused = page.find_element(By.TAG_NAME, "h1").text, refuses(who, place)
        if (h1 == "Not allowed") != refused:
            wrong.append((place, h1))
        if place.startswith("/api"):
            continue
        page.execute_script(AXE)
        for width, scheme in (("phone", "dark"), ("desk", "light")):
            size(page, *WIDTHS[width])
            look(page, scheme)
            lacks = page.execute_script(LACKS) + page.execute_async_script(RULES)
            wrong += [(place, width, scheme, lack) for lack in lacks]
        said = [line["message"] for line in page.get_log("browser") if line["level"] in ("SEVERE", "WARNING")]
        wrong += [(place, line) for line in said if not (refused and "403" in line)]
    assert not wrong, "\n".join(map(str, wrong))


def test_no_page_of_the_table_is_left_out(house):
    assert without_place(places(house, house.ids)) == []


def test_a_monitor_is_found_and_reached_with_the_keyboard_alone(page, house):
    sign_in(page, house, "otto")
    page.find_element(By.TAG_NAME, "body").send_keys(Keys.CONTROL, "k")
    field = page.switch_to.active_element
    assert field.get_attribute("id") == "find"
    field.send_keys("shop")
    first = "return document.querySelector('.palette a')?.textContent ?? ''"
    until(lambda: page.execute_script(first).strip().startswith("Shop"), 10, what="what was found for the whole word")
    field.send_keys(Keys.ARROW_DOWN)
    assert page.switch_to.active_element.text.startswith("Shop")
    name, glyph = (page.find_element(By.CSS_SELECTOR, f".palette li {part}").rect for part in ("a", ".st svg"))
    assert glyph["x"] >= name["x"] + name["width"], "the sign stands beside the name, not upon it"
    page.switch_to.active_element.send_keys(Keys.ENTER)
    until(lambda: "/monitors/" in page.current_url, 10, what="the monitor")
    page.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    assert page.switch_to.active_element.text == "Skip to the content"


def test_an_incident_is_acknowledged_in_the_war_room(page, house):
    incident = house.ids["/incidents/{id}"]
    sign_in(page, house, "otto")
    page.get(f"{house.url}/incidents/{incident}")
    assert "<i>Gone</i>" in page.find_element(By.TAG_NAME, "h1").text
    form = "form:has(input[name=act][value$='.take'])"
    page.execute_script(f"document.querySelector(\"{form}\").closest('details')?.setAttribute('open', '')")
    press(page, f"{form} button")
    assert house.admin.get(f"/api/monitoring/incidents/{incident}")["acknowledged_by"] == "otto"
    assert [line for line in page.get_log("browser") if line["level"] == "SEVERE"] == []


@pytest.mark.parametrize("width", [390, 1440])
def test_a_request_is_decided_without_scrolling_sideways(page, house, width):
    """The buttons lie in the window, whatever the plan says and however long it is."""
    body = {"name": f"needs-{width}", "type": "script", "params": {"script": "echo " + "word " * 60},
            "requires_approval": True}  # fmt: skip
    made = house.admin.post("/api/automations", body)["id"]
    house.admin.post(f"/api/automations/{made}/run")
    sign_in(page, house, "otto")
    size(page, width, 900)
    page.get(f"{house.url}/approvals")
    for word in ("Approve", "Reject"):
        shown = [each for each in page.find_elements(By.CSS_SELECTOR, "main .btn") if each.text.startswith(word)]
        assert shown, word
        for box in (each.rect for each in shown):
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
