"""/api/monitoring/incidents: the list, what people say about one, and the war room."""

import pytest

from opsapp.monitoring.interfaces import IWarRoomSection, WarRoomSection
from opsapp.monitoring.records import WarRoomEvent
from opsapp.runtime import events
from opsapp.web.jsontext import dumps
from opsapp.wire.probes import Outcome
from tests.support.monitoring import DOWN, UP, Lookout

PATH = "/api/monitoring/incidents"


@pytest.fixture
def lookout(service):
    return Lookout(service)


def broken(lookout, **settings):
    """A monitor that is down; (monitor id, incident id)."""
    monitor_id = lookout.add(retries=0, **settings)
    lookout.sees[monitor_id] = DOWN
    lookout.tick()
    return monitor_id, lookout.incidents(f"monitor_id={monitor_id}")[0]["id"]


def test_newest_first_filtered_and_paged(lookout):
    ids = []
    for n in range(4):
        monitor_id, incident_id = broken(lookout, name=f"m{n}")
        ids.append(incident_id)
        lookout.service.clock.advance(1)
    lookout.sees[monitor_id] = UP
    lookout.run(61)
    get = lookout.service.vera.get
    assert [each["id"] for each in get(PATH).json] == ids[::-1]
    assert [each["id"] for each in get(f"{PATH}?status=resolved").json] == ids[3:]
    page = get(f"{PATH}?status=open&limit=2&offset=1")
    assert [each["id"] for each in page.json] == [ids[1], ids[0]]
    assert page.headers["X-Total-Count"] == "3"
    get(f"{PATH}?status=closed", status=422)
    get(f"{PATH}?limit=1001", status=422)


def test_what_an_older_version_has_stored_of_a_target_that_sends_half_characters_is_shown(lookout):
    monitor_id = lookout.add(retries=0)
    lookout.sees[monitor_id] = Outcome(False, None, '$.a is "x\ud800", expected 1')
    lookout.tick()
    get = lookout.service.vera.get
    assert get(f"{PATH}?monitor_id={monitor_id}").json[0]["cause"] == '$.a is "x\ud800", expected 1'
    signed_in = {"Authorization": "Bearer " + lookout.service.tokens["vera"]}
    for page in ("/incidents", f"/monitors/{monitor_id}"):
        assert "$.a is &#34;x?&#34;" in lookout.service.anonymous.get(page, headers=signed_in).text


def test_fifty_by_default(lookout):
    for n in range(55):
        broken(lookout, name=f"m{n}")
    answer = lookout.service.vera.get(PATH)
    assert len(answer.json) == 50
    assert answer.headers["X-Total-Count"] == "55"


def test_acknowledge(lookout):
    _, incident_id = broken(lookout)
    otto = lookout.service.otto
    lookout.service.vera.post_json(f"{PATH}/{incident_id}/acknowledge", {"note": "mine"}, status=403)
    assert otto.post_json(f"{PATH}/{incident_id}/acknowledge", {"note": "mine"}).json == {"status": "acknowledged"}
    incident = otto.get(f"{PATH}/{incident_id}").json
    assert incident["acknowledged_by"] == "otto"
    assert incident["updates"][0]["message"] == "mine"
    assert otto.post_json(f"{PATH}/{incident_id}/acknowledge", {}, status=409).json["code"] == "already_acknowledged"


def test_an_update_costs_the_same_however_many_there_are(lookout, tmp_path):
    """1,280 updates were 91 MB in the store, and their events another 96."""
    _, incident_id = broken(lookout)
    otto, sizes, main = lookout.service.otto, [], tmp_path / "main.fs"
    for _ in range(3):
        before = main.stat().st_size
        for n in range(60):
            body = {"stage": "investigating", "message": f"{n}: " + "x" * 3000}
            otto.post_json(f"{PATH}/{incident_id}/updates", body, status=201)
        sizes.append(main.stat().st_size - before)
    assert sizes[2] < 1.3 * sizes[0]
    assert sizes[2] < 60 * 25_000
    told = [each.data for each in lookout.service.transact(lambda root: events.read_since(root, {})[1])]
    assert told[-1]["update"]["message"].startswith("59: ")
    assert max(len(dumps(each)) for each in told) < 4000
    assert len(otto.get(f"{PATH}/{incident_id}").json["updates"]) == 180


