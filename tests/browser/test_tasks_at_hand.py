"""Tasks of a day by thumb, by the keyboard alone and after a session has ended, with what each takes counted."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.browser.test_hands import leads_on, signs_in_by_keys, tab_to
from tests.support.automations import script
from tests.support.browser import focus, keys, text, type_into
from tests.support.clicks import Clicks
from tests.support.pages import PASSWORD, add_users, fill_in, phone, sign_in
from tests.support.process import Serve
from tests.support.waiting import until

pytestmark = pytest.mark.browser
RULE = {
    "id": "tells-people",
    "condition": 'monitor.status == "down"',
    "action": {"type": "webhook", "params": {"url": "http://127.0.0.1:1/"}},
    "initial_level": "notify",
}


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    config = {"web": {"login": {"attempts_per_ip": 100}}, "healing": {"rules": [], "hold_s": 1}}
    with Serve(tmp_path_factory.mktemp("at-hand"), config) as serve:
        add_users(serve)
        yield serve


@pytest.fixture
def incident(serve):
    """One monitor has gone down, about which a rule may only tell people; nothing else is wrong."""
    gone = {"name": "Gone", "type": "tcp", "url": "tcp://127.0.0.1:1", "interval": 5, "timeout": 1, "retries": 0}
    gone_id = serve.admin.post("/api/monitoring/endpoints", gone)["id"]
    serve.admin.post("/api/healing/rules", RULE | {"targets": {"agents": [], "monitors": [gone_id]}})
    of_it = f"/api/monitoring/incidents?monitor_id={gone_id}"
    yield until(lambda: serve.admin.get(of_it), 20, what="the incident")[0]["id"]
    serve.admin.delete(f"/api/healing/rules/{RULE['id']}")
    serve.admin.delete(f"/api/monitoring/endpoints/{gone_id}")


def test_an_incident_is_taken_on_a_phone_and_why_it_was_not_healed_is_read(serve, incident, page):
    """The tasks 4 and 6."""
    until(lambda: serve.admin.get("/api/healing/ledger?outcome=notified"), 30, what="what was not done")
    sign_in(page, serve, "otto")
    phone(page)
    page.get(f"{serve.url}/")
    thumb = Clicks(page)
    thumb("#wrong form.act button")
    assert serve.admin.get(f"/api/monitoring/incidents/{incident}")["acknowledged_by"] == "otto"
    assert "otto" in text(page, "#wrong")
    assert thumb.count == 1
    page.get(f"{serve.url}/")
    reader = Clicks(page)
    reader("#feed a[href^='/healing/cases/']")
    assert text(page, "h1") == "Why people were notified about Gone"
    assert "the rule only notifies people" in text(page, "#stages")
    assert reader.count == 1


def test_a_host_an_incident_and_an_approval_take_no_mouse(serve, incident, page):
    """The task 21: nothing is clicked; what is counted are the places where one presses a key to go on."""
    serve.admin.post("/api/agents", {"label": "found-by-keys"})
    made = script(serve, "true", name="by keys", requires_approval=True)
    request_id = serve.admin.post(f"/api/automations/{made}/run", {})["request_id"]
    signs_in_by_keys(page, serve, "ada")
    page.get(f"{serve.url}/")
    until(lambda: text(page, "#live"), 20, what="the script")
    type_into(page, "body", "/")
    keys(page, "found-by-keys")
    until(lambda: page.find_elements(By.CSS_SELECTOR, ".palette a"), 15, what="what was found")
    keys(page, Keys.ARROW_DOWN)
    until(lambda: focus(page).href, 15, what="the first of what was found")
    leads_on(page, Keys.ENTER)
    assert text(page, "h1").startswith("found-by-keys")
    page.get(f"{serve.url}/")
    tab_to(page, lambda at: at.text in ("I take it", "Take it"))
    leads_on(page, Keys.ENTER)
    assert serve.admin.get(f"/api/monitoring/incidents/{incident}")["acknowledged_by"] == "ada"
    page.get(f"{serve.url}/")
    tab_to(page, lambda at: at.text == "Approve")
    leads_on(page, Keys.SPACE)
    assert serve.admin.get(f"/api/approvals/{request_id}")["status"] == "approved"
    follows = tab_to(page, lambda at: "/automations/runs/" in at.href)
    leads_on(page, Keys.ENTER)
    assert follows is not None
    until(lambda: "done" in text(page, "main").lower(), 20, what="what came of it")


def test_a_form_whose_session_ended_takes_one_press_more_and_no_word_again(page, house):
    """The task 22: the password, and the button once more."""
    sign_in(page, house, "otto")
    page.get(f"{house.url}/monitors/new?type=push")
    fill_in(page, "#monitor-form", name="Typed once")
    page.delete_all_cookies()
    otto = Clicks(page)
    otto("button[value=create]")
    page.get_log("browser")  # the refusal
    fill_in(page, "main", username="otto", password=PASSWORD)
    otto("main button")
    otto("main form button.first")
    otto("button[value=create]")
    assert text(page, "h1") == "Typed once"
    assert otto.count == 4
