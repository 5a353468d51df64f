"""Tasks of a day around healing and automations, each from the overview, with its clicks counted."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from tests.support.browser import text
from tests.support.clicks import Clicks, fits, narrow
from tests.support.pages import fill_in, sign_in
from tests.support.waiting import until

pytestmark = pytest.mark.browser
SCRIPT = {"type": "script", "params": {"script": "echo it is done"}, "requires_approval": True}


@pytest.fixture(params=[1440, 390])
def width(request):
    return request.param


@pytest.fixture
def ada(page, house, width):
    sign_in(page, house, "ada")
    narrow(page, width)
    yield Clicks(page)
    assert fits(page, width)


def rule_of(house, name):
    """A rule that nothing ever makes true."""
    body = {"id": name, "condition": "response_time_ms >= 60000", "for": "30s", "action": {"type": "clear_cache"}}
    return house.admin.post("/api/healing/rules", body)


def test_what_is_approved_is_followed_to_its_end(ada, page, house, width):
    automation = house.admin.post("/api/automations", SCRIPT | {"name": f"Approved and followed {width}"})["id"]
    request_id = house.admin.post(f"/api/automations/{automation}/run")["request_id"]
    ada.menu("/approvals")
    ada(f"#ask-{request_id} .acts button.first")
    ada("#decided a[href^='/automations/runs/']")
    until(lambda: "it is done" in text(page, "main"), 30, what="what came of it")
    assert ada.count - ada.more == 3


def test_a_rule_is_written_tried_now_and_on_the_past_before_it_is_saved(ada, page, house):
    ada.menu("/healing")
    ada("main a[href='/healing/rules'], .rooms a[href='/healing/rules']")
    ada(".head a[href='/healing/rules/new']")
    fill_in(page, "#rule", id="tried-first", condition="response_time_ms >= 0")
    Select(page.find_element(By.ID, "new_action")).select_by_visible_text("clear_cache")
    ada("button[value=add]")
    ada(".head button[value=try]")
    assert ": Only counted." in text(page, "#try")  # the first of the monitors, whichever there are
    ada(".head button[value=past]")
    assert "In 7 days" in text(page, "#whatif")
    assert ada.count - ada.more == 6
    assert "tried-first" not in [rule["id"] for rule in house.admin.get("/api/healing/rules?limit=1000")]


def test_a_rule_is_promoted(ada, page, house, width):
    rule = f"to-promote-{width}"
    rule_of(house, rule)
    ada.menu("/healing")
    ada(".rooms a[href='/healing/trust']")
    card = f".panel:has(a[href='/healing/rules/{rule}'])"
    ada.on(f"{card} .ask-more:not(:has(.bad)) > summary")
    level = Select(page.find_element(By.CSS_SELECTOR, f"{card} .ask-more[open] select"))
    level.select_by_value("notify")
    ada(f"{card} .ask-more[open] .savebar button")
    levels = {state["rule_id"]: state["current_level"] for state in house.admin.get("/api/healing/trust?limit=1000")}
    assert levels[rule] == "notify"
    assert ada.count - ada.more == 4


def test_an_automation_with_an_input_is_made_run_and_watched(ada, page, width):
    ada.menu("/automations")
    ada(".head a[href='/automations/new']")
    ada("button[value='inputs:add']")
    fill_in(page, "#editor", **{"name": f"Greets {width}", "params__script": 'echo "Good morning, $OPSAPP_INPUT_WHO"'})
    fill_in(page, "#editor", **{"inputs:0:name": "who"})
    tick = page.find_element(By.CSS_SELECTOR, "#editor [type=checkbox][name=requires_approval]")
    assert not tick.is_selected(), "a tick, off as the API has it"
    ada("#editor .savebar button.first")
    fill_in(page, "#run", **{"inputs__who": "Grace"})
    ada("#run .savebar button")
    until(lambda: "Good morning, Grace" in text(page, "main"), 30, what="its output")
    assert ada.count - ada.more == 5


def test_one_difference_to_a_document_is_seen_and_applied(ada, page, house, width):
    name = f"From a document {width}"
    ada.menu("/settings")
    ada(".head a[href='/settings/as-code']")
    document = page.find_element(By.NAME, "document")
    document.clear()
    document.send_keys(f"monitors:\n- {{name: {name}, type: push}}\n")
    ada("button[value=look]")
    assert name in text(page, "#diff")
    assert named(house, name) == []
    ada("button[value=apply]")
    assert named(house, name) == [name]
    assert ada.count - ada.more == 4


def named(house, name):
    return [row["name"] for row in house.admin.get(f"/api/monitoring/endpoints?q={name.replace(' ', '+')}")]


def test_who_changed_a_rule_and_from_what_to_what(ada, page, house, width):
    rule = f"changed-by-somebody-{width}"
    rule_of(house, rule)
    house.admin.put(f"/api/healing/rules/{rule}", {"condition": "response_time_ms >= 70000"})
    ada.menu("/healing")
    ada("main a[href='/healing/rules'], .rooms a[href='/healing/rules']")
    ada(f"a[href='/healing/rules/{rule}']")
    ada(f".head a[href='/audit?target={rule}']")
    ada.on("summary.meta")
    changed = text(page, "details[open]")
    assert "response_time_ms >= 60000" in changed
    assert "response_time_ms >= 70000" in changed
    assert "admin changed" in text(page, "main").lower()
    assert ada.count - ada.more == 5
