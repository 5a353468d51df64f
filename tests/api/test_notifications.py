"""/api/notifications: channels whose URLs are never shown, tests, the log."""

import logging
from pathlib import Path

import pytest
import yaml

from opsapp.notify.engine import routes, tell
from opsapp.notify.engine.dispatch import begin_test
from opsapp.notify.engine.workers import sender_of
from opsapp.notify.resources import channels_of
from tests.support.app import Service

CHANNELS = "/api/notifications/channels"
SECRET = "json://user:hidden-pass@127.0.0.1:9/hidden-token?+X-Key=hidden-header"
BODY = {"name": "on-call", "url": SECRET}


def create(service, **more):
    return service.ada.post_json(CHANNELS, BODY | more, status=201).json


def test_a_channel_lives(service):
    made = create(service, severities=["critical"], tags=["db"], digest_s=60)
    assert made == service.ada.get(f"{CHANNELS}/{made['id']}").json
    assert (made["service"], made["source"], made["enabled"], made["quiet_hours"]) == ("json", "api", True, None)
    answer = service.ada.get(CHANNELS)
    assert (answer.json, answer.headers["X-Total-Count"]) == ([made], "1")
    assert service.ada.put_json(f"{CHANNELS}/{made['id']}", {"tags": []}).json["status"] == "updated"
    assert service.ada.get(f"{CHANNELS}/{made['id']}").json == made | {"tags": []}
    assert service.ada.delete(f"{CHANNELS}/{made['id']}").json == {"status": "deleted"}
    service.ada.get(f"{CHANNELS}/{made['id']}", status=404)


def test_what_was_read_can_be_sent_back(service):
    made = create(service, quiet_hours={"start": "22:00", "end": "07:00"})
    assert made["quiet_hours"]["severities"] == ["info", "warning"]
    service.ada.put_json(f"{CHANNELS}/{made['id']}", made | {"name": "night"})
    assert service.ada.get(f"{CHANNELS}/{made['id']}").json == made | {"name": "night"}
    service.ada.put_json(f"{CHANNELS}/{made['id']}", {"quiet_hours": None})
    assert service.ada.get(f"{CHANNELS}/{made['id']}").json["quiet_hours"] is None


def test_a_channel_is_made_of_the_fields_of_its_type(service, receiver):
    types = {kind["name"]: kind for kind in service.ada.get("/api/notifications/types").json}
    assert [field["name"] for field in types["webhook"]["fields"]] == ["address", "authorization"]
    address = {"address": receiver.url().replace("json", "http") + "?a=1", "authorization": "Bearer abc"}
    made = service.ada.post_json(CHANNELS, {"name": "hook", "type": "webhook", "address": address}, status=201).json
    assert (made["service"], made["type"]) == ("json", "webhook")
    service.ada.post(f"{CHANNELS}/{made['id']}/test")
    assert (receiver.paths, receiver.headers["Authorization"]) == (["/hooks/s3cr3t-token?a=1"], "Bearer abc")
    changed = {"type": "ntfy", "address": {"topic": "ops"}}
    service.ada.put_json(f"{CHANNELS}/{made['id']}", changed)
    assert service.ada.get(f"{CHANNELS}/{made['id']}").json["type"] == "ntfy"


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ({}, {"url"}),
        ({"type": "mail"}, {"address"}),
        ({"address": {}}, {"type"}),
        ({"type": "fax", "address": {}}, {"type"}),
        ({"type": "ntfy", "address": {"topic": "x"}, "url": "json://localhost"}, {"address"}),
        ({"type": "mail", "address": {"port": "0", "more": "x"}},
         {"address.host", "address.port", "address.from", "address.to", "address.more"}),
        ({"type": "webhook", "address": {"address": "ftp://x"}}, {"address.address"}),
        ({"type": "telegram", "address": {"token": "x", "chat": "1"}}, {"address"}),
    ],
)  # fmt: skip
@pytest.mark.shared
def test_what_is_wrong_with_the_fields_of_a_type_is_said_by_field(service, body, wrong):
    answer = service.ada.post_json(CHANNELS, {"name": "wrong", **body}, status=422)
    assert answer.json["fields"].keys() == wrong
    assert service.ada.get(CHANNELS).json == []


@pytest.fixture
def written():
    """What a handler of the root logger is given: that is where the service's log is written."""
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logging.getLogger().addHandler(handler)
    yield lines
    logging.getLogger().removeHandler(handler)


