"""Each kind of monitor is added and edited by operators and admins, plugins by admins, with the fields of its form."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

from opsapp.wire.monitortypes import TYPES
from tests.support.browser import press
from tests.support.pages import fill_in, sign_in
from tests.support.sound import Journey

pytestmark = pytest.mark.browser
ADDRESSES = {
    "http": "http://127.0.0.1:{port}/api/status/public",
    "tcp": "tcp://127.0.0.1:{port}",
    "ping": "ping://127.0.0.1",
    "dns": "dns://127.0.0.1:{port}/shop.example?type=A",
    "tls": "tls://127.0.0.1:{port}",
    "keyword": "http://127.0.0.1:{port}/api/status/public",
    "json": "http://127.0.0.1:{port}/api/status/public",
    "snmp": "snmp://127.0.0.1:{port}",
}
SECRET = {"snmp": {"snmp_community": "public"}}
NO_ADDRESS = ("push", "agent", "plugin")
OWN = {
    "snmp": {"snmp_oid": "1.3.6.1.2.1.1.3.0", **SECRET["snmp"]},
    "plugin": {"command": "/usr/lib/nagios/plugins/check_load\n-w\n5,4,3"},
    "keyword": {"keyword": '"ok"'},
    "json": {"json_path": "$.status", "expected_value": '"ok"'},
}


# Only admins write plugins; what operators are told, and what viewers see of each kind: test_roles.py.
CORE = [("http", "otto"), ("agent", "ada"), ("plugin", "ada")]
NIGHTLY = pytest.mark.nightly("every kind by each role; the core list has the three forms that differ most")
WRITERS = [
    pytest.param(kind, who, marks=() if (kind, who) in CORE else NIGHTLY)
    for kind in TYPES
    for who in ("otto", "ada")
    if (kind, who) != ("plugin", "otto")
]


def test_no_kind_is_left_out():
    """Nor in the fixture `kinds` of test_roles.py."""
    assert {*ADDRESSES, *NO_ADDRESS} == TYPES.keys()


@pytest.mark.parametrize(("kind", "who"), WRITERS)
def test_a_monitor_of_each_kind_is_added_and_edited(page, house, kind, who):
    host = house.admin.post("/api/agents", {"label": f"host of {kind}"})["agent_id"]
    person = Journey(page, house, who).go(f"/monitors/new?type={kind}")
    address = ADDRESSES.get(kind, "").format(port=house.port)
    fill_in(
        page,
        "#monitor-form",
        name=f"Kind {kind} of {who}",
        **({"url": address} if address else {}),
        **OWN.get(kind, {}),
    )
    if kind == "agent":
        Select(page.find_element(By.ID, "m-url")).select_by_value(f"agent://{host}")
    if kind == "plugin":
        Select(page.find_element(By.ID, "m-agent_id")).select_by_value(host)
    if kind not in NO_ADDRESS:
        person.press("button[value=try]")
        assert person.text("#tried .st").startswith("It is")
        assert page.find_element(By.ID, "m-name").get_attribute("value") == f"Kind {kind} of {who}"
        fill_in(page, "#monitor-form", **SECRET.get(kind, {}))  # no page shows what is secret: it is typed again
    person.press("button[value=create]")
    assert person.text("h1") == f"Kind {kind} of {who}"
    monitor_id = page.current_url.rpartition("/")[2].partition("?")[0]
    person.press("a[href$='/edit']")
    fill_in(page, "#monitor-form", name=f"Edited {kind} by {who}", tags="kinds, edited")
    person.press("#monitor-form .btn.first")
    assert person.text("h1") == f"Edited {kind} by {who}"
    stored = house.admin.get(f"/api/monitoring/endpoints/{monitor_id}")
    assert (stored["name"], stored["type"], stored["tags"]) == (f"Edited {kind} by {who}", kind, ["kinds", "edited"])
    assert (stored["url"] or "") == (f"agent://{host}" if kind == "agent" else address)
    if kind == "plugin":
        assert (stored["command"], stored["agent_id"]) == (["/usr/lib/nagios/plugins/check_load", "-w", "5,4,3"], host)
    if kind == "json":
        assert (stored["json_path"], stored["expected_value"]) == ("$.status", "ok")


def test_what_is_wrong_is_said_beside_its_field_and_nothing_typed_is_lost(page, house):
    sign_in(page, house, "otto")
    page.get(f"{house.url}/monitors/new?type=json")
    fill_in(page, "#monitor-form", name="Wrong", url="ftp://x", json_path="$.status", expected_value="{not json")
    press(page, "button[value=create]")
    wrong = [field.get_attribute("name") for field in page.find_elements(By.CSS_SELECTOR, "[aria-invalid=true]")]
    assert "expected_value" in wrong or "url" in wrong
    kept = {name: page.find_element(By.CSS_SELECTOR, f"#monitor-form [name={name}]").get_attribute("value")
            for name in ("name", "url", "json_path", "expected_value")}  # fmt: skip
    assert kept == {"name": "Wrong", "url": "ftp://x", "json_path": "$.status", "expected_value": "{not json"}
    page.get_log("browser")  # the answer is a 422
