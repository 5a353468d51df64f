"""Events from elsewhere about what is no host or monitor here: incidents of their own, on every page with incidents."""

import json

import pytest

from opsapp.healing.engine.pipeline import IHealingEngine
from opsapp.healing.resources import healing_of
from opsapp.monitoring.resources import incidents_of
from opsapp.notify.resources import inbox
from tests.api.test_pages_house import press

PATH = "/api/healing/inlets"
INCIDENTS = "/api/monitoring/incidents"
BEGAN = "2026-11-20T10:00:00.123456789Z"


@pytest.fixture
def inlet(service):
    return service.ada.post_json(PATH, {"name": "Alertmanager"}, status=201).json


def alert(status="firing", starts=BEGAN, ends="0001-01-01T00:00:00Z", instance="db-9:9100", **labels):
    return {
        "status": status,
        "labels": {"alertname": "DiskFull", "instance": instance, "severity": "page", **labels},
        "annotations": {
            "summary": "The disk is full",
            "description": "97 % of /data",
            "runbook_url": "https://wiki.example/disk",
        },
        "startsAt": starts,
        "endsAt": ends,
        "generatorURL": "https://user:secret@prometheus.example/graph",
        "fingerprint": "a1b2",
    }


def send(service, inlet, *alerts):
    return service.anonymous.post_json(inlet["url"], {"version": "4", "alerts": list(alerts)}).json


def events(service, inlet):
    return service.ada.get(f"{PATH}/{inlet['id']}/events").json


def told(service):
    rows = service.transact(inbox.take, 1000)
    return [(row.kind, row.severity, row.title, row.text) for row in rows]


def known_host(service, name="db-9"):
    agent = service.ada.post_json("/api/agents", {"label": name}, status=201).json
    report = f"/api/agents/{agent['agent_id']}/report"
    service.anonymous.post_json(report, {"hostname": name, "os": "Linux"}, headers={"X-Agent-Key": agent["key"]})


def test_it_is_told_and_ends_with_the_word_that_it_is_over(service, inlet):
    assert send(service, inlet, alert())["unknown_targets"] == 1
    [incident] = service.vera.get(INCIDENTS).json
    known = {name: incident[name] for name in ("name", "summary", "description", "severity", "target", "links")}
    assert known == {
        "name": "DiskFull",
        "summary": "The disk is full",
        "description": "97 % of /data",
        "severity": "page",
        "target": "db-9",
        "links": ["https://***@prometheus.example/graph", "https://wiki.example/disk"],
    }
    assert incident["source"] == {"inlet": inlet["id"], "fingerprint": "a1b2"}
    assert (incident["monitor_id"], incident["monitor_name"]) == (None, "DiskFull on db-9")
    assert (incident["status"], incident["cause"], incident["root_cause"]) == ("open", "The disk is full", None)
    [(kind, severity, title, text)] = told(service)
    assert (kind, severity, title) == ("incident.opened", "critical", "DiskFull on db-9")
    assert "97 % of /data" in text
    assert "https://wiki.example/disk" in text
    service.clock.advance(600)
    send(service, inlet, alert("resolved", ends="2026-11-20T10:10:00Z"))
    incident = service.vera.get(f"{INCIDENTS}/{incident['id']}").json
    assert (incident["status"], incident["duration_minutes"]) == ("resolved", 10.0)
    assert [row[:3] for row in told(service)] == [("incident.resolved", "critical", "DiskFull on db-9 is over")]


def test_the_same_event_again_is_the_same_incident_and_another_outage_another(service, inlet):
    for _ in range(3):
        send(service, inlet, alert())
        service.clock.advance(100)
    assert len(service.vera.get(INCIDENTS).json) == 1
    send(service, inlet, alert("resolved", ends="2026-11-20T10:10:00Z"))
    send(service, inlet, alert(starts="2026-11-20T10:20:00Z"))
    assert [row["status"] for row in service.vera.get(INCIDENTS).json] == ["open", "resolved"]


def test_what_is_known_here_is_no_incident_of_its_own(service, inlet):
    known_host(service)
    send(service, inlet, alert(), alert("resolved", ends="2026-11-20T10:10:00Z"))
    assert service.vera.get(INCIDENTS).json == []
    [event] = events(service, inlet)
    assert (event["became"], event["about"]["kind"], event["about"]["name"]) == ("reading", "agent", "db-9")


