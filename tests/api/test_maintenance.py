"""/api/maintenance and /api/healing/maintenance. The test's clock says 2055-01-15 08:00 UTC."""

import pytest
import yaml

from opsapp.agents.engine.lifecycle import create as add_agent
from opsapp.maintenance.engine import board, board_of
from tests.support.app import Service

BASE, HEALING = "/api/maintenance", "/api/healing/maintenance"
NOW = 2_683_612_800
BODY = {"name": "patch night", "start": "2055-01-15T22:00:00", "end": "2055-01-16T02:00:00"}
ON = BODY | {"start": "2055-01-15T07:00:00", "end": "2055-01-15T09:00:00"}
BRIEF = {"target": "box-1", "duration": "1h30m", "reason": "disk swap", "action": "queue"}


def create(service, body=BODY, **more):
    return service.otto.post_json(BASE, body | more, status=201).json


def test_a_window_lives(service):
    made = create(service)
    assert made.pop("status") == "created"
    assert made == {
        "id": made["id"],
        **BODY,
        "recurring": None,
        "scope": [],
        "autonomy_override": "disabled",
        "enabled": True,
        "active": False,
        "next_start": NOW + 14 * 3600,
        "next_end": NOW + 18 * 3600,
        "created_by": "otto",
        "created_at": NOW,
        "source": "api",
    }
    answer = service.vera.get(BASE)
    assert (answer.json, answer.headers["X-Total-Count"]) == ([made], "1")
    assert service.vera.get(f"{BASE}/{made['id']}").json == made
    changed = service.otto.put_json(f"{BASE}/{made['id']}", made | {"name": "other"}).json
    assert (changed["name"], changed["status"]) == ("other", "updated")
    assert service.otto.delete(f"{BASE}/{made['id']}").json == {"status": "deleted"}
    assert service.vera.get(BASE).json == []


@pytest.mark.shared
def test_scopes_name_what_there_is(service):
    monitor = service.otto.post_json(
        "/api/monitoring/endpoints", {"name": "Shop", "type": "http", "url": "http://shop.example/"}
    ).json["id"]
    agent, _ = service.transact(add_agent, "box-1", [])
    made = create(service, scope=[monitor, agent])
    assert made["scope"] == [monitor, agent]
    answer = service.otto.post_json(BASE, BODY | {"scope": [monitor, "nobody"]}, status=422).json
    assert answer["fields"] == {"scope": "no such monitor or agent: nobody"}
    service.ada.delete(f"/api/monitoring/endpoints/{monitor}")
    service.otto.put_json(f"{BASE}/{made['id']}", {"name": "still there"})
    service.otto.put_json(f"{BASE}/{made['id']}", {"scope": [agent, "nobody"]}, status=422)


def test_a_window_can_be_seen_before_it_is_made(service):
    seen = service.otto.post_json(f"{BASE}/preview", BODY | {"recurring": "0 22 * * *"}).json
    starts = [NOW + 14 * 3600 + day * 86400 for day in range(5)]
    assert seen["occurrences"] == [{"start": start, "end": start + 4 * 3600} for start in starts]
    assert service.otto.post_json(f"{BASE}/preview", BODY).json["occurrences"] == seen["occurrences"][:1]
    assert service.vera.get(BASE).json == []
    wrong = service.otto.post_json(f"{BASE}/preview", BODY | {"end": BODY["start"], "scope": ["nobody"]}, status=422)
    assert wrong.json["fields"].keys() == {"end", "scope"}
    service.vera.post_json(f"{BASE}/preview", BODY, status=403)


