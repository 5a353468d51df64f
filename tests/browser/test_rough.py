"""What people do to pages: back and forward, twice, too late, in two tabs, without script."""

import pytest
from selenium.webdriver.common.by import By

from tests.support.browser import arrived, click, press, text
from tests.support.pages import PASSWORD, fill_in, places, sign_in
from tests.support.sound import Journey
from tests.support.waiting import until

pytestmark = pytest.mark.browser


def names(house):
    return [each["name"] for each in house.admin.get("/api/monitoring/endpoints?limit=1000")]


def new_push(page, house, name):
    page.get(f"{house.url}/monitors/new?type=push")
    fill_in(page, "#monitor-form", name=name)


def test_a_form_that_is_sent_twice_makes_one(page, house):
    sign_in(page, house, "otto")
    new_push(page, house, "Twice")
    before = page.find_element(By.TAG_NAME, "html")
    page.execute_script("const b = document.querySelector('button[value=create]'); b.click(); b.click();")
    arrived(page, before)
    assert names(house).count("Twice") == 1


def test_back_and_forward_show_what_is_there_now(page, house):
    sign_in(page, house, "otto")
    page.get(f"{house.url}/monitors")
    new_push(page, house, "Back and forth")
    press(page, "button[value=create]")
    page.back()
    until(lambda: page.current_url.endswith("/monitors/new?type=push"), 15, what="the form")
    page.back()
    until(lambda: "Back and forth" in text(page, "main"), 15, what="what was made meanwhile")
    page.forward()
    until(lambda: page.current_url.endswith("/monitors/new?type=push"), 15, what="the form again")
    page.forward()
    until(lambda: text(page, "h1") == "Back and forth", 15, what="the monitor")


def test_a_form_of_an_older_session_loses_nothing(page, house):
    """Signed in again in another tab, the token of the form is of the session before."""
    sign_in(page, house, "otto")
    new_push(page, house, "Older")
    first = page.current_window_handle
    page.switch_to.new_window("tab")
    page.get(f"{house.url}/login")
    page.delete_all_cookies()
    sign_in(page, house, "otto")
    page.close()
    page.switch_to.window(first)
    press(page, "button[value=create]")
    page.get_log("browser")  # the refusal
    assert "Older" not in names(house)
    press(page, "main form button.first")
    assert page.find_element(By.CSS_SELECTOR, "#monitor-form [name=name]").get_attribute("value") == "Older"
    press(page, "button[value=create]")
    assert text(page, "h1") == "Older"
    assert names(house).count("Older") == 1


def test_a_form_without_a_session_leads_to_signing_in_and_back(page, house):
    sign_in(page, house, "otto")
    new_push(page, house, "Signed out")
    page.delete_all_cookies()
    press(page, "button[value=create]")
    page.get_log("browser")  # the refusal
    assert "Signed out" not in names(house)
    fill_in(page, "main", username="otto", password=PASSWORD)
    press(page, "main button")
    press(page, "main form button.first")
    assert page.find_element(By.CSS_SELECTOR, "#monitor-form [name=name]").get_attribute("value") == "Signed out"


@pytest.mark.nightly("the core list has a form of an older session")
@pytest.mark.parametrize(
    ("who", "place", "field", "secret"),
    [
        ("vera", "/settings", "#keys [name=name]", ""),
        ("otto", "/monitors/new?type=push", "#m-name", ""),
        ("ada", "/users", "#create-username", "#create-password"),
    ],
)
def test_what_was_typed_outlives_the_session(page, house, who, place, field, secret):
    def value_of(selector):
        return page.find_element(By.CSS_SELECTOR, selector).get_attribute("value")

    person = Journey(page, house, who).go(place)
    until(lambda: text(page, "#live"), 20, what="the stream being open")
    page.execute_script("document.querySelector(arguments[0]).closest('details')?.setAttribute('open', '')", field)
    page.find_element(By.CSS_SELECTOR, field).send_keys("half a wo")
    if secret:
        page.find_element(By.CSS_SELECTOR, secret).send_keys("never kept anywhere")
    token = page.get_cookie("opsapp_session")["value"]
    assert house.client(token=token).post("/api/logout") == {"status": "ok"}
    until(lambda: text(page, "#lost a"), 15, what="the link for signing in")
    assert value_of(field) == "half a wo"
    person.press("#lost a", 401)
    assert "never kept" not in page.execute_script("return JSON.stringify(sessionStorage)")
    fill_in(page, "main", username=who, password=PASSWORD)
    person.press("main button")
    assert page.current_url == house.url + place
    assert value_of(field) == "half a wo"
    assert not secret or value_of(secret) == ""
    assert "half a wo" not in page.execute_script("return JSON.stringify(sessionStorage)")


def test_signing_out_in_one_tab_ends_the_other(page, house):
    sign_in(page, house, "vera")
    page.get(f"{house.url}/monitors")
    first = page.current_window_handle
    page.switch_to.new_window("tab")
    page.get(f"{house.url}/monitors")
    click(page, ".menu.mine summary")
    press(page, ".menu.mine form button")
    page.close()
    page.switch_to.window(first)
    until(lambda: "signed out" in text(page, "#lost"), 20, what="the bar at the top")
    page.get_log("browser")  # the stream's 401


# Of every form that changes something: whether it can be sent, and by what. As the page is without script.
FORMS = """
const lacks = [];
document.querySelectorAll("input.pick").forEach((each) => { each.checked = true; });  // shows what rows can be asked
for (const form of document.querySelectorAll("form[method=post]")) {
  if (form.matches(".many") && !form.closest("section").querySelector("input.pick")) continue;  // no row to choose
  const label = (form.querySelector("[name=act]")?.value || form.action) + " of " + location.pathname;
  const buttons = [...form.elements].filter((each) => each.type === "submit");
  if (!buttons.some(reachable)) lacks.push("no button: " + label);
  for (const field of form.elements)
    if (field.required && field.type !== "hidden" && !reachable(field)) lacks.push("cannot be filled in: " + label);
  const stranger = location.pathname.startsWith("/status");  // has no session that could be misused
  if (!form.querySelector("[name=csrf_token]") && !stranger) lacks.push("no token: " + label);
}
function reachable(element) {
  if (element.disabled) return false;
  for (let at = element; at && at !== document.body; at = at.parentElement) {
    const style = getComputedStyle(at);
    if (style.display === "none" && !at.closest("details:not([open])")) return false;
    if (style.visibility === "hidden" && !at.closest("details:not([open])")) return false;
  }
  return true;
}
return lacks;
"""


@pytest.mark.nightly("every form as each role")
@pytest.mark.parametrize("who", ["otto", "ada"])
def test_every_form_can_be_sent_without_script(page, house, who):
    sign_in(page, house, who)
    page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    lacks = []
    for place in places(house, house.ids):
        page.get(house.url + place)
        lacks += page.execute_script(FORMS)
    page.get_log("browser")  # what he may not see is refused
    assert sorted(set(lacks)) == []


def test_the_main_path_works_without_script(page, house):
    page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    sign_in(page, house, "otto")
    new_push(page, house, "Without script")
    press(page, "button[value=create]")
    assert text(page, "h1") == "Without script"
    press(page, "a[href$='/edit']")
    fill_in(page, "#monitor-form", name="Edited without script")
    press(page, "#monitor-form .btn.first")
    assert text(page, "h1") == "Edited without script"
