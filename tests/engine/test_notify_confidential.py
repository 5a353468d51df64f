"""A secret in a message: sent as it is, and to be read nowhere else; and what happens without the master key."""

import pytest

from opsapp.automations.engine.carrier import take_up
from opsapp.runtime.secrets import sealedstore
from opsapp.runtime.secrets.seals import REGISTRY_KEY, Seal

from .test_notify import Office

SECRET = "open sesame & shut"


@pytest.fixture
def office(service, receiver):
    return Office(service, receiver)


def asked(office, **params):
    """The run of an automation that tells a secret."""
    service = office.service
    service.ada.post_json("/api/secrets", {"name": "deploy", "value": SECRET})
    params = {"title": "it is {{secret:deploy}}", "message": "say {{secret:deploy}} twice"} | params
    body = {"name": "x", "type": "notification", "params": {"title": "so", "message": "so"}}
    made = service.ada.post_json("/api/automations", body).json["id"]
    service.ada.post_json("/api/secrets/deploy/allow", {"automation_id": made})
    service.ada.put_json(f"/api/automations/{made}", {"params": params})
    return service.otto.post_json(f"/api/automations/{made}/run").json["run_id"]


def told(office, **params):
    run_id = asked(office, **params)
    while office.service.transact(take_up, "box:test", frozenset(), 0)[1]:
        pass
    return office.service.otto.get(f"/api/automations/runs/{run_id}").json


def test_it_arrives_and_is_stored_and_shown_nowhere(office, tmp_path):
    office.channel()
    assert told(office)["output"] == "it is [secret]\nsay [secret] twice\n"
    office.after(5)
    assert office.receiver.titles == [f"it is {SECRET}"]
    assert office.receiver.messages[0]["message"].startswith(f"say {SECRET} twice\n")
    assert "With it" not in office.receiver.messages[0]["message"]
    (entry,) = office.log()
    assert (entry["messages"][0]["title"], entry["messages"][0]["text"]) == ("it is [secret]", "say [secret] twice")
    assert SECRET.encode() not in (tmp_path / "main.fs").read_bytes()


def test_where_a_long_text_is_cut_no_piece_of_it_comes_into_sight(office):
    office.channel()
    told(office, message="y" * 3990 + "{{secret:deploy}}")
    office.after(5)
    assert office.receiver.messages[0]["message"].startswith("y" * 3990 + SECRET[:9] + "…")
    assert office.log()[0]["messages"][0]["text"] == "y" * 3990 + "[secret]"


@pytest.mark.parametrize("place", ["inbox", "group", "message"])
def test_a_new_master_key_finds_it_wherever_it_is(office, place):
    office.channel()
    told(office)
    if place != "inbox":
        office.work()
    if place == "message":
        office.receiver.status = 500
        office.after(5)
    sealedstore.rekey(office.node)
    office.receiver.status = 200
    office.after(30)
    assert office.receiver.titles == [f"it is {SECRET}"]


def test_what_went_wrong_does_not_tell_it(office, monkeypatch):
    def refuses(*_, **__):
        raise OSError("refused: it is open%20sesame%20%26%20shut, " + SECRET)

    office.channel()
    told(office)
    monkeypatch.setattr("apprise.plugins.custom_json.NotifyJSON.send", refuses)
    office.after(5)
    assert office.log()[0]["error"].startswith("OSError: refused: it is [secret], [secret]")


def test_without_the_master_key_messages_wait_and_the_service_goes_on(office):
    office.channel()
    told(office)
    held, office.node.registry[REGISTRY_KEY] = office.node.registry[REGISTRY_KEY], Seal([])
    office.after(5)
    (entry,) = office.log()
    assert (entry["status"], entry["attempts"]) == ("queued", 1)
    assert "master key" in entry["error"]
    office.node.registry[REGISTRY_KEY] = held
    office.after(30)
    assert office.receiver.titles == [f"it is {SECRET}"]


def test_without_the_master_key_a_run_that_needs_a_secret_fails_and_others_go_on(office):
    run_id, other = asked(office), None
    body = {"name": "plain", "type": "notification", "params": {"title": "x"}}
    made = office.service.otto.post_json("/api/automations", body).json["id"]
    other = office.service.otto.post_json(f"/api/automations/{made}/run").json["run_id"]
    office.node.registry[REGISTRY_KEY] = Seal([])
    while office.service.transact(take_up, "box:test", frozenset(), 0)[1]:
        pass
    found = [office.service.otto.get(f"/api/automations/runs/{each}").json for each in (run_id, other)]
    assert [each["status"] for each in found] == ["failed", "done"]
    assert "master key" in found[0]["reason"]