def test_the_calendar_has_every_time_of_every_window(service):
    once = create(service, ON)
    daily = create(service, name="nightly", recurring="0 22 * * *")
    path = f"{BASE}/calendar?since={NOW - 86400}&until={NOW + 2 * 86400}"
    entries = service.vera.get(path).json
    assert [(entry["window_id"], entry["start"] - NOW) for entry in entries] == [
        (once["id"], -3600),
        (daily["id"], 14 * 3600),
        (daily["id"], 38 * 3600),
    ]
    assert entries[0]["end"] == NOW + 3600
    service.otto.post(f"{BASE}/{once['id']}/deactivate")
    assert service.vera.get(path).json[0]["end"] == NOW  # it was ended early
    service.otto.post(f"{BASE}/{once['id']}/activate")
    assert [entry["start"] - NOW for entry in service.vera.get(path).json] == [-3600, 0, 14 * 3600, 38 * 3600]
    assert service.vera.get(f"{BASE}/calendar").json[0]["window_id"] == once["id"]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": None}, "name"),
        ({"name": "   "}, "name"),
        ({"start": "2055-01-15"}, "start"),
        ({"start": "2055-01-15T22:00:00Z"}, "start"),
        ({"start": 2_683_612_800}, "start"),
        ({"end": BODY["start"]}, "end"),
        ({"end": "2055-01-14T22:00:00"}, "end"),
        ({"end": "2057-01-14T22:00:00", "recurring": "@daily"}, "end"),
        ({"end": "2158-01-14T22:00:00"}, "end"),
        ({"start": "0001-01-01T00:00:00", "end": "0001-01-01T01:00:00"}, "start"),
        ({"start": "9999-12-31T22:00:00", "end": "9999-12-31T23:00:00"}, "start"),
        ({"recurring": "every day"}, "recurring"),
        ({"recurring": "0 25 * * *"}, "recurring"),
        ({"recurring": "0 0 30 2 *"}, "recurring"),
        ({"recurring": ""}, "recurring"),
        ({"scope": "box-1"}, "scope"),
        ({"scope": [1]}, "scope"),
        ({"autonomy_override": "observation"}, "autonomy_override"),
        ({"enabled": 1}, "enabled"),
        ({"colour": "red"}, "colour"),
    ],
)
@pytest.mark.shared
def test_wrong_values_are_named(service, wrong, field):
    assert field in service.otto.post_json(BASE, BODY | wrong, status=422).json["fields"]


@pytest.mark.shared
def test_everything_wrong_is_named_at_once(service):
    wrong = {"name": "", "end": BODY["start"], "scope": ["nobody"]}
    fields = service.otto.post_json(BASE, BODY | wrong, status=422).json["fields"]
    assert fields.keys() == {"name", "end", "scope"}
    made = service.otto.post_json(BASE, BODY).json["id"]
    wrong["start"] = BODY["start"]
    assert service.otto.put_json(f"{BASE}/{made}", wrong, status=422).json["fields"] == fields


def test_times_are_read_in_the_services_zone(tmp_path, monkeypatch):
    monkeypatch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
    path = tmp_path / "opsapp.yaml"
    path.write_text("timezone: Europe/Berlin\n")
    service = Service(tmp_path, **{"opsapp.config": str(path)})
    try:
        made = create(service)
        assert (made["next_start"], made["start"]) == (NOW + 13 * 3600, BODY["start"])
        skipped = create(service, start="2055-03-28T02:30:00", end="2055-03-28T04:00:00")
        assert skipped["next_end"] - skipped["next_start"] == 3600
        answer = service.otto.post_json(
            BASE, BODY | {"start": "2055-03-28T02:10:00", "end": "2055-03-28T02:50:00"}, status=422
        )
        assert answer.json["fields"] == {"end": "must be after start"}
    finally:
        service.close()


def test_hands(service):
    made = create(service)
    path = f"{BASE}/{made['id']}"
    assert service.otto.post(f"{path}/deactivate", status=409).json["code"] == "not_active"
    on = service.otto.post(f"{path}/activate").json
    assert (on["status"], on["active"], on["next_start"], on["next_end"]) == ("activated", True, NOW, NOW + 4 * 3600)
    assert service.otto.post(f"{path}/activate", status=409).json["code"] == "already_active"
    assert [one["id"] for one in service.vera.get(f"{BASE}?active=true").json] == [made["id"]]
    service.clock.advance(60)
    off = service.otto.post(f"{path}/deactivate").json
    assert (off["status"], off["active"], off["next_start"]) == ("deactivated", False, NOW + 14 * 3600)
    assert service.vera.get(f"{BASE}?active=true").json == []
    service.clock.advance(14 * 3600)
    assert service.vera.get(path).json["active"] is True