def test_what_came_and_what_became_of_it_is_listed(service, inlet):
    path = f"{PATH}/{inlet['id']}/events"
    assert service.ada.get(path).json == []
    send(service, inlet, alert(), {**alert("resolved", ends="2026-11-20T10:10:00Z"), "fingerprint": "never seen"})
    over, open_one = events(service, inlet)
    [incident] = service.vera.get(INCIDENTS).json
    assert (open_one["became"], open_one["incident_id"]) == ("incident", incident["id"])
    assert (open_one["status"], open_one["target"], open_one["starts_at"]) == ("firing", "db-9", 1795168800)
    assert (over["became"], over["ends_at"]) == ("nothing", 1795169400)
    page = service.ada.get(path + "?limit=1&offset=1")
    assert page.headers["X-Total-Count"] == "2"
    assert [row["fingerprint"] for row in page.json] == ["a1b2"]
    service.otto.get(path, status=403)


def test_a_change_of_name_or_mapping_keeps_the_token(service, inlet):
    known_host(service, "web-1")
    send(service, inlet, alert(box="web-1"))
    assert events(service, inlet)[0]["about"] is None
    service.ada.put_json(f"{PATH}/{inlet['id']}", {"name": "Prometheus", "mapping": {"host": "box"}})
    [listed] = service.ada.get(PATH).json
    assert (listed["name"], listed["mapping"]) == ("Prometheus", {"host": "box", "monitor": "monitor"})
    assert send(service, inlet, alert(box="web-1"))["repeated"] == 1
    assert events(service, inlet)[0]["about"]["name"] == "web-1"
    entry = service.ada.get("/api/audit?action=healing.inlet.update").json[0]
    assert entry["target"] == inlet["id"]
    service.ada.put_json(f"{PATH}/{inlet['id']}", {"name": ""}, status=422)
    service.otto.put_json(f"{PATH}/{inlet['id']}", {"name": "x"}, status=403)


def test_words_are_ordered_by_the_senders_times(service, inlet):
    over = alert("resolved", ends="2026-11-20T10:10:00Z")
    send(service, inlet, alert())
    send(service, inlet, over)
    assert send(service, inlet, alert())["older"] == 1, "it was overtaken on its way"
    assert [row["status"] for row in service.vera.get(INCIDENTS).json] == ["resolved"]
    again = alert(starts="2026-11-20T10:20:00Z")
    service.clock.advance(1)
    assert send(service, inlet, again)["firing"] == 1
    assert send(service, inlet, over)["older"] == 1, "this end was of the outage before"
    assert [row["status"] for row in service.vera.get(INCIDENTS).json] == ["open", "resolved"]
    service.clock.advance(3600)
    assert send(service, inlet, over)["older"] == 1


def test_an_end_that_overtakes_the_beginning_leaves_nothing_open(service, inlet):
    assert send(service, inlet, alert("resolved", ends="2026-11-20T10:10:00Z"))["resolved"] == 1
    assert send(service, inlet, alert())["older"] == 1
    assert service.vera.get(INCIDENTS).json == []


def test_a_sender_that_says_again_later_that_it_fires_is_believed(service, inlet):
    """Alertmanager resolves what Prometheus cannot tell it of for a while, and gets it again with its old beginning."""
    send(service, inlet, alert(), alert("resolved", ends="2026-11-20T10:10:00Z"))
    service.clock.advance(400)
    assert send(service, inlet, alert())["firing"] == 1
    assert [row["status"] for row in service.vera.get(INCIDENTS).json] == ["open", "resolved"]


@pytest.mark.parametrize("how", ["deleted", "silent"])
def test_nobody_says_that_it_is_over(service, inlet, how):
    send(service, inlet, alert())
    told(service)
    if how == "deleted":
        service.ada.delete(f"{PATH}/{inlet['id']}")
    else:
        service.clock.advance(86401)
    service.app.registry.getUtility(IHealingEngine).look_after_inlets()
    [incident] = service.vera.get(INCIDENTS).json
    assert incident["status"] == "resolved"
    [(kind, _, title, text)] = told(service)
    assert (kind, title) == ("incident.closed", "The incident of DiskFull on db-9 is closed")
    why = {
        "deleted": "The inlet that told of it was deleted.",
        "silent": "Nobody has said for 24 hours that it goes on.",
    }
    assert text == why[how]

    def left(root):
        incidents = incidents_of(root)
        return [*healing_of(root).told.left, *incidents.open, *incidents.open_of_none]

    assert service.transact(left) == []
    room = service.vera.get(f"{INCIDENTS}/{incident['id']}/war-room").json
    assert room["events"][-1]["text"] == text


