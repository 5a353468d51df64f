"""Each kind of monitor is added and edited by an operator, plugins by an admin, with the fields of its form."""

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

from opsapp.wire.monitortypes import TYPES
from tests.support.browser import press, text
from tests.support.pages import fill_in, sign_in

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]
ADDRESSES = {
    "http": "http://127.0.0.1:{port}/api/status/public",
    "tcp": "tcp://127.0.0.1:{port}",
    "ping": "ping://127.0.0.1",
    "dns": "dns://127.0.0.1:{port}/shop.example?type=A",
    "tls": "tls://127.0.0.1:{port}",
    "keyword": "http://127.0.0.1:{port}/api/status/public",
    "json": "http://127.0.0.1:{port}/api/status/public",
}
OWN = {
    "plugin": {"command": "/usr/lib/nagios/plugins/check_load\n-w\n5,4,3"},
    "keyword": {"keyword": '"ok"'},
    "json": {"json_path": "$.status", "expected_value": '"ok"'},
}


@pytest.mark.parametrize("kind", TYPES)
def test_a_monitor_of_each_kind_is_added_and_edited(page, house, kind):
    host = house.admin.post("/api/agents", {"label": f"host of {kind}"})["agent_id"]
    sign_in(page, house, "ada" if kind == "plugin" else "otto")
    page.get(f"{house.url}/monitors/new?type={kind}")
    address = ADDRESSES.get(kind, "").format(port=house.port)
    fill_in(page, "#monitor-form", name=f"Kind {kind}", **({"url": address} if address else {}), **OWN.get(kind, {}))
    if kind == "agent":
        Select(page.find_element(By.ID, "m-url")).select_by_value(f"agent://{host}")
    if kind == "plugin":
        Select(page.find_element(By.ID, "m-agent_id")).select_by_value(host)
    if kind not in ("push", "agent", "plugin"):
        press(page, "button[value=try]")
        assert text(page, "#tried .st").startswith("It is")
        assert page.find_element(By.ID, "m-name").get_attribute("value") == f"Kind {kind}"
    press(page, "button[value=create]")
    assert text(page, "h1") == f"Kind {kind}"
    monitor_id = page.current_url.rpartition("/")[2].partition("?")[0]
    press(page, "a[href$='/edit']")
    fill_in(page, "#monitor-form", name=f"Edited {kind}", tags="kinds, edited")
    press(page, "#monitor-form .btn.first")
    assert text(page, "h1") == f"Edited {kind}"
    stored = house.admin.get(f"/api/monitoring/endpoints/{monitor_id}")
    assert (stored["name"], stored["type"], stored["tags"]) == (f"Edited {kind}", kind, ["kinds", "edited"])
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