def test_updates_are_paged(lookout):
    _, incident_id = broken(lookout)
    for n in range(5):
        lookout.service.otto.post_json(f"{PATH}/{incident_id}/updates", {"stage": "monitoring", "message": f"{n}"})
    get = lookout.service.vera.get
    page = get(f"{PATH}/{incident_id}/updates?limit=2&offset=3")
    assert [each["message"] for each in page.json] == ["3", "4"]
    assert page.headers["X-Total-Count"] == "5"
    whole = get(f"{PATH}/{incident_id}/updates").json
    assert whole == get(f"{PATH}/{incident_id}").json["updates"]
    assert get(f"{PATH}/{incident_id}/updates?offset=9").json == []


def test_a_monitor_that_is_paused_while_it_is_down_is_not_said_to_be_up_again(lookout):
    monitor_id, incident_id = broken(lookout)
    lookout.service.otto.put_json(f"/api/monitoring/endpoints/{monitor_id}", {"enabled": False})
    room = lookout.service.vera.get(f"{PATH}/{incident_id}/war-room").json
    assert room["incident"]["status"] == "resolved"
    assert (room["events"][-1]["kind"], room["events"][-1]["text"]) == ("closed", "The monitor was paused.")


def test_updates(lookout):
    _, incident_id = broken(lookout)
    otto = lookout.service.otto
    body = {"stage": "identified", "message": "the disk is full"}
    assert otto.post_json(f"{PATH}/{incident_id}/updates", body, status=201).json == {"status": "created"}
    update = otto.get(f"{PATH}/{incident_id}").json["updates"][0]
    assert update == body | {"public": True, "user": "otto", "time": int(lookout.service.clock.now())}
    wrong = otto.post_json(f"{PATH}/{incident_id}/updates", {"stage": "fine", "message": ""}, status=422)
    assert set(wrong.json["fields"]) == {"stage", "message"}
    lookout.service.vera.post_json(f"{PATH}/{incident_id}/updates", body, status=403)
    otto.post_json(f"{PATH}/nothing/updates", body, status=404)


def test_war_room(lookout):
    monitor_id, incident_id = broken(lookout, tags=["shop", "public"])
    near = lookout.add(name="Near", tags=["shop", "public"])
    far = lookout.add(name="Far", tags=["public"])
    unrelated = lookout.add(name="Unrelated", tags=["blog"])
    lookout.service.otto.post_json(f"{PATH}/{incident_id}/acknowledge", {"note": "on it"})
    lookout.sees |= dict.fromkeys((monitor_id, near, far, unrelated), UP)
    lookout.run(61)
    room = lookout.service.vera.get(f"{PATH}/{incident_id}/war-room").json
    assert set(room) == {
        "incident", "monitor", "related_monitors", "events", "other_runs", "suggested_automations", "dependencies",
        "heals",
    }  # fmt: skip
    assert room["incident"]["id"] == incident_id
    assert room["monitor"]["id"] == monitor_id
    assert [each["id"] for each in room["related_monitors"]] == [near, far]
    assert [each["kind"] for each in room["events"]] == ["down", "acknowledged", "up"]
    assert room["heals"] == room["dependencies"] == room["suggested_automations"] == []


def test_other_rooms_add_to_the_war_room(lookout):
    _, incident_id = broken(lookout)

    def heals(root, incident, now):
        return WarRoomSection(heals=[{"id": 7}], events=[WarRoomEvent(incident.started - 1, "plan", "restart")])

    lookout.service.node.registry.registerUtility(heals, IWarRoomSection, name="healing")
    room = lookout.service.vera.get(f"{PATH}/{incident_id}/war-room").json
    assert room["heals"] == [{"id": 7}]
    assert [each["kind"] for each in room["events"]] == ["plan", "down"]


