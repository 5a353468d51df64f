"""What a change is answered with: the record as it is now, where its shape is ours to choose, beside the old keys."""

import pytest

CHANNEL = {"name": "pager", "url": "json://127.0.0.1:1/"}


@pytest.mark.parametrize(
    ("room", "made", "change"),
    [
        ("/api/healing/inlets", {"name": "Alertmanager"}, {"name": "Grafana"}),
        ("/api/notifications/channels", CHANNEL, {"name": "mail"}),
        ("/api/secrets", {"name": "deploy", "value": "barley"}, {"value": "oats"}),
    ],
    ids=["inlet", "channel", "secret"],
)
def test_a_change_is_answered_with_the_record(service, room, made, change):
    first = service.ada.post_json(room, made, status=201).json
    changed = service.ada.put_json(f"{room}/{first['id']}", change).json
    assert changed.pop("status") == "updated"
    [record] = service.ada.get(room).json
    assert changed == record
    assert {name: value for name, value in changed.items() if name in change and name != "value"} == {
        name: value for name, value in change.items() if name != "value"
    }


def test_a_rule_is_answered_with_its_record(service):
    rule = {"condition": "cpu_percent > 90", "action": {"type": "flush_dns", "params": {}}}
    made = service.ada.post_json("/api/healing/rules", {"id": "hot", **rule}, status=201).json
    changed = service.ada.put_json("/api/healing/rules/hot", {"condition": "cpu_percent > 95"}).json
    assert (made.pop("status"), changed.pop("status")) == ("created", "updated")
    assert changed == service.ada.get("/api/healing/rules/hot").json
    assert changed == {**made, "condition": "cpu_percent > 95"}


def test_a_new_secret_is_answered_with_its_record_and_never_with_its_value(service):
    made = service.ada.post_json("/api/secrets", {"name": "deploy", "value": "barley"}, status=201)
    assert made.json.pop("status") == "created"
    assert "barley" not in made.text
    [record] = service.ada.get("/api/secrets").json
    assert {**record, "status": "created"} == made.json


def test_a_change_of_the_status_page_is_answered_with_its_settings(service):
    changed = service.ada.put_json("/api/status/settings", {"name": "How it stands"}).json
    assert changed.pop("status") == "updated"
    assert changed == service.ada.get("/api/status/settings").json
    assert changed["name"] == "How it stands"


def test_declared_dependencies_are_answered_with_the_graph(service):
    path, declared = "/api/healing/dependencies", [{"target": "shop", "depends_on": ["db"]}, {"target": "db"}]
    changed = service.ada.put_json(path, {"dependencies": declared}).json
    assert changed.pop("status") == "updated"
    assert changed == service.ada.get(path).json
    assert changed["edges"] == [{"from": "shop", "to": "db"}]
    again = service.ada.put_json(path, changed).json
    assert {**changed, "status": "updated"} == again
