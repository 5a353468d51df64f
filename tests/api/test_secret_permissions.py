"""Secrets are for the automations that an admin has allowed, as an admin has seen them."""

import pytest

from tests.api.test_automations import create, run_of, take

pytestmark = pytest.mark.attack

ECHO = {"script": "echo {{secret:deploy}}"}


@pytest.fixture
def secret(service):
    service.ada.post_json("/api/secrets", {"name": "deploy", "value": "open sesame"})
    return "/api/secrets/deploy"


def allow(service, secret, automation):
    return service.ada.post_json(f"{secret}/allow", {"automation_id": automation}).json


def reason_of_a_run(service, automation):
    run_id = service.otto.post(f"/api/automations/{automation}/run").json["run_id"]
    take(service)
    return run_of(service.vera, run_id)["reason"]


def test_a_secret_is_written_into_no_automation_but_those_that_are_allowed(service, secret):
    for client in (service.otto, service.ada):
        body = {"name": "One", "type": "script", "params": ECHO}
        assert "not allowed" in client.post_json("/api/automations", body, status=422).json["fields"]["params"]
    made = create(service.otto)
    path = f"/api/automations/{made}"
    service.ada.put_json(path, {"params": ECHO}, status=422)
    assert allow(service, secret, made) == {"allowed_for": [made], "lapsed": []}
    service.ada.put_json(path, {"params": ECHO})
    assert service.ada.get(secret).json["allowed_for"] == [made]
    other = create(service.otto, name="Other")
    service.otto.put_json(f"/api/automations/{other}", {"params": ECHO}, status=422)


def test_an_operator_who_edits_an_allowed_automation_waits_for_an_admin(service, secret):
    made = create(service.otto)
    allow(service, secret, made)
    service.otto.put_json(f"/api/automations/{made}", {"params": {"script": "echo {{secret:deploy}} | rev"}})
    assert service.ada.get(secret).json | {"id": 0} == service.ada.get(secret).json | {
        "id": 0, "allowed_for": [], "lapsed": [made],
    }  # fmt: skip
    assert reason_of_a_run(service, made) == "the secret deploy is not allowed for this automation"
    service.otto.put_json(f"/api/automations/{made}", {"params": ECHO})
    assert allow(service, secret, made) == {"allowed_for": [made], "lapsed": []}
    assert reason_of_a_run(service, made) is None


def test_what_a_get_shows_can_be_put_back_and_changes_nothing(service, secret):
    made = create(service.otto)
    allow(service, secret, made)
    service.ada.put_json(f"/api/automations/{made}", {"params": ECHO})
    before = service.ada.get(secret).json
    service.clock.advance(1)
    service.ada.put_json(secret, before)
    service.ada.put_json(secret, {})
    assert service.ada.get(secret).json == before
    assert service.ada.put_json(secret, {"worth": "x"}, status=422).json["fields"] == {"worth": "is not known here"}
    assert reason_of_a_run(service, made) is None


def test_an_admins_edit_leaves_the_permission(service, secret):
    made = create(service.otto)
    allow(service, secret, made)
    service.ada.put_json(f"/api/automations/{made}", {"params": ECHO})
    service.otto.put_json(f"/api/automations/{made}", {"params": ECHO})  # changes nothing
    assert service.ada.get(secret).json["allowed_for"] == [made]


def test_a_permission_is_taken_back(service, secret):
    made = create(service.otto)
    allow(service, secret, made)
    service.ada.put_json(f"/api/automations/{made}", {"params": ECHO})
    answer = service.ada.delete_json(f"{secret}/allow", {"automation_id": made}).json
    assert answer == {"allowed_for": [], "lapsed": []}
    assert "not allowed" in reason_of_a_run(service, made)
    service.otto.put_json(f"/api/automations/{made}", {"enabled": False})  # what else it is may be changed
    service.ada.delete(secret)
    service.otto.put_json(f"/api/automations/{made}", {"enabled": True})
    again = {"params": {"script": "echo {{secret:deploy}} again"}}
    service.otto.put_json(f"/api/automations/{made}", again, status=422)


def test_who_may_allow(service, secret):
    made = create(service.otto)
    service.otto.post_json(f"{secret}/allow", {"automation_id": made}, status=403)
    wrong = service.ada.post_json(f"{secret}/allow", {"automation_id": "gone"}, status=422).json
    assert set(wrong["fields"]) == {"automation_id"}
    assert set(service.ada.post_json(f"{secret}/allow", {}, status=422).json["fields"]) == {"automation_id"}
    service.ada.post_json("/api/secrets/nothing/allow", {"automation_id": made}, status=404)
    actions = [each["action"] for each in service.ada.get("/api/audit?action=secret.allow").json]
    assert actions


def test_a_new_secret_may_be_allowed_at_once(service):
    made = create(service.otto)
    body = {"name": "deploy", "value": "open sesame", "allowed_for": [made]}
    service.ada.post_json("/api/secrets", body)
    assert service.ada.get("/api/secrets/deploy").json["allowed_for"] == [made]
    unknown = {"name": "other", "value": "open sesame", "allowed_for": ["gone"]}
    assert set(service.ada.post_json("/api/secrets", unknown, status=422).json["fields"]) == {"allowed_for"}


def test_a_deleted_automation_leaves_no_permission(service, secret):
    made = create(service.otto)
    allow(service, secret, made)
    service.otto.delete(f"/api/automations/{made}")
    assert service.ada.get(secret).json["allowed_for"] == []
