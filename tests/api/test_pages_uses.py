"""What uses a thing is said before it is deleted, and it stays as it is: it must not begin to act on everything."""

import pytest

AUTOMATIONS, RULES = "/api/automations", "/api/healing/rules"
SCRIPT = {"name": "Clean up", "type": "script", "params": {"script": "true"}}


@pytest.fixture
def browser(service):
    return service.browser("ada")


def losses(page):
    return [line.text for line in page.html.select(".losses li")]


def add_rule(service, name, **settings):
    body = {"id": name, "condition": "cpu_percent > 90", "action": {"type": "clear_cache"}} | settings
    service.ada.post_json(RULES, body)


@pytest.mark.shared
def test_a_channel_says_what_sends_to_it(service, browser):
    place = "/api/notifications/channels"
    channel = service.ada.post_json(place, {"name": "on call", "url": "json://127.0.0.1:9/x"}).json["id"]
    assert losses(browser.get(f"/notifications/channels/{channel}")) == []
    for number in range(7):
        params = {"title": "x", "message": "x", "channels": ["on call"]}
        service.ada.post_json(AUTOMATIONS, {"name": f"Tell {number}", "type": "notification", "params": params})
    told = "7 automations send to it and fail without it: Tell 0, Tell 1, Tell 2, Tell 3, Tell 4 and 2 more."
    assert losses(browser.get(f"/notifications/channels/{channel}")) == [told]
    service.ada.delete(f"{place}/{channel}")
    still = service.ada.get(f"{AUTOMATIONS}?uses=on call").json
    assert len(still) == 7, "to send to no channel would mean to every one"
    assert service.ada.get(f"{AUTOMATIONS}?uses=nobody").json == []


@pytest.mark.shared
def test_an_automation_says_which_rules_run_it_and_what_is_made_of_it(service, browser):
    used = service.ada.post_json(AUTOMATIONS, SCRIPT).json["id"]
    steps = [{"id": "first", "automation_id": used}]
    runs = {"type": "automation", "params": {"automation_id": used}}
    add_rule(service, "by-action", action=runs)
    chain = [{"action": "clear_cache"}, {"action": "automation", "params": {"automation_id": used}}]
    add_rule(service, "by-step", action=None, escalation_chain=chain)
    for kind, params in (("composite", {"automations": [used]}), ("workflow", {"steps": steps})):
        service.ada.post_json(AUTOMATIONS, {"name": kind, "type": kind, "params": params})
    page = browser.get(f"/automations/{used}")
    assert losses(page) == [
        "2 rules run it and fail at that step: by-action and by-step.",
        "2 automations have to be changed first: composite and workflow.",
    ]
    assert service.ada.delete(f"{AUTOMATIONS}/{used}", status=409).json["code"] == "in_use"


@pytest.mark.shared
def test_a_host_says_what_names_it_and_runs_on_it(service, browser):
    host = service.ada.post_json("/api/agents", {"label": "box-1"}).json["agent_id"]
    add_rule(service, "of-the-box", targets={"agents": ["box-1"], "monitors": []})
    there = SCRIPT | {"params": {"script": "true", "agent_id": host}}
    service.ada.post_json(AUTOMATIONS, there)
    assert losses(browser.get(f"/agents/{host}")) == [
        "1 rule names it and finds nothing there: of-the-box.",
        "1 automation runs on it and fails without it: Clean up.",
    ]


@pytest.mark.shared
def test_a_monitor_says_which_windows_cover_it(service, browser):
    body = {"name": "Shop", "type": "http", "url": "http://shop.example/"}
    shop = service.otto.post_json("/api/monitoring/endpoints", body).json["id"]
    window = {"name": "Patch day", "start": "2097-01-15T22:00:00", "end": "2097-01-16T02:00:00", "scope": [shop]}
    service.otto.post_json("/api/maintenance", window)
    told = "1 window covers it and stays as it is: Patch day."
    assert told in losses(browser.get(f"/monitors/{shop}"))
    service.ada.delete(f"/api/monitoring/endpoints/{shop}")
    assert service.otto.get("/api/maintenance").json[0]["scope"] == [shop], "an empty scope would cover everything"


def test_who_is_asked_to_approve_is_found(service):
    service.ada.post_json(AUTOMATIONS, SCRIPT | {"requires_approval": True, "approvers": ["otto"]})
    assert [row["name"] for row in service.ada.get(f"{AUTOMATIONS}?uses=otto").json] == ["Clean up"]
    assert service.ada.get(f"{AUTOMATIONS}?uses=vera").json == []


@pytest.mark.shared
def test_an_automation_warns_of_approvers_who_cannot_decide(service, browser):
    """Whom nobody knows, and who may only look. A viewer may not know who there is, and is told nothing of it."""
    service.client("otto")
    asks = {"requires_approval": True, "approvers": ["otto", "olga", "vera"], "quorum": 1}
    made = service.ada.post_json(AUTOMATIONS, SCRIPT | asks).json["id"]
    service.client("vera")
    warning = "These approvers are no operators or admins who can sign in: olga, vera."
    assert warning in browser.get(f"/automations/{made}").text
    assert "These approvers" not in service.browser("vera").get(f"/automations/{made}").text
    service.ada.put_json(f"{AUTOMATIONS}/{made}", {"approvers": ["otto"]})
    assert "These approvers" not in browser.get(f"/automations/{made}").text
