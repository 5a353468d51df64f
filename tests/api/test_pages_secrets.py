"""Secret fields of forms: what was typed stands there again after *Check now* and after a refusal, not after a reload;
what is stored stands nowhere, and passwords of people are typed again."""

import pytest

from tests.api.test_pages_house import form, press
from tests.support.monitoring import Lookout

SWITCH = {"type": "snmp", "name": "Switch", "url": "snmp://127.0.0.1:9", "snmp_oid": "1.3.6.1.2.1.1.3.0"}
TYPED = "zq7 typed secret"


def filled(browser, address, act, **values):
    asked = form(browser.get(address), act)
    for name, value in values.items():
        asked[name.replace("__", ".")] = value
    return asked


def values_of(page, name):
    return [field.get("value", "") for field in page.html.select(f'main [name="{name}"]')]


def test_a_secret_of_a_monitor_stays_after_check_now_and_after_a_refusal(service):
    Lookout(service)
    otto = service.browser("otto")
    new = "/monitors/new?type=snmp"
    asked = filled(otto, new, "create", **SWITCH, snmp_community=TYPED)
    tried = asked.submit("act", value="try")
    assert values_of(tried, "snmp_community") == [TYPED]
    asked = form(tried, "create")
    asked["snmp_oid"] = "no oid"
    refused = asked.submit("act", value="create", status=422)
    assert values_of(refused, "snmp_community") == [TYPED]
    asked = form(refused, "create")
    asked["snmp_oid"] = SWITCH["snmp_oid"]
    made = asked.submit("act", value="create", status=303).follow()
    edit = made.request.path + "/edit"
    assert TYPED not in made.text + otto.get(edit).text + otto.get(new).text
    asked = filled(otto, edit, "save", snmp_community=TYPED + " 2")
    assert values_of(asked.submit("act", value="try"), "snmp_community") == [TYPED + " 2"], "else the old one is saved"


@pytest.mark.shared
def test_a_secret_of_a_channel_stays_after_a_refusal(service):
    ada = service.browser("ada")
    for act in ("create-mail", "create-gotify"):
        kind = act.removeprefix("create-")
        page = ada.get(f"/notifications/new?type={kind}")
        [secret, *_] = page.html.select("main form [type=password]")
        asked = form(page, act)
        asked[secret["name"]] = TYPED
        refused = asked.submit(status=422)
        assert values_of(refused, secret["name"]) == [TYPED]
        assert values_of(ada.get(page.request.path_qs), secret["name"]) == [""]


@pytest.mark.shared
def test_a_value_of_a_secret_stays_where_its_name_is_taken(service):
    service.ada.post_json("/api/secrets", {"name": "twice", "value": "x"})
    page = press(service.browser("ada").get("/secrets"), "create", "4*", name="twice", value=TYPED)
    assert TYPED in values_of(page, "value")
    assert "no-store" in page.headers["Cache-Control"]


@pytest.mark.shared
def test_a_password_of_a_person_is_typed_again(service):
    page = press(service.browser("ada").get("/users"), "create", "4*", username="ada", password=TYPED, role="viewer")
    assert TYPED not in page.text
    page = press(service.browser("otto").get("/settings"), "password", "4*", current="wrong", new=TYPED)
    assert TYPED not in page.text