def test_an_occurrence_that_was_ended_stays_over_and_the_next_one_comes(service):
    made = create(service, ON, recurring="0 7 * * *")
    path = f"{BASE}/{made['id']}"
    assert made["active"] is True
    service.otto.post(f"{path}/deactivate")
    service.clock.advance(1800)
    assert service.vera.get(path).json["active"] is False
    service.clock.advance(22.5 * 3600)
    service.tokens.clear()
    assert service.vera.get(path).json["active"] is True


@pytest.mark.shared
def test_moving_a_window_forgets_what_was_done_by_hand(service):
    made = create(service, ON)
    path = f"{BASE}/{made['id']}"
    service.otto.post(f"{path}/deactivate")
    service.otto.put_json(path, {"name": "renamed"})
    assert service.vera.get(path).json["active"] is False
    assert service.otto.put_json(path, {"end": "2055-01-15T10:00:00"}).json["active"] is True


@pytest.mark.shared
def test_a_window_that_is_off_is_on_by_hand_only(service):
    made = create(service, ON, enabled=False)
    assert (made["active"], made["next_start"]) == (False, None)
    assert service.otto.post(f"{BASE}/{made['id']}/activate").json["active"] is True


def test_the_families_share_a_store_and_no_url(service):
    window, brief = create(service), service.otto.post_json(HEALING, BRIEF, status=201).json
    service.vera.get(f"{HEALING}/{window['id']}", status=404)
    service.otto.delete(f"{BASE}/{brief['id']}", status=404)
    assert [one["id"] for one in service.vera.get(BASE).json] == [window["id"]]
    assert service.vera.get(HEALING).json == [brief]


def test_a_healing_window_ends_by_itself_or_early_and_once(service):
    brief = service.otto.post_json(HEALING, BRIEF, status=201).json
    assert (brief["active"], brief["expires_at"] - brief["created_at"]) == (True, 5400)
    assert service.otto.delete(f"{HEALING}/{brief['id']}").json == {"status": "ended"}
    assert service.otto.delete(f"{HEALING}/{brief['id']}", status=409).json["code"] == "not_active"
    assert service.vera.get(f"{HEALING}/{brief['id']}").json["active"] is False
    other = service.otto.post_json(HEALING, BRIEF, status=201).json
    service.clock.advance(5400)
    assert service.vera.get(HEALING).json == []
    assert service.vera.get(f"{HEALING}/{other['id']}").json["active"] is False
    service.clock.advance(31 * 86400)
    service.tokens.clear()
    board._forget(service.node)
    assert board_of(service.node).plans == {}
    service.vera.get(f"{HEALING}/{other['id']}", status=404)


@pytest.mark.parametrize(
    "wrong",
    [
        {"duration": "soon"},
        {"duration": "0s"},
        {"duration": ""},
        {"duration": 90},
        {"duration": "1h 30m"},
        {"duration": "9999d"},
        {"action": "ignore"},
        {"action": None},
        {"target": ""},
        {"target": None},
        {"reason": 1},
    ],
)
@pytest.mark.shared
def test_what_is_no_healing_window(service, wrong):
    (field,) = wrong
    assert field in service.otto.post_json(HEALING, BRIEF | wrong, status=422).json["fields"]


@pytest.mark.parametrize(("text", "span"), [("90s", 90), ("30m", 1800), ("2h", 7200), ("1h30m", 5400), ("1d", 86400)])
@pytest.mark.shared
def test_durations(service, text, span):
    made = service.otto.post_json(HEALING, BRIEF | {"duration": text}, status=201).json
    assert made["expires_at"] - made["created_at"] == span


