"""Inlets over the API: their tokens, their roles, and what is answered to who sends events."""

import itertools
import json
import secrets

import pytest

from opsapp.healing.engine.pipeline import IHealingEngine
from opsapp.healing.resources import healing_of
from opsapp.healing.resources import inlets as resources
from opsapp.notify.resources import inbox
from opsapp.web.redact import redact
from tests.support.scraping import scraped
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
@pytest.mark.shared
def test_each_form_is_taken_without_a_session(service, inlet, body):
    taken = service.anonymous.post_json(inlet["url"], body).json
    assert taken["received"] == len(body.get("alerts", [body]))
    assert taken["firing"] + taken["resolved"] + taken["repeated"] == taken["received"]
    assert taken["unknown_targets"] == taken["received"], "there is no such host or monitor"


@pytest.mark.shared
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


@pytest.mark.shared
def test_the_same_again_is_counted_as_repeated(service, inlet):
    assert service.anonymous.post_json(inlet["url"], OWN).json["repeated"] == 0
    assert service.anonymous.post_json(inlet["url"], OWN).json["repeated"] == 1
    assert service.anonymous.post_json(inlet["url"], {**OWN, "status": "resolved"}).json["resolved"] == 1


def alerts(count, **labels):
    return [
        {"status": "firing", "labels": {"alertname": "Down", "instance": f"h{n}:9100", **labels}, "annotations": {}}
        for n in range(count)
    ]


def post(service, inlet, body, status=200):
    return service.anonymous.post(inlet["url"], body, content_type="application/json", status=status)


def test_an_outage_is_taken_whole_however_large(service, inlet):
    """Alertmanager with its defaults (`group_by: [alertname]`, no `max_alerts`): all of it is one group."""
    body = json.dumps({**ALERTMANAGER, "alerts": alerts(5000, team="x" * 300)}).encode()
    assert len(body) > 2**20
    taken = post(service, inlet, body).json
    assert (taken["received"], taken["firing"], taken["refused_count"], taken["refused"]) == (5000, 5000, 0, [])
    [listed] = service.ada.get(PATH).json
    assert listed["firing"] == 5000


def test_events_that_draw_the_same_id_in_one_millisecond_are_all_taken(service, inlet, monkeypatch):
    """Of 10,000 at once two draw the same in one outage of a hundred: all of it was answered 500."""
    drawn = itertools.cycle([0, 0, 1, 0, 1, 2, 3])
    real = secrets.token_hex
    monkeypatch.setattr(secrets, "token_hex", lambda size: f"{next(drawn):08x}" if size == 4 else real(size))
    assert post(service, inlet, json.dumps({**ALERTMANAGER, "alerts": alerts(4)})).json["firing"] == 4
    assert len({incident["id"] for incident in service.ada.get("/api/monitoring/incidents").json}) == 4


@pytest.mark.parametrize("many", [0, 400], ids=["small", "large"])
@pytest.mark.shared
def test_an_odd_alert_costs_none_of_the_others(service, inlet, many):
    good = alerts(many + 3)
    labels = {"alertname": "a", **{f"l{n}": "" for n in range(64)}}
    odd = [{}, {**good[0], "status": "?"}, "x", {**good[0], "labels": labels}]
    texts = [json.dumps(alert) for alert in (*good[:2], *odd, *good[2:])]
    texts.insert(3, '{"status": "firing", "status": "firing"}')
    taken = post(service, inlet, f'{{"alerts": [{", ".join(texts)}], "version": "4"}}').json
    assert (taken["firing"], taken["refused_count"]) == (len(good), 5)
    assert taken["received"] == len(good) + 5
    assert taken["refused"] == [
        {"place": "alerts.2", "why": "status must be firing or resolved; name is required: the label alertname"},
        {"place": "alerts.3", "why": "This is not JSON: an object has a key twice"},
        {"place": "alerts.4", "why": "status must be firing or resolved"},
        {"place": "alerts.5", "why": "must be an object"},
        {"place": "alerts.6", "why": "labels must be an object of at most 64 labels"},
    ]


@pytest.mark.shared
def test_of_many_refusals_the_first_are_named(service, inlet):
    taken = post(service, inlet, json.dumps({"alerts": [{}] * 700 + alerts(1)})).json
    assert (taken["firing"], taken["refused_count"], len(taken["refused"])) == (1, 700, 50)


@pytest.mark.shared
def test_a_body_that_breaks_off_loses_only_its_end(service, inlet):
    body = json.dumps({"alerts": alerts(3)})
    taken = post(service, inlet, body[: body.rindex("h2")]).json
    assert (taken["firing"], taken["refused"]) == (2, [{"place": "alerts.2", "why": "the JSON breaks off here"}])


