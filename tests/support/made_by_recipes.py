"""What the recipes of CONTRIBUTING make works. `tests/unit/test_recipes.py` runs this in a copy that has followed them.

Not a test of this house: here there is no such field, channel, setting or page.
"""

import json


def test_a_field_is_set_answered_documented_and_asked_for(service):
    shop = {"name": "Shop", "type": "http", "url": "https://shop.example.org/"}
    monitor_id = service.otto.post_json("/api/monitoring/endpoints", shop).json["id"]
    service.otto.put_json(f"/api/monitoring/endpoints/{monitor_id}", {"runbook": "wiki/shop"})
    assert service.vera.get(f"/api/monitoring/endpoints/{monitor_id}").json["runbook"] == "wiki/shop"
    assert service.otto.put_json(f"/api/monitoring/endpoints/{monitor_id}", {"runbook": 7}, status=422)
    document = service.anonymous.get("/api/openapi.json").json
    assert "runbook" in json.dumps(document["components"]["schemas"]["Monitor"])
    assert 'name="runbook"' in service.browser("otto").get(f"/monitors/{monitor_id}/edit").text
    assert '"runbook": "wiki/shop"' in json.dumps(service.ada.get("/api/export").json)


def test_a_channel_has_fields_a_form_and_an_address(service):
    fields = {"host": "chat.example.org", "room": "ops"}
    body = {"name": "Room", "type": "rocket", "address": fields}
    made = service.ada.post_json("/api/notifications/channels", body).json
    shown = service.ada.get(f"/api/notifications/channels/{made['id']}").json
    assert (shown["type"], shown["service"]) == ("rocket", "rocket")
    assert "Rocket.Chat" in service.browser("ada").get("/notifications/new?type=rocket").text


def test_a_setting_is_read_and_shown(service):
    settings = {row["name"]: row["value"] for row in service.ada.get("/api/settings").json["settings"]}
    assert settings["maintenance.longest_days"] == "90"


def test_a_page_is_there_led_to_and_explained(service):
    page = service.browser("vera").get("/healing/effect")
    assert page.html.h1.text.strip() == "Effect"
    assert page.html.select_one('.rooms a[aria-current="page"], nav a[href="/healing/effect"]')
    assert page.html.select_one('a[href="/help/actions"]')
