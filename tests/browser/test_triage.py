"""A night on call in a real browser: seen live as it goes down, written about, and decided by thumb."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from tests.browser.test_overview import add_gone, follows, sign_in
from tests.support.browser import click, press, text
from tests.support.pages import size
from tests.support.process import Serve
from tests.support.waiting import until

pytestmark = pytest.mark.browser

WITHIN = """
const [choice, form] = ["#say .pick label", "#say"].map((name) => document.querySelector(name).getBoundingClientRect());
return [form.top, choice.top, form.bottom];
"""


@pytest.fixture
def serve(tmp_path):
    """With one monitor. Each test has its own: a picture shows no two runs of one moment."""
    with Serve(tmp_path / "serve", {"web": {"login": {"attempts_per_ip": 100}}}) as serve:
        body = {"name": "Shop", "type": "tcp", "url": f"tcp://127.0.0.1:{serve.port}", "interval": 5}
        serve.admin.post("/api/monitoring/endpoints", body)
        yield serve


def test_what_goes_down_is_seen_live_and_decided_on_a_phone(serve, page):
    size(page, 390, 844)
    sign_in(page, serve)
    page.get(f"{serve.url}/")
    follows(page)
    until(lambda: text(page, "h1") == "The monitor is up.", 20, what="the first check")
    add_gone(serve)
    until(lambda: text(page, "h1") == "1 down.", 20, what="what is down, without loading the page again")
    until(lambda: "Nobody has it" in text(page, "#wrong"), 20, what="and that nobody has it")
    press(page, "#wrong a.btn")
    top, choice, foot = page.execute_script(WITHIN)
    assert top < choice < foot, "the choices stand in their form"
    page.find_element(By.ID, "say-text").send_keys("We are looking")
    press(page, "#say button")
    assert "We are looking" in text(page, "#timeline")
    automation = serve.admin.post("/api/automations/templates/memory/apply")["id"]
    serve.admin.put(f"/api/automations/{automation}", {"requires_approval": True})
    request_id = serve.admin.post(f"/api/automations/{automation}/run", {})["request_id"]
    page.get(f"{serve.url}/approvals/{request_id}")
    assert page.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    press(page, ".thumb button.first")
    assert "Approved by admin" in text(page, "#decision")


def test_an_automation_is_run_from_the_war_room_in_two_clicks_and_others_are_added_in_one(serve, page):
    sign_in(page, serve)
    gone = add_gone(serve)
    by_monitor = f"/api/monitoring/incidents?monitor_id={gone}"
    until(lambda: serve.admin.get(by_monitor), 20, what="the incident")
    (incident,) = serve.admin.get(by_monitor)
    made = {}
    for name in ("Mend it", "Something else"):
        body = {"name": name, "type": "script", "params": {"script": "true"}}
        made[name] = serve.admin.post("/api/automations", body)["id"]
    run = serve.admin.post(f"/api/automations/{made['Something else']}/run", {})["run_id"]
    until(lambda: serve.admin.get(f"/api/automations/runs/{run}")["status"] == "done", 20, what="the other run")
    page.get(f"{serve.url}/incidents/{incident['id']}")
    click(page, "#helped details.ask-more summary")
    Select(page.find_element(By.CSS_SELECTOR, "#helped select")).select_by_visible_text("Mend it")
    press(page, "#helped form button.btn:not(.vh)")
    until(lambda: "Mend it" in text(page, "#timeline"), 20, what="the run on the timeline")
    assert "Something else" not in text(page, "main")
    press(page, '#timeline a[href="?add=runs#moment"]')
    assert "Something else" in text(page, "#timeline")
    assert "Something else" in page.find_element(By.ID, "moment").get_attribute("innerHTML"), "in the picture too"