def test_every_change_is_in_the_audit(service):
    made, brief = create(service), service.otto.post_json(HEALING, BRIEF, status=201).json
    for action in ("activate", "deactivate"):
        service.otto.post(f"{BASE}/{made['id']}/{action}")
    service.otto.put_json(f"{BASE}/{made['id']}", {"name": "x"})
    service.otto.delete(f"{BASE}/{made['id']}")
    service.otto.delete(f"{HEALING}/{brief['id']}")
    actions = [entry["action"] for entry in service.ada.get("/api/audit?user=otto").json]
    assert sorted(actions) == [
        "healing.window.end",
        "healing.window.open",
        "window.activate",
        "window.create",
        "window.deactivate",
        "window.delete",
        "window.update",
    ]


def test_lists_are_paged(service):
    for n in range(3):
        create(service, name=f"w{n}")
        service.otto.post_json(HEALING, BRIEF | {"target": f"h{n}"})
        service.clock.advance(1)
    for path in (BASE, HEALING):
        answer = service.vera.get(f"{path}?limit=1&offset=1")
        assert (answer.json[0].get("name", answer.json[0].get("target"))[1], len(answer.json)) == ("1", 1)
        assert answer.headers["X-Total-Count"] == "3"


def test_windows_as_code(service):
    def apply(document, status=200, **more):
        return service.ada.post_json("/api/apply", {"document": document, **more}, status=status).json

    assert [one["change"] for one in apply({"windows": [BODY]})["changes"]] == ["create"]
    exported = service.ada.get("/api/export").json["windows"]
    assert apply({"windows": exported})["unchanged"] == 1
    (change,) = apply({"windows": [BODY | {"recurring": "@daily"}]})["changes"]
    assert (change["change"], change["after"]) == ("update", {"recurring": "@daily"})
    assert "windows.0.end" in apply({"windows": [BODY | {"end": BODY["start"]}]}, 422)["fields"]
    assert [one["change"] for one in apply({"windows": []}, prune=True)["changes"]] == ["delete"]
    assert board_of(service.node).plans == {}


def test_the_yaml_declares_windows(tmp_path, monkeypatch):
    monkeypatch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
    path = tmp_path / "opsapp.yaml"

    def write(*windows):
        path.write_text(yaml.safe_dump({"maintenance": {"windows": list(windows)}}))

    write(ON | {"scope": ["deleted-since"]}, BODY | {"name": "second"})
    service = Service(tmp_path, **{"opsapp.config": str(path)})
    try:
        reload = service.app.registry["opsapp.reload"]
        first = next(one for one in service.vera.get(BASE).json if one["name"] == ON["name"])
        assert (first["source"], first["active"], first["created_by"]) == ("yaml", True, "config")
        assert board_of(service.node).covered(service.clock.now())("deleted-since")
        write(ON | {"end": "2055-01-15T10:00:00"})
        assert reload()
        (one,) = service.vera.get(BASE).json
        assert (one["id"], one["end"]) == (first["id"], "2055-01-15T10:00:00")
        write(ON | {"end": ON["start"]})
        assert not reload()
        service.otto.put_json(f"{BASE}/{one['id']}", {"name": ON["name"], "enabled": False})
        write(ON)
        assert reload()
        assert service.vera.get(BASE).json[0]["enabled"] is False, "one that the API has changed stays changed"
    finally:
        service.close()


@pytest.mark.shared
def test_a_window_that_does_not_recur_may_last_for_decades(service):
    window = create(service, start="2020-01-01T00:00:00", end="2099-01-01T00:00:00")
    assert (window["active"], window["next_end"]) == (True, 4070908800)
    for page in ("/api/monitoring/status-page", "/api/monitoring/sla?days=730", "/api/maintenance"):
        service.vera.get(page)
    path = f"{BASE}/{window['id']}"
    answer = service.otto.put_json(path, {"recurring": "@daily"}, status=422)
    assert answer.json["fields"] == {"end": "must be at most a year after start, for it recurs"}