@pytest.mark.shared
def test_several_events_in_the_own_form_are_a_list(service, inlet):
    taken = post(service, inlet, json.dumps([OWN, {**OWN, "id": "43"}, {"id": "44"}])).json
    assert (taken["firing"], [refused["place"] for refused in taken["refused"]]) == (2, ["2"])


@pytest.mark.shared
def test_only_what_is_no_json_is_a_bad_request(service, inlet):
    for body in ("", "{", "nonsense", '{"alerts": [', '{"alerts": [{"status"', '{"id": 1,}', "[1"):
        assert post(service, inlet, body, status=400).json["code"] == "malformed_json", body
    for body in ("1", '"x"', "{}", '{"alerts": {}}', json.dumps({**OWN, "status": "?"})):
        taken = post(service, inlet, body).json
        assert (taken["received"], taken["refused_count"], taken["refused"][0]["place"]) == (1, 1, "body"), body
    assert taken["refused"][0]["why"] == "status must be firing or resolved"
    assert post(service, inlet, '{"alerts": []}').json["received"] == 0


def test_what_was_refused_is_counted_and_told_once_an_hour(service, inlet):
    def told():
        rows = service.transact(inbox.take, 1000)
        return [row.text for row in rows if row.kind == "inlet.refused"]

    post(service, inlet, json.dumps({"alerts": [{}, *alerts(2)]}))
    post(service, inlet, json.dumps({"alerts": [{}, {}]}))
    [listed] = service.ada.get(PATH).json
    assert listed["refused"] == 3
    assert listed["last_refusal"].startswith("alerts.1 status must be")
    figures = service.ada.get("/metrics").text
    for result, count in (("taken", 2), ("refused", 3)):
        labels = f'inlet="{inlet["id"]}",name="Alertmanager",result="{result}"'
        assert f"opsapp_inlet_events_total{{{labels}}} {count}.0" in figures
    [text] = told()
    assert text.startswith("1 entry of what it sent could not be taken.")
    look = service.app.registry.getUtility(IHealingEngine).look_after_inlets
    service.clock.advance(3599)
    look()
    assert told() == []
    service.clock.advance(1)
    look()
    [text] = told()
    assert text.startswith("2 entries of what it sent")
    service.clock.advance(3600)
    look()
    assert told() == []


def test_all_that_fires_is_taken_and_of_what_is_over_the_last_are_listed(service, inlet, monkeypatch):
    monkeypatch.setattr(resources, "MOST_OVER", 5)
    other = service.ada.post_json(PATH, {"name": "Grafana"}, status=201).json

    def listed(of):
        rows = service.ada.get(f"{PATH}/{of['id']}/events?limit=100").json
        return [sum(row["status"] == status for row in rows) for status in ("firing", "resolved")]

    taken = post(service, inlet, json.dumps({"alerts": alerts(20)})).json
    assert (taken["firing"], taken["refused"]) == (20, [])
    assert post(service, other, json.dumps({"alerts": alerts(5)})).json["firing"] == 5
    assert (listed(inlet), listed(other)) == ([20, 0], [5, 0])
    for alert in alerts(7):
        service.clock.advance(1)
        assert post(service, inlet, json.dumps({"alerts": [{**alert, "status": "resolved"}]})).json["resolved"] == 1
    assert (listed(inlet), listed(other)) == ([13, 5], [5, 0])
    assert post(service, inlet, json.dumps({"alerts": alerts(7)})).json["firing"] == 7
    assert listed(inlet) == [20, 0]
    service.ada.delete(f"{PATH}/{other['id']}")
    stored = service.transact(lambda root: list(healing_of(root).told.by_inlet))
    assert stored == [inlet["id"]]


@pytest.mark.shared
def test_a_wrong_token_and_one_of_a_deleted_inlet_are_nobodys(service, inlet):
    service.anonymous.post_json(f"/api/healing/events/{'0' * 64}", OWN, status=404)
    assert service.ada.delete(f"{PATH}/{inlet['id']}").json == {"status": "deleted"}
    service.anonymous.post_json(inlet["url"], OWN, status=404)
    service.ada.delete(f"{PATH}/{inlet['id']}", status=404)


@pytest.mark.shared
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


def test_metrics_have_each_inlet_that_there_is_once(service, inlet):
    """Under the name that it has now, and before it has sent anything: from nothing to 1 is no increase."""

    def counted():
        return scraped(service.vera).of("opsapp_inlet_events_total")

    assert counted() == {(inlet["id"], "Alertmanager", result): 0 for result in ("taken", "refused")}
    post(service, inlet, json.dumps({"alerts": [{}, *alerts(2)]}))
    service.ada.put_json(f"{PATH}/{inlet['id']}", {"name": "Renamed"})
    post(service, inlet, json.dumps({"alerts": [{}]}))
    assert counted() == {(inlet["id"], "Renamed", "taken"): 2, (inlet["id"], "Renamed", "refused"): 2}
    service.ada.delete(f"{PATH}/{inlet['id']}")
    assert counted() == {}
