"""The main paths by a thumb at 390 px, by the keyboard alone, and at twice the size."""

import time

import pyotp
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.support.automations import script
from tests.support.browser import arrived, focus, keys, text
from tests.support.pages import PASSWORD, ROLES, fill_in, phone, places, sign_in, size, tap
from tests.support.sound import Journey, sound
from tests.support.waiting import until

pytestmark = pytest.mark.browser
GONE = {"type": "tcp", "url": "tcp://127.0.0.1:1", "interval": 5, "timeout": 1, "retries": 0}


def request_of(house, name):
    made = script(house, "true", name=name, requires_approval=True)
    return house.admin.post(f"/api/automations/{made}/run", {})["request_id"]


def incident_of(house, name):
    monitor_id = house.admin.post("/api/monitoring/endpoints", GONE | {"name": name})["id"]
    of_it = f"/api/monitoring/incidents?monitor_id={monitor_id}"
    return until(lambda: house.admin.get(of_it), 20, what="its incident")[0]["id"]


@pytest.mark.parametrize(
    ("who", "word", "ends"),
    [("otto", "Approve", "approved"), ("otto", "Reject", "rejected"), ("ada", "Approve", "approved")],
)
def test_a_request_is_decided_by_thumb(page, house, who, word, ends):
    request_id = request_of(house, f"by thumb {word}")
    phone(page)
    Journey(page, house, who).go(f"/approvals/{request_id}")
    before = page.find_element(By.TAG_NAME, "html")
    assert tap(page, ".thumb button", word)["height"] >= 40, "as large as a thumb"
    arrived(page, before)
    until(lambda: house.admin.get(f"/api/approvals/{request_id}")["status"] == ends, 15, what=ends)
    sound(page)


def test_a_day_of_the_status_page_is_told_to_a_finger(page, house):
    house.admin.post("/api/monitoring/endpoints", {"name": "Touched", "type": "push", "tags": ["public"]})
    phone(page)
    page.get(f"{house.url}/status")
    tap(page, ".comp .bars")
    until(lambda: text(page, ".dayread"), 10, what="what the day was")
    assert page.get_cookies() == []


def tab_to(page, wanted, most=150):
    """Tab until what is wanted has the focus, which is seen."""
    for _ in range(most):
        keys(page, Keys.TAB)
        focused = focus(page)
        if wanted(focused):
            assert focused.seen != "none0pxnone"
            return focused
    raise AssertionError("Tab never comes to it")


def leads_on(page, *typed):
    before = page.find_element(By.TAG_NAME, "html")
    keys(page, *typed)
    arrived(page, before)


def signs_in_by_keys(page, house, who):
    page.get(f"{house.url}/login")
    keys(page, who, Keys.TAB, PASSWORD)
    leads_on(page, Keys.ENTER)


def skips_to_the_content(page):
    page.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    assert focus(page).text == "Skip to the content"
    keys(page, Keys.ENTER)


@pytest.mark.parametrize("who", ["otto", "ada"])
def test_with_the_keyboard_one_signs_in_takes_an_incident_and_approves(page, house, who):
    incident, request_id = incident_of(house, f"Taken by keyboard by {who}"), request_of(house, "by keyboard")
    signs_in_by_keys(page, house, who)
    page.get(f"{house.url}/incidents/{incident}")
    skips_to_the_content(page)
    tab_to(page, lambda at: at.text in ("I take it", "Take it"))
    leads_on(page, Keys.ENTER)
    assert house.admin.get(f"/api/monitoring/incidents/{incident}")["acknowledged_by"] == who
    page.get(f"{house.url}/approvals/{request_id}")
    tab_to(page, lambda at: at.text == "Approve")
    leads_on(page, Keys.SPACE)
    assert house.admin.get(f"/api/approvals/{request_id}")["status"] == "approved"


@pytest.mark.nightly("the core list has an operator at the keyboard")
def test_with_the_keyboard_a_viewer_learns_who_may_take_an_incident(page, house):
    incident = incident_of(house, "Read by keyboard")
    signs_in_by_keys(page, house, "vera")
    page.get(f"{house.url}/incidents/{incident}")
    skips_to_the_content(page)
    tab_to(page, lambda at: at.text == "As a viewer you read here")
    keys(page, Keys.ENTER)
    assert "Operators can: take it" in text(page, ".head .withheld")
    tab_to(page, lambda at: at.text == "the monitor")
    leads_on(page, Keys.ENTER)
    assert text(page, "h1") == "Read by keyboard"
    sound(page)


@pytest.mark.parametrize("role", ROLES.values())
def test_a_second_factor_is_set_up_and_asked_for(page, house, role):
    name = f"tess-{role}"
    house.admin.post("/api/users", {"username": name, "password": PASSWORD, "role": role})
    tess = Journey(page, house, name).go("/settings").press("#factor .btn.first")
    secret = next(word for word in text(page, "main").split() if len(word) == 32)
    code = pyotp.TOTP(secret)
    page.get(f"{house.url}/settings")
    page.find_element(By.XPATH, "//*[@id='factor']//summary[contains(., 'on')]").click()
    fill_in(page, "#factor details[open]", code=code.now())
    tess.press("#factor details[open] form button")
    page.delete_all_cookies()
    tess = Journey(page, house, name)
    assert text(page, "h1") == "Second step"
    fill_in(page, "main", code="000000")
    tess.press("main button", 401)
    assert text(page, "[role=alert]")
    fill_in(page, "main", code=code.at(time.time() + 30))  # of one step later, for each is good once
    tess.press("main button").go("/settings")
    assert "It is on" in text(page, "#factor")


@pytest.mark.nightly("each page at twice the size")
def test_at_twice_the_size_nothing_is_out_of_reach(page, house):
    """A window of 1280 px at 200 % is one of 640."""
    sign_in(page, house, "ada")
    size(page, 640, 450)
    wrong = []
    for place in places(house, {}):
        page.get(house.url + place)
        if page.execute_script("return document.documentElement.scrollWidth") > 640:
            wrong.append(place)
        page.execute_script("scrollTo(0, 200)")
        covered = page.execute_script(COVERED)
        if covered > 0.4:
            wrong.append((place, f"{covered:.0%} of the window is covered by what stays"))
    assert wrong == []


# The part of the window's height that what is fixed or sticks covers.
COVERED = """
const fixed = [...document.querySelectorAll("body *")].filter((each) => {
  const style = getComputedStyle(each);
  const box = each.getBoundingClientRect();
  return ["fixed", "sticky"].includes(style.position) && box.height && box.width > innerWidth / 2
    && (box.top <= 0 || box.bottom >= innerHeight) && style.visibility === "visible";
});
return fixed.reduce((sum, each) => sum + each.getBoundingClientRect().height, 0) / innerHeight;
"""
