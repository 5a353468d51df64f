"""A rule is written and tried in the browser, saved, and the page of its case follows the stages by itself."""

import pytest
from selenium.webdriver.common.by import By

from tests.support.browser import press, text
from tests.support.pages import sign_in
from tests.support.process import Serve
from tests.support.waiting import until
from tests.system.test_healing import CONFIG, box_of, promote

pytestmark = pytest.mark.browser
PASSWORD = "a sound password"
RULE = "nginx-by-hand"


@pytest.fixture
def serve(tmp_path):
    healing = {**CONFIG["healing"], "rules": [], "hold_s": 1}
    with Serve(tmp_path / "serve", {**CONFIG, "healing": healing}) as serve:
        serve.admin.post("/api/users", {"username": "ada", "password": PASSWORD, "role": "admin"})
        yield serve


def fill(browser, name, typed):
    field = browser.find_element(By.NAME, name)
    field.clear()
    field.send_keys(typed)


def test_an_operator_tries_a_changed_rule_and_cannot_save_it(page, house):
    sign_in(page, house, "otto")
    page.get(f"{house.url}/healing/rules/default-disk")
    saved = house.admin.get("/api/healing/rules/default-disk")
    until(lambda: house.admin.get("/api/healing/readings"), what="a reading")
    fill(page, "condition", "response_time_ms >= 0")
    assert not page.find_elements(By.CSS_SELECTOR, "button[value=save]")
    press(page, ".head button[value=try]")
    names = [monitor["name"] for monitor in house.admin.get("/api/monitoring/endpoints")]  # other tests made some
    true_now, tried = text(page, ".cond"), text(page, "#try")
    assert any(f"True now on {name}" in true_now for name in names)
    assert any(f"{name}: People are told, nothing is done." in tried for name in names)
    assert page.find_element(By.NAME, "condition").get_attribute("value") == "response_time_ms >= 0"
    assert "The saved rule" in text(page, "#past")
    press(page, ".head button[value=past]")
    assert "In 7 days" in text(page, "#whatif")
    assert page.find_elements(By.CSS_SELECTOR, "#whatif svg.bars")
    press(page, ".head .btn.quiet")
    assert page.find_element(By.NAME, "condition").get_attribute("value") == saved["condition"]
    assert house.admin.get("/api/healing/rules/default-disk") == saved


def test_a_comparison_is_picked_from_lists_and_tried(page, house):
    sign_in(page, house, "ada")
    until(lambda: house.admin.get("/api/healing/readings"), what="a reading")
    page.get(f"{house.url}/healing/rules/new")
    fill(page, "id", "picked")
    page.find_element(By.CSS_SELECTOR, "#pick_reading option[value=response_time_ms]").click()
    page.find_element(By.CSS_SELECTOR, "#pick_is option[value='>=']").click()
    fill(page, "pick_value", "0")
    press(page, "button[value=build]")
    assert page.find_element(By.NAME, "condition").get_attribute("value") == "response_time_ms >= 0"
    assert page.find_element(By.NAME, "id").get_attribute("value") == "picked"
    assert "True now on" in text(page, ".cond")
    fill(page, "pick_value", "much")
    press(page, "button[value=build]")
    assert "must be a number" in text(page, "#build-wrong")
    assert page.find_element(By.NAME, "condition").get_attribute("value") == "response_time_ms >= 0"


def test_a_rule_is_tried_and_saved_and_its_case_is_followed(serve, page):
    box = box_of(serve)
    box.state, box.cures = "failed", False  # the restart helps only once the page has been seen
    try:
        until(lambda: serve.admin.get("/api/agents")[0]["status"] == "online", what="the agent being online")
        page.get(f"{serve.url}/")
        fill(page, "username", "ada")
        fill(page, "password", PASSWORD)
        press(page, "main button")

        page.get(f"{serve.url}/healing/rules/new")
        fill(page, "id", RULE)
        fill(page, "condition", 'service.nginx.state == "failed"')
        fill(page, "for", "0")
        fill(page, "cooldown_s", "5")
        fill(page, "settle_s", "1")
        fill(page, "verify_timeout_s", "3600")
        page.find_element(By.XPATH, "//option[.='restart_service']").click()
        press(page, "button[value=add]")
        press(page, ".head button[value=try]")
        assert "True now on box-1/nginx" in text(page, ".cond")
        assert "box-1/nginx" in text(page, "#try")
        press(page, ".head button[value=save]")
        assert page.current_url.endswith(f"/healing/rules/{RULE}")

        promote(serve, "execute", RULE)
        opened = until(lambda: serve.admin.get(f"/api/healing/ledger?rule_id={RULE}&action_type=restart_service"), 30,
                       what="the heal")  # fmt: skip
        page.get(f"{serve.url}/healing/cases/{opened[0]['case_id']}")
        assert "What is done about nginx on box-1" in text(page, "h1")
        until(lambda: box.restarts, 30, what="the restart")
        box.state = "active"
        until(lambda: "was restarted" in text(page, "h1"), 30, what="the case being over")
        until(lambda: "is in the chain" in text(page, "#stages"), 30, what="the stages being passed")
        page.get("about:blank")
    finally:
        box.stop()