def test_every_page_that_shows_incidents_shows_it(service, inlet):
    send(service, inlet, alert())
    [incident] = service.vera.get(INCIDENTS).json
    vera = service.browser("vera")
    overview = vera.get("/").text
    assert "1 event from elsewhere." in overview
    assert "DiskFull on db-9" in overview
    assert "DiskFull on db-9" in vera.get("/incidents").text
    room = vera.get(f"/incidents/{incident['id']}").text
    assert "It is about no host or monitor here" in room
    for words in ("97 % of /data", "https://wiki.example/disk", "Its severity is page."):
        assert words in room
    assert "secret" not in room
    assert "/monitors/None" not in room
    assert "The disk is full" in vera.get(f"/incidents/{incident['id']}/post-mortem.md").text
    assert "DiskFull on db-9" in vera.get("/find?q=DiskFull").text
    for place in ("/status", "/monitors", "/report", "/status/history"):
        assert "DiskFull" not in vera.get(place, status="*").text
    assert service.anonymous.get(f"/status/incidents/{incident['id']}", status=404)
    otto = service.otto
    otto.post_json(f"{INCIDENTS}/{incident['id']}/acknowledge", {})
    update = {"stage": "identified", "message": "It is the log"}
    otto.post_json(f"{INCIDENTS}/{incident['id']}/updates", update, status=201)
    send(service, inlet, alert("resolved", ends="2026-11-20T10:10:00Z"))
    room = vera.get(f"/incidents/{incident['id']}").text
    assert "DiskFull on db-9 is over" in room
    overview = service.vera.get("/api/overview").json
    assert (overview["wrong"]["events"], overview["troubles"]) == (0, [])
    assert "is over after" in vera.get("/").text


def test_it_is_no_failure_of_a_monitor_that_is_called_so(service, inlet):
    watched = {"name": "DiskFull", "type": "tcp", "url": "tcp://127.0.0.1:1"}
    service.otto.post_json("/api/monitoring/endpoints", watched, status=201)
    send(service, inlet, {**alert(), "labels": {"alertname": "DiskFull"}})
    [incident] = service.vera.get(INCIDENTS).json
    assert (incident["monitor_id"], incident["monitor_name"], incident["target"]) == (None, "DiskFull", "")
    room = service.vera.get(f"{INCIDENTS}/{incident['id']}/war-room").json
    assert (room["monitor"], room["heals"], room["dependencies"]) == (None, [], [])


def test_an_event_in_the_own_form_may_say_the_same(service, inlet):
    event = {
        "id": "42",
        "status": "firing",
        "name": "Backup",
        "target": "tape",
        "severity": "warning",
        "summary": "No backup since Monday",
        "links": ["https://backup.example/"],
        "starts_at": 1763632800,
    }
    service.anonymous.post_json(inlet["url"], event)
    [incident] = service.vera.get(INCIDENTS).json
    assert (incident["monitor_name"], incident["links"]) == ("Backup on tape", ["https://backup.example/"])
    assert [row[1] for row in told(service)] == ["warning"]
    for wrong in ({"links": ["javascript:alert(1)"]}, {"starts_at": "yesterday"}, {"summary": 7}):
        refused = service.anonymous.post_json(inlet["url"], {**event, **wrong}).json["refused"]
        assert refused[0]["why"].startswith(next(iter(wrong)))


def test_a_large_body_is_incidents_too(service, inlet):
    body = {"alerts": [{**alert(instance=f"h{n}:1"), "fingerprint": str(n)} for n in range(400)]}
    taken = service.anonymous.post(inlet["url"], json.dumps(body), content_type="application/json").json
    assert (taken["firing"], taken["unknown_targets"]) == (400, 400)
    assert service.vera.get(INCIDENTS).headers["X-Total-Count"] == "400"
    overview = service.vera.get("/api/overview").json
    assert (overview["troubles_total"], overview["wrong"]["events"], len(overview["troubles"])) == (400, 400, 60)