def test_an_incident_is_given_to_somebody(lookout):
    _, incident_id = broken(lookout)
    post, get = lookout.service.otto.post_json, lookout.service.vera.get
    lookout.service.client("ada")
    post(f"{PATH}/{incident_id}/assign", {"username": "nobody"}, status=422)
    post(f"{PATH}/{incident_id}/assign", {"username": "ada", "note": "knows it"})
    incident = get(f"{PATH}/{incident_id}").json
    assert incident["acknowledged_by"] == "ada"
    (note,) = incident["updates"]
    assert (note["stage"], note["user"], note["to"], note["public"]) == ("assigned", "otto", "ada", False)
    assert [each["id"] for each in get(f"{PATH}?owner=ada").json] == [incident_id]
    assert get(f"{PATH}?owner=otto").json == []
    assert [entry["after"]["username"] for entry in lookout.service.ada.get("/api/audit?action=incident.assign").json
            if entry["result"] == "ok"] == ["ada"]  # fmt: skip


def test_what_is_over_is_given_to_nobody(lookout):
    monitor_id, incident_id = broken(lookout)
    lookout.sees[monitor_id] = UP
    lookout.run(61)
    lookout.service.otto.post_json(f"{PATH}/{incident_id}/assign", {"username": "otto"}, status=409)


def test_open_incidents_say_what_they_come_from(lookout):
    service = lookout.service
    entries = [{"target": "Shop", "depends_on": ["Database"]}, {"target": "Database"}]
    service.ada.put_json("/api/healing/dependencies", {"dependencies": entries})
    broken(lookout, name="Database")
    _, incident_id = broken(lookout, name="Shop")
    causes = {each["monitor_name"]: each["root_cause"] for each in service.vera.get(PATH).json}
    assert causes == {"Shop": "Database", "Database": None}
    assert service.vera.get(f"{PATH}/{incident_id}/war-room").json["incident"]["root_cause"] == "Database"


def test_a_post_mortem_is_begun_by_what_is_known(lookout):
    monitor_id, incident_id = broken(lookout, name="Shop *one*")
    service = lookout.service
    begun = service.vera.get(f"{PATH}/{incident_id}/post-mortem").json
    assert begun["name"].startswith("post-mortem-shop-one-20")
    assert "It is not over yet." in begun["markdown"]
    assert "Nobody said that they take care of it." in begun["markdown"]
    service.otto.post_json(f"{PATH}/{incident_id}/acknowledge", {})
    service.otto.post_json(f"{PATH}/{incident_id}/updates", {"stage": "identified", "message": "The disk\nis full"})
    lookout.sees[monitor_id] = UP
    lookout.run(61)
    text = service.vera.get(f"{PATH}/{incident_id}/post-mortem").json["markdown"]
    assert text.startswith("# Shop \\*one\\*: 20")
    assert "| Taken care of by | otto |" in text
    assert "otto, identified: The disk is full" in text
    assert "The machine did nothing about it." in text
    assert "- [ ] What was the root cause?" in text
    assert "not over" not in text


def test_a_post_mortem_says_to_each_what_they_may_see(lookout):
    monitor_id = lookout.add(retries=0)
    lookout.sees[monitor_id] = Outcome(False, None, "no answer of https://u:hidden@shop.example/?token=hidden")
    lookout.tick()
    incident_id = lookout.incidents()[0]["id"]
    path = f"{PATH}/{incident_id}/post-mortem"
    assert "hidden" not in lookout.service.vera.get(path).text
    assert "hidden" in lookout.service.otto.get(path).text


def test_a_war_room_outlives_its_monitor(lookout):
    monitor_id, incident_id = broken(lookout)
    lookout.service.ada.delete(f"/api/monitoring/endpoints/{monitor_id}")
    room = lookout.service.vera.get(f"{PATH}/{incident_id}/war-room").json
    assert room["monitor"] is None
    assert room["incident"]["status"] == "resolved"
