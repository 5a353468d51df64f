"""Inlets over the API: their tokens, their roles, and what is answered to who sends events."""

import pytest

from opsapp.web.redact import redact
from tests.unit.healing.test_eventforms import ALERTMANAGER, GRAFANA, OWN

PATH = "/api/healing/inlets"


@pytest.fixture
def inlet(service):
    made = service.ada.post_json(PATH, {"name": "Alertmanager"}, status=201).json
    yield made
    if any(listed["id"] == made["id"] for listed in service.ada.get(PATH).json):
        service.ada.delete(f"{PATH}/{made['id']}")


def test_a_token_is_shown_once_and_stored_as_its_digest(service, inlet):
    assert inlet["url"] == f"/api/healing/events/{inlet['token']}"
    assert inlet["mapping"] == {"host": "instance", "monitor": "monitor"}
    [listed] = service.ada.get(PATH).json
    assert listed == {name: value for name, value in inlet.items() if name not in ("token", "url")}
    assert (listed["name"], listed["created_by"]) == ("Alertmanager", "ada")
    entry = service.ada.get("/api/audit?action=healing.inlet.create").json[0]
    assert inlet["token"] not in str(entry)
    assert inlet["token"] not in str(service.ada.get("/api/export").json)
    assert inlet["token"] not in redact(f"POST {inlet['url']} 200")


@pytest.mark.parametrize("body", [ALERTMANAGER, GRAFANA, OWN])
def test_each_form_is_taken_without_a_session(service, inlet, body):
    taken = service.anonymous.post_json(inlet["url"], body).json
    assert taken["received"] == len(body.get("alerts", [body]))
    assert taken["firing"] + taken["resolved"] + taken["repeated"] == taken["received"]
    assert taken["unknown_targets"] == taken["received"], "there is no such host or monitor"


def test_the_list_says_how_many_events_fire_and_how_many_are_about_nothing_known(service, inlet):
    def listed():
        [shown] = [shown for shown in service.ada.get(PATH).json if shown["id"] == inlet["id"]]
        return shown["firing"], shown["unknown_targets"], shown["last_event_at"]

    assert listed() == (0, 0, None)
    agent = service.ada.post_json("/api/agents", {"label": "box-77"}, status=201).json
    report = f"/api/agents/{agent['agent_id']}/report"
    service.anonymous.post_json(report, {"hostname": "box-77", "os": "Linux"}, headers={"X-Agent-Key": agent["key"]})
    for number, target in enumerate(("box-77", "nowhere")):
        service.anonymous.post_json(inlet["url"], {**OWN, "id": f"e{number}", "target": target, "labels": {}})
    now = int(service.clock.now())
    assert listed() == (2, 1, now)
    service.anonymous.post_json(inlet["url"], {**OWN, "id": "e1", "target": "nowhere", "status": "resolved"})
    assert listed() == (1, 0, now)


def test_the_same_again_is_counted_as_repeated(service, inlet):
    assert service.anonymous.post_json(inlet["url"], OWN).json["repeated"] == 0
    assert service.anonymous.post_json(inlet["url"], OWN).json["repeated"] == 1
    assert service.anonymous.post_json(inlet["url"], {**OWN, "status": "resolved"}).json["resolved"] == 1


def test_bad_bodies_are_told_by_field(service, inlet):
    post = service.anonymous.post_json
    assert post(inlet["url"], {**OWN, "status": "?"}, status=422).json["fields"].keys() == {"status"}
    assert post(inlet["url"], {"alerts": [{}]}, status=422).json["fields"].keys() == {
        "alerts.0.status",
        "alerts.0.name",
    }
    post(inlet["url"], [OWN], status=400)
    service.anonymous.post(inlet["url"], "{", content_type="application/json", status=400)
    service.anonymous.post(inlet["url"], "", content_type="application/json", status=400)


def test_a_wrong_token_and_one_of_a_deleted_inlet_are_nobodys(service, inlet):
    service.anonymous.post_json(f"/api/healing/events/{'0' * 64}", OWN, status=404)
    assert service.ada.delete(f"{PATH}/{inlet['id']}").json == {"status": "deleted"}
    service.anonymous.post_json(inlet["url"], OWN, status=404)
    service.ada.delete(f"{PATH}/{inlet['id']}", status=404)


def test_labels_are_mapped_and_wrong_inlets_refused(service):
    made = service.ada.post_json(PATH, {"name": "Grafana", "mapping": {"host": "host"}}, status=201).json
    assert made["mapping"] == {"host": "host", "monitor": "monitor"}
    service.ada.delete(f"{PATH}/{made['id']}")
    for body, field in (
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"name": "x", "mapping": {"site": "y"}}, "mapping.site"),
    ):
        assert field in service.ada.post_json(PATH, body, status=422).json["fields"]
    service.otto.get(PATH, status=403)
    service.otto.post_json(PATH, {"name": "x"}, status=403)