def test_a_person_opens_an_incident_and_ends_it(service):
    body = {"name": "The phones do not work", "target": "Berlin", "description": "No tone", "severity": "warning"}
    made = service.otto.post_json(INCIDENTS, body, status=201).json
    path = f"{INCIDENTS}/{made['id']}"
    incident = service.vera.get(path).json
    assert (incident["monitor_id"], incident["monitor_name"]) == (None, "The phones do not work on Berlin")
    assert (incident["by_hand"], incident["opened_by"], "source" in incident) == (True, "otto", False)
    assert [row[:3] for row in told(service)] == [("incident.opened", "warning", incident["monitor_name"])]
    service.vera.post_json(f"{path}/resolve", {}, status=403)
    service.clock.advance(120)
    assert service.otto.post_json(f"{path}/resolve", {"note": "A cable"}).json == {"status": "resolved"}
    incident = service.vera.get(path).json
    assert (incident["status"], incident["duration_minutes"]) == ("resolved", 2.0)
    assert [(note["stage"], note["message"]) for note in incident["updates"]] == [("resolved", "A cable")]
    assert [row[0] for row in told(service)] == ["incident.resolved"]
    assert service.otto.post_json(f"{path}/resolve", {}, status=409).json["code"] == "resolved"
    assert {entry["action"] for entry in service.ada.get("/api/audit").json} >= {"incident.open", "incident.end"}
    for wrong in ({}, {"name": ""}, {"name": "x", "severity": "page"}, {"name": "x", "monitor_id": "1"}):
        service.otto.post_json(INCIDENTS, wrong, status=422)
    service.vera.post_json(INCIDENTS, body, status=403)


def test_what_is_told_from_outside_stays_one_line(service, inlet):
    """It is the subject of a mail, and a name among others."""
    send(service, inlet, alert(alertname="Disk\r\nBcc: eve", instance="db\u202e9\u2028:9100"))
    (incident,) = service.vera.get(INCIDENTS).json
    assert (incident["name"], incident["target"]) == ("Disk\ufffd\ufffdBcc: eve", "db\ufffd9\ufffd")
    assert told(service)[0][2] == incident["monitor_name"] == "Disk\ufffd\ufffdBcc: eve on db\ufffd9\ufffd"


def test_what_another_system_opened_does_not_end_by_hand(service, inlet):
    send(service, inlet, alert())
    [incident] = service.vera.get(INCIDENTS).json
    refused = service.otto.post_json(f"{INCIDENTS}/{incident['id']}/resolve", {}, status=409).json
    assert refused["code"] == "not_by_hand"


def test_a_page_opens_an_incident_and_ends_it(service):
    otto = service.browser("otto")
    press(otto.get("/incidents"), "create", name="The phones do not work", severity="critical").follow()
    [incident] = service.vera.get(INCIDENTS).json
    room = otto.get(f"/incidents/{incident['id']}")
    assert "otto opened it." in room.text
    assert "The phones do not work" in otto.get("/incidents").text
    press(room, "room.resolve", note="").follow()
    assert service.vera.get(f"{INCIDENTS}/{incident['id']}").json["status"] == "resolved"
    assert "room.resolve" not in otto.get(f"/incidents/{incident['id']}").text


def test_what_is_long_is_cut_and_not_lost(service, inlet):
    event = {"id": "1", "status": "firing", "name": "x" * 1000, "target": "y" * 1000, "description": "z" * 9000}
    service.anonymous.post_json(inlet["url"], event)
    [incident] = service.vera.get(INCIDENTS).json
    lengths = [len(incident[name]) for name in ("monitor_name", "cause", "name", "target", "description")]
    assert lengths == [300, 1000, 1000, 1000, 4000]
    assert incident["cause"].endswith("…")


def test_an_event_that_is_too_long_is_named(service, inlet):
    event = {"id": "1", "status": "firing", "name": "x", "description": "z" * (256 << 10)}
    taken = service.anonymous.post_json(inlet["url"], event).json
    assert taken["refused"] == [{"place": "body", "why": "is longer than 262144 bytes"}]
    body = b"no JSON " * (64 << 10)
    service.anonymous.post(inlet["url"], body, content_type="application/json", status=400)