def test_the_url_is_nowhere(service, written):
    made = create(service)
    service.ada.put_json(f"{CHANNELS}/{made['id']}", {"url": SECRET + "2"})
    service.ada.post(f"{CHANNELS}/{made['id']}/test", status=502)
    service.ada.post_json(CHANNELS, BODY | {"name": "other", "url": "nothing://hidden-token"}, status=422)
    told = [
        service.ada.get(path).text
        for path in (CHANNELS, "/api/notifications/deliveries", "/api/audit", "/api/export", f"{CHANNELS}/{made['id']}")
    ]
    assert "hidden" not in "".join([*told, *written])
    assert b"hidden-" not in Path(service.node.store.db.storage.getName()).read_bytes()


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"url": "nosuch://example.org"}, "url"),
        ({"url": "json://"}, "url"),
        ({"url": 7}, "url"),
        ({"url": None}, "url"),
        ({"name": ""}, "name"),
        ({"severities": []}, "severities"),
        ({"severities": ["error"]}, "severities"),
        ({"severities": ["info", "info"]}, "severities"),
        ({"tags": ["a b"]}, "tags"),
        ({"enabled": "yes"}, "enabled"),
        ({"digest_s": -1}, "digest_s"),
        ({"quiet_hours": {}}, "quiet_hours.start"),
        ({"quiet_hours": {"start": "24:00", "end": "07:00"}}, "quiet_hours.start"),
        ({"quiet_hours": {"start": "22:00", "end": "07:00", "timezone": "Mars/One"}}, "quiet_hours.timezone"),
        ({"quiet_hours": {"start": "22:00", "end": "07:00", "days": ["day"]}}, "quiet_hours.days"),
        ({"colour": "red"}, "colour"),
    ],
)
@pytest.mark.shared
def test_wrong_values_are_named(service, wrong, field):
    answer = service.ada.post_json(CHANNELS, BODY | wrong, status=422).json
    assert field in answer["fields"]
    assert "hidden" not in str(answer)


def test_the_store_has_what_a_version_before_reads(service, receiver):
    quiet = {"start": "22:00", "end": "06:00"}
    given = {"name": "ops", "url": receiver.url("secret"), "tags": ["db"], "quiet_hours": quiet}
    made = service.ada.post_json(CHANNELS, given).json
    assert service.read(lambda root: channels_of(root)[made["id"]].fields) == {
        "name": "ops", "enabled": True, "severities": ["info", "warning", "critical"], "tags": ["db"], "digest_s": 0,
        "answers_as": "",
        "quiet_hours": {
            **quiet, "timezone": None, "days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"],
            "severities": ["info", "warning"],
        },
    }  # fmt: skip


def test_names_are_taken_once(service):
    create(service)
    assert service.ada.post_json(CHANNELS, BODY, status=409).json["code"] == "name_taken"
    other = create(service, name="other")
    service.ada.put_json(f"{CHANNELS}/{other['id']}", {"name": "on-call"}, status=409)


def test_lists_are_paged(service):
    for n in range(3):
        create(service, name=f"c{n}")
    answer = service.ada.get(f"{CHANNELS}?limit=1&offset=1")
    assert ([one["name"] for one in answer.json], answer.headers["X-Total-Count"]) == (["c1"], "3")


def test_the_test_button_sends_at_once_whatever_the_hours(service, receiver):
    whole_day = {"start": "00:00", "end": "00:00", "severities": ["info", "warning", "critical"]}
    made = create(service, url=receiver.url(), enabled=False, quiet_hours=whole_day)
    answer = service.ada.post(f"{CHANNELS}/{made['id']}/test").json
    assert answer["status"] == "sent"
    assert receiver.titles == ["Test message from opsapp"]
    (entry,) = service.ada.get("/api/notifications/deliveries").json
    assert (entry["id"], entry["kind"], entry["status"]) == (answer["delivery_id"], "test", "sent")
    assert service.ada.get(f"/api/notifications/deliveries/{entry['id']}").json == entry
    assert service.ada.get(f"{CHANNELS}/{made['id']}").json["last_sent_at"] == int(service.clock.now())


def test_a_test_that_fails_says_so_and_is_not_tried_again(service, receiver):
    receiver.status = 500
    made = create(service, url=receiver.url())
    answer = service.ada.post(f"{CHANNELS}/{made['id']}/test", status=502).json
    assert answer["code"] == "not_delivered"
    (entry,) = service.ada.get("/api/notifications/deliveries?status=failed").json
    assert entry["error"]
    assert (answer["reason"], answer["delivery_id"]) == (entry["error"], entry["id"])
    assert "error of its own (HTTP 500)" in answer["error"]
    service.clock.advance(3600)
    service.node.leases.want("notify")
    service.node.leases.step()
    sender_of(service.node).step()
    assert receiver.asked == 1


