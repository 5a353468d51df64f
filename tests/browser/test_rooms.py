"""Every page in a real browser: at two widths, light and dark, as viewer, operator and admin."""

from pathlib import Path

import axe_core_python
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.support.browser import arrived, press, text
from tests.support.pages import ROLES, look, places, sign_in, size, without_place
from tests.support.waiting import until

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
WIDTHS = {"phone": (390, 844), "desk": (1440, 900)}
ADMINS = ("/users", "/audit", "/notifications", "/secrets", "/statuspage", "/healing/inlets",
          "/settings/service", "/settings/as-code")  # fmt: skip
REFUSED = {
    "vera": (
        *ADMINS,
        "/healing/replay",
        "/healing/rules/new",
        "/agents/add",
        "/automations/new",
        "/maintenance/new",
        "/monitors/new",
    ),
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
for (const row of document.querySelectorAll("table.cards tbody tr")) {
  const cells = [...row.children].filter((cell) => cell.checkVisibility() && cell.innerText.trim());
  const boxes = cells.map((cell) => cell.getBoundingClientRect());
  cells.forEach((cell, at) => {
    if (boxes[at].width < 24 && cell.innerText.trim().length > 3) lacks.push("squeezed: " + cell.innerText);
    for (const box of boxes.slice(at + 1)) {
      const [wide, high] = [["left", "right"], ["top", "bottom"]].map(([low, far]) =>
        Math.min(box[far], boxes[at][far]) - Math.max(box[low], boxes[at][low]));
      if (wide > 1 && high > 1) lacks.push("lies upon another: " + cell.innerText);
    }
  });
}
for (const time of document.querySelectorAll(".feed time, .tl time"))
  if (time.scrollWidth > time.clientWidth + 1) lacks.push("too wide: " + time.innerText);
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
    changes_rules = who != "ada" and place.startswith("/healing/rules/") and place.endswith("/clone")
    return changes or changes_rules or (bool(REFUSED[who]) and place.startswith(REFUSED[who]))


@pytest.mark.parametrize("who", ROLES)
def test_every_page_is_whole(page, house, who):
    sign_in(page, house, who)
    page.get_log("browser")
    wrong = []
    for place in places(house, house.ids):
        size(page, *WIDTHS["phone"])
        look(page, "dark")
        page.get(house.url + place)
        h1, refused = text(page, "h1"), refuses(who, place)
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


def focused(page, wanted):
    """What has the focus and has these words, or nothing; in one step of the browser."""
    script = "const at = document.activeElement; return at?.textContent.trim().startsWith(arguments[0]) ? at : null"
    return page.execute_script(script, wanted)


# Where the first result's name ends and its sign begins, of one and the same list.
BESIDE = """
const first = document.querySelector(".palette li");
const [name, sign] = ["a", ".st svg"].map((part) => first.querySelector(part).getBoundingClientRect());
return [name.right, sign.left];
"""


def test_a_monitor_is_found_and_reached_with_the_keyboard_alone(page, house):
    made = house.admin.post("/api/monitoring/endpoints", {"name": "Keyhole", "type": "push"})["id"]
    house.admin.post("/api/monitoring/endpoints", {"name": "A door", "type": "push", "tags": ["keyhole"]})
    sign_in(page, house, "otto")
    page.find_element(By.TAG_NAME, "body").send_keys(Keys.CONTROL, "k")
    field = page.switch_to.active_element
    assert field.get_attribute("id") == "find"
    field.send_keys("keyhole")
    until(lambda: page.find_elements(By.CSS_SELECTOR, ".palette a"), 10, what="what was found")
    field.send_keys(Keys.ARROW_DOWN)
    chosen = until(lambda: focused(page, "Keyhole"), 10, what="the best result having the focus")
    name, sign = page.execute_script(BESIDE)
    assert sign >= name, "the sign stands beside the name, not upon it"
    before = page.find_element(By.TAG_NAME, "html")
    chosen.send_keys(Keys.ENTER)
    arrived(page, before)
    assert page.current_url == f"{house.url}/monitors/{made}"
    page.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    assert focused(page, "Skip to the content")


def test_an_incident_is_acknowledged_in_the_war_room(page, house):
    incident = house.ids["/incidents/{id}"]
    sign_in(page, house, "otto")
    page.get(f"{house.url}/incidents/{incident}")
    assert "<i>Gone</i>" in text(page, "h1")
    form = "form:has(input[name=act][value$='.take'])"
    page.execute_script(f"document.querySelector(\"{form}\").closest('details')?.setAttribute('open', '')")
    press(page, f"{form} button")
    assert house.admin.get(f"/api/monitoring/incidents/{incident}")["acknowledged_by"] == "otto"
    assert [line for line in page.get_log("browser") if line["level"] == "SEVERE"] == []


# Where each button that begins with a word begins and ends.
ENDS = """
return [...document.querySelectorAll("main .btn")].filter((each) => each.innerText.startsWith(arguments[0]))
  .map((each) => each.getBoundingClientRect()).map((box) => [box.left, box.right]);
"""


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
        ends = page.execute_script(ENDS, word)
        assert ends, word
        for left, right in ends:
            assert 0 <= left < right <= width
