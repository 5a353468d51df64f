"""What viewers may only read: no control is offered, the page says who may, and trying anyway is refused by a page that
leads on. The same for operators, of what takes an admin, and for visitors, who have to sign in."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from opsapp.wire.monitortypes import TYPES
from tests.support.automations import script
from tests.support.browser import type_into
from tests.support.pages import ROLES, phone
from tests.support.sound import Journey, faults
from tests.support.waiting import until

pytestmark = pytest.mark.browser
WHOM = {"operator": "Ask an operator or an admin to do it", "admin": "Ask an admin to do it"}
GONE = {"type": "tcp", "url": "tcp://127.0.0.1:1", "interval": 5, "timeout": 1, "retries": 0}


def is_refused(journey, who, needed, back):
    """The page of a refusal says the role, the one that it takes and whom to ask, and leads back to a page."""
    assert journey.text("h1") == "Not allowed"
    assert f"Your role ({ROLES[who]}) does not allow this: it takes the role {needed}" in journey.text()
    assert WHOM[needed] in journey.text()
    journey.press("main .btn.first")
    assert journey.browser.current_url == journey.serve.url + back


def says_who_may(journey, *words):
    """Where the buttons would be; the words are read by opening it, with a key: a live page moves below a mouse."""
    assert journey.text(".head .withheld summary")
    type_into(journey.browser, ".head .withheld summary", Keys.ENTER)
    for word in words:
        assert word in journey.text(".head .withheld")


@pytest.fixture(scope="module")
def kinds(house):
    """A monitor of each kind, by the kind."""
    agent_id = house.admin.post("/api/agents", {"label": "host of all kinds"})["agent_id"]
    port = house.port
    own = {
        "dns": {"url": "dns://127.0.0.1/shop.example?type=A"},
        "tls": {"url": f"tls://127.0.0.1:{port}"},
        "tcp": {"url": f"tcp://127.0.0.1:{port}"},
        "ping": {"url": "ping://127.0.0.1"},
        "push": {},
        "agent": {"url": f"agent://{agent_id}"},
        "plugin": {"command": ["/usr/lib/nagios/plugins/check_load"], "agent_id": agent_id},
        "keyword": {"url": f"{house.url}/api/status/public", "keyword": "ok"},
        "json": {"url": f"{house.url}/api/status/public", "json_path": "$.status", "expected_value": "ok"},
        "http": {"url": f"{house.url}/api/status/public"},
        "snmp": {"url": f"snmp://127.0.0.1:{port}", "snmp_oid": "1.3.6.1.2.1.1.3.0", "snmp_community": "public"},
    }
    assert own.keys() == TYPES.keys()
    made = {kind: {"name": f"Read {kind}", "type": kind, "interval": 3600, **body} for kind, body in own.items()}
    return {kind: house.admin.post("/api/monitoring/endpoints", body)["id"] for kind, body in made.items()}


@pytest.mark.nightly("every kind; tests/api/test_pages_roles.py has what each role is offered")
def test_a_viewer_reads_every_kind_of_monitor_and_changes_none(page, house, kinds):
    vera = Journey(page, house, "vera").go("/monitors")
    assert not vera.has("main a[href='/monitors/new']")
    says_who_may(vera, "Operators can:", "add a monitor", "Admins can:", "delete")
    for kind, monitor_id in kinds.items():
        vera.go(f"/monitors/{monitor_id}")
        assert vera.text("h1") == f"Read {kind}"
        assert not vera.has("main form[method=post]")
        assert not vera.has("main a[href$='/edit']")
    says_who_may(vera, "edit a monitor", "clone a monitor", "pause")
    last = f"/monitors/{monitor_id}"
    vera.go(f"/monitors/new?type={kind}", 403)
    is_refused(vera, "vera", "operator", "/monitors")
    vera.go(f"{last}/edit", 403)
    is_refused(vera, "vera", "operator", last)
    vera.send_by_hand("/monitors/new", {"act": "create", "type": "push", "name": "By hand"})
    is_refused(vera, "vera", "operator", "/monitors")
    vera.send_by_hand(last, {"act": "monitor.pause", "row-id": monitor_id})
    is_refused(vera, "vera", "operator", last)
    vera.send_by_hand(last, {"act": "monitor.delete", "row-id": monitor_id})
    is_refused(vera, "vera", "admin", last)
    assert house.admin.get(f"/api/monitoring/endpoints/{monitor_id}")["enabled"] is True
    assert not house.admin.get("/api/monitoring/endpoints?q=By+hand")


@pytest.mark.nightly("tests/api/test_pages_roles.py has what each role is offered")
def test_an_operator_is_told_that_plugins_take_an_admin(page, house, kinds):
    otto = Journey(page, house, "otto").go("/monitors/new")
    assert not otto.has("main a[href$='type=plugin']")
    otto.go("/monitors/new?type=plugin")
    assert "Only an admin can add this" in otto.text()
    assert not otto.has("main form[method=post]")
    host = house.admin.get(f"/api/monitoring/endpoints/{kinds['plugin']}")["agent_id"]
    body = {"act": "create", "type": "plugin", "name": "By hand", "command": "/bin/true", "agent_id": host}
    otto.send_by_hand("/monitors/new?type=plugin", body)
    assert "only an admin may make one" in otto.text("[role=alert]")
    otto.go(f"/monitors/{kinds['plugin']}")
    says_who_may(otto, "Admins can:", "delete")
    otto.press("a[href$='/edit']")
    assert not otto.has("#monitor-form [name=command]")
    assert "Only an admin may change the command" in otto.text()
    otto.press("#monitor-form .btn.first")
    assert otto.text("h1") == "Read plugin"
    otto.send_by_hand(f"/monitors/{kinds['plugin']}", {"act": "monitor.delete", "row-id": kinds["plugin"]})
    is_refused(otto, "otto", "admin", f"/monitors/{kinds['plugin']}")


def test_a_viewer_sees_an_incident_and_takes_none(page, house):
    monitor_id = house.admin.post("/api/monitoring/endpoints", GONE | {"name": "Seen by a viewer"})["id"]
    of_it = f"/api/monitoring/incidents?monitor_id={monitor_id}"
    incident = until(lambda: house.admin.get(of_it), 20, what="its incident")[0]["id"]
    vera = Journey(page, house, "vera").go("/incidents").go(f"/incidents/{incident}")
    assert not vera.has("main form[method=post]")
    says_who_may(vera, "Operators can: take it, hand over, resolve, run an automation, publish")
    vera.send_by_hand(f"/incidents/{incident}", {"act": "room.take", "row-incident_id": incident, "row-id": incident})
    is_refused(vera, "vera", "operator", f"/incidents/{incident}")
    assert house.admin.get(f"/api/monitoring/incidents/{incident}")["acknowledged_by"] is None
    page.get("about:blank")
    house.admin.delete(f"/api/monitoring/endpoints/{monitor_id}")


def test_who_may_not_decide_is_told_why_on_a_phone(page, house):
    """A viewer, and the operator who asked."""
    made = script(house, "true", name="not decided here", requires_approval=True)
    asked = house.client()
    asked.login("otto", "a sound password")
    request_id = asked.post(f"/api/automations/{made}/run", {})["request_id"]
    place = f"/approvals/{request_id}"
    phone(page)
    for who, why in (("vera", "Operators and admins decide."), ("otto", "Nobody approves a request of their own.")):
        person = Journey(page, house, who).go(place)
        assert not person.has("#decide, .thumb button, #decision button")
        assert why in person.text("#decision")
        assert house.admin.get(place.replace("/approvals", "/api/approvals"))["status"] == "pending"
        person.send_by_hand(place, {"act": "request.approve", "row-request_id": request_id, "comment": ""})
        if who == "vera":
            is_refused(person, who, "operator", place)
        else:
            assert why in person.text("[role=alert]")
        page.delete_all_cookies()
    assert house.admin.get(f"/api/approvals/{request_id}")["status"] == "pending"


def test_a_viewer_reads_a_rule_and_can_neither_try_nor_write_one(page, house):
    vera = Journey(page, house, "vera").go("/healing/rules")
    assert not vera.has("main a[href='/healing/rules/new']")
    vera.go("/healing/rules/default-disk")
    assert vera.browser.find_element(By.ID, "condition").get_attribute("value") == "disk.*.percent >= 90"
    assert not [each for each in page.find_elements(By.CSS_SELECTOR, "#rule .in") if each.is_enabled()]
    assert not vera.has("main button[name=do]")
    assert "Operators and admins can try" in vera.text("#try")
    says_who_may(vera, "Operators can: try it", "Admins can:", "save")
    vera.go("/healing/rules/new", 403)
    is_refused(vera, "vera", "operator", "/healing/rules")
    draft = {"act": "draft", "condition": "cpu_percent > 1", "steps": "0"}
    vera.send_by_hand("/healing/rules/default-disk", draft | {"do": "try"})
    is_refused(vera, "vera", "operator", "/healing/rules/default-disk")


@pytest.mark.nightly("tests/api/test_pages_roles.py has what each role is offered")
def test_an_operator_is_told_that_saving_a_rule_takes_an_admin(page, house):
    saved = house.admin.get("/api/healing/rules/default-memory")
    otto = Journey(page, house, "otto").go("/healing/rules/default-memory")
    assert "Only an admin can save it." in otto.text(".head")
    draft = {"act": "draft", "do": "save", "condition": "cpu_percent > 1", "steps": "0"}
    otto.send_by_hand("/healing/rules/default-memory", draft)
    is_refused(otto, "otto", "admin", "/healing/rules/default-memory")
    assert house.admin.get("/api/healing/rules/default-memory") == saved
    otto.go("/healing/rules/default-memory/clone", 403)
    is_refused(otto, "otto", "admin", "/healing/rules/default-memory")
    otto.go("/users", 403)
    assert "it takes the role admin" in otto.text()
    otto.press("main a.btn[href='/']")


def test_a_viewer_follows_a_run_and_starts_none(page, house):
    made = script(house, "echo seen", name="read only", inputs=[{"name": "word", "type": "string", "default": "x"}])
    run_id = house.admin.post(f"/api/automations/{made}/run", {})["run_id"]
    vera = Journey(page, house, "vera").go("/automations").go(f"/automations/{made}")
    assert not vera.has("main form[method=post], main a[href$='/edit']")
    says_who_may(vera, "Operators can:", "run now", "edit")
    vera.go(f"/automations/runs/{run_id}")
    until(lambda: "seen" in vera.text("#output pre"), 20, what="what it wrote")
    assert not vera.has("main .head .acts .btn"), "nothing to run again"
    vera.send_by_hand(f"/automations/{made}", {"act": "automation.run", "row-id": made})
    is_refused(vera, "vera", "operator", f"/automations/{made}")
    runs = house.admin.get("/api/automations/runs")
    assert [run["run_id"] for run in runs if run["automation_id"] == made] == [run_id]


@pytest.mark.nightly("tests/api/test_pages_signed_out.py has the way there")
@pytest.mark.parametrize("place", ["/monitors/new?type=push", "/incidents", "/healing/rules/new"])
def test_a_visitor_is_led_to_signing_in_and_then_to_the_page(page, house, place):
    visitor = Journey(page, house).go("/status").go(place)
    assert visitor.text("h1") == "Sign in"
    page.find_element(By.NAME, "username").send_keys("otto")
    page.find_element(By.NAME, "password").send_keys("a sound password")
    visitor.press("main button")
    assert page.current_url == house.url + place


def test_what_a_visitor_sends_by_hand_changes_nothing_and_leads_to_signing_in(page, house):
    visitor = Journey(page, house).go("/status")
    visitor.send_by_hand("/monitors/new", {"act": "create", "type": "push", "name": "Of nobody"}, 401)
    visitor.press("main .btn.first")
    assert visitor.text("h1") == "Sign in"
    assert not house.admin.get("/api/monitoring/endpoints?q=Of+nobody")


UNSOUND = {
    "a breach of the CSP": "document.body.append(Object.assign(document.createElement('script'), {textContent: '1'}))",
    "a word in the console": "console.error('wrong')",
    "a picture that nobody can hear of": "document.querySelector('main').append(new Image())",
    "a field without a label": "document.querySelector('main').append(document.createElement('input'))",
    "text upon a sign": """const line = document.createElement("p"),
          sign = document.createElementNS("http://www.w3.org/2000/svg", "svg");
        [line.style.display, line.style.gridTemplateColumns] = ["grid", "20px 16px"];
        sign.setAttribute("class", "g"); sign.setAttribute("width", "16"); sign.setAttribute("height", "16");
        line.append(Object.assign(document.createElement("time"), {textContent: "26 Nov 04:12"}), sign);
        line.firstChild.style.whiteSpace = "nowrap"; document.querySelector("main").append(line)""",
    "what is too wide": "document.querySelector('main').style.minWidth = '3000px'",
}


@pytest.mark.parametrize("fault", UNSOUND)
def test_what_makes_a_page_unsound_is_seen(page, house, fault):
    """What the journeys look for on each page is found where it is."""
    Journey(page, house).go("/login")
    page.execute_script(UNSOUND[fault])
    until(lambda: faults(page), 5, what=fault)