def test_the_log_is_filtered_and_paged(service, receiver):
    made = create(service, url=receiver.url())
    create(service, name="off", enabled=False)
    service.node.leases.want("notify")
    service.node.leases.step()
    for n in range(3):
        service.transact(
            lambda root, n=n: tell(
                root, service.clock.now(), key=f"k{n}", kind="test.told", severity="info", title=f"T{n}", text=""
            )
        )
    service.clock.advance(5)
    while routes.step(service.node) or sender_of(service.node).step():
        pass
    log = "/api/notifications/deliveries"
    answer = service.ada.get(f"{log}?limit=2&offset=1")
    assert (len(answer.json), answer.headers["X-Total-Count"]) == (2, "3")
    assert service.ada.get(f"{log}?channel_id={made['id']}").headers["X-Total-Count"] == "3"
    assert service.ada.get(f"{log}?status=failed").json == []
    assert [row["messages"][0]["title"] for row in service.ada.get(f"{log}?status=sent").json] == ["T2", "T1", "T0"]
    assert receiver.titles == ["T0", "T1", "T2"]
    service.transact(lambda root: begin_test(root, channels_of(root)[made["id"]], "ada", service.clock.now()))
    assert [row["kind"] for row in service.ada.get(f"{log}?status=sending").json] == ["test"]
    receiver.status = 500
    service.transact(
        lambda root: tell(root, service.clock.now(), key="k", kind="test.told", severity="info", title="waits", text="")
    )
    service.clock.advance(5)
    while routes.step(service.node) or sender_of(service.node).step():
        pass
    (waits,) = service.ada.get(f"{log}?status=queued").json
    assert waits["messages"][0]["title"] == "waits"
    assert service.ada.get(f"{log}?status=queued&channel_id=other").headers["X-Total-Count"] == "0"
    service.ada.get(f"{log}?status=lost", status=422)
    assert 'opsapp_notifications_total{outcome="sent"} 3.0' in service.ada.get("/metrics").text


def test_channels_as_code_hide_and_keep_their_urls(service):
    def apply(document, status=200):
        return service.ada.post_json("/api/apply", {"document": document}, status=status).json

    assert [one["change"] for one in apply({"channels": [BODY]})["changes"]] == ["create"]
    exported = service.ada.get("/api/export").json["channels"]
    assert exported[0]["url"] == "***"
    assert apply({"channels": exported})["unchanged"] == 1
    (change,) = apply({"channels": [BODY | {"url": SECRET + "2"}]})["changes"]
    assert (change["change"], change["secrets"], change["after"]) == ("update", True, {})
    assert "channels.0.url" in apply({"channels": [{"name": "new", "url": "***"}]}, 422)["fields"]
    assert "channels.0.url" in apply({"channels": [{"name": "new", "url": "nosuch://x"}]}, 422)["fields"]
    done = service.ada.post_json("/api/apply", {"document": {"channels": []}, "prune": True}).json
    assert [one["change"] for one in done["changes"]] == ["delete"]


def test_the_yaml_declares_channels(tmp_path, monkeypatch):
    monkeypatch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
    path = tmp_path / "opsapp.yaml"

    def write(*channels):
        path.write_text(yaml.safe_dump({"notifications": {"channels": list(channels)}}))

    def names():
        return [one["name"] for one in service.ada.get(CHANNELS).json]

    write(BODY, BODY | {"name": "second", "severities": ["critical"]})
    service = Service(tmp_path, **{"opsapp.config": str(path)})
    try:
        reload = service.app.registry["opsapp.reload"]
        first, second = service.ada.get(CHANNELS).json
        assert (first["source"], second["severities"]) == ("yaml", ["critical"])
        write(BODY | {"tags": ["db"]})
        assert reload()
        (one,) = service.ada.get(CHANNELS).json
        assert (one["id"], one["tags"]) == (first["id"], ["db"])
        service.ada.put_json(f"{CHANNELS}/{one['id']}", {"tags": ["web"]})
        assert reload()
        assert service.ada.get(f"{CHANNELS}/{one['id']}").json["tags"] == ["web"]
        write(BODY | {"url": "nosuch://hidden"})
        assert reload(), "the one that the API has changed is its own now"
        write(BODY | {"name": "bad", "url": "nosuch://hidden"})
        assert not reload()
        assert names() == ["on-call"]
    finally:
        service.close()


def test_a_wrong_url_is_told_with_the_rest(service):
    wrong = {"name": "", "url": "nothing://hidden-token", "digest_s": -1}
    assert set(service.ada.post_json(CHANNELS, wrong, status=422).json["fields"]) == set(wrong)
    made = service.ada.post_json(CHANNELS, BODY).json["id"]
    assert set(service.ada.put_json(f"{CHANNELS}/{made}", wrong, status=422).json["fields"]) == set(wrong)
