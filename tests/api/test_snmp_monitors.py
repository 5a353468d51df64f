"""Monitors of the type snmp: what fits together, and that nobody is ever shown a password."""

import json

import pytest

PATH = "/api/monitoring/endpoints"
OID = "1.3.6.1.2.1.1.3.0"
SWITCH = {"name": "Switch", "type": "snmp", "url": "snmp://switch.example", "snmp_oid": OID}
COMMUNITY = {"snmp_community": "zq7community"}
USER = {"snmp_version": "3", "snmp_user": "watcher", "snmp_auth": "sha256", "snmp_auth_password": "zq7authentic",
        "snmp_privacy": "aes", "snmp_privacy_password": "zq7private"}  # fmt: skip


def create(service, **settings):
    return service.otto.post_json(PATH, SWITCH | settings, status=201).json["id"]


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({}, {"snmp_community": "is required for version 2c"}),
        ({"snmp_oid": None, **COMMUNITY}, {"snmp_oid": "is required for this type"}),
        ({"snmp_version": "3"}, {"snmp_user": "is required for version 3"}),
        (USER | {"snmp_auth_password": "short"}, {"snmp_auth_password": "needs 8 characters or more"}),
        (USER | {"snmp_privacy_password": ""}, {"snmp_privacy_password": "needs 8 characters or more"}),
        (USER | {"snmp_auth": "none"}, {"snmp_auth": "is required with encryption"}),
        (COMMUNITY | {"url": "snmp://switch/x"}, {"url": "must be a host and a port alone, as in snmp://host:161"}),
        (COMMUNITY | {"url": "snmp://me@switch"}, {"url": "must be a host and a port alone, as in snmp://host:161"}),
        ({"snmp_community": "***"}, {"snmp_community": "*** stands for a secret that was not shown: write it in"}),
    ],
)
@pytest.mark.shared
def test_what_does_not_fit_together(service, settings, wrong):
    assert service.otto.post_json(PATH, SWITCH | settings, status=422).json["fields"] == wrong


@pytest.mark.parametrize("oid", ["1", "1.3.x", "3.6.1", "1.3.6.", "1.40.1", "1.3.4294967296", "sysUpTime.0", "1..3"])
@pytest.mark.shared
def test_an_oid_is_written_in_numbers(service, oid):
    assert "snmp_oid" in service.otto.post_json(PATH, SWITCH | COMMUNITY | {"snmp_oid": oid}, status=422).json["fields"]


@pytest.mark.shared
def test_agents_do_not_look_at_it(service):
    agent = service.ada.post_json("/api/agents", {"label": "web-1"}, status=201).json["agent_id"]
    refused = service.otto.post_json(PATH, SWITCH | COMMUNITY | {"probe_from": [agent]}, status=422)
    assert refused.json["fields"] == {"probe_from": "must be empty for the type snmp: the service alone looks at it"}


@pytest.mark.parametrize("settings", [COMMUNITY, USER])
def test_no_password_is_in_any_answer(service, settings):
    monitor_id = create(service, **settings)
    shown = [
        person.get(address).text
        for person in (service.ada, service.otto, service.vera)
        for address in (PATH, f"{PATH}/{monitor_id}")
    ]
    shown += [service.ada.get("/api/export").text, service.ada.get("/api/audit").text]
    assert not [text for text in shown if "zq7" in text]
    record = service.ada.get(f"{PATH}/{monitor_id}").json
    assert {record[name] for name in settings if "password" in name or "community" in name} == {"***"}


def test_a_record_that_is_sent_back_keeps_its_passwords(service):
    monitor_id = create(service, **USER)
    record = service.otto.get(f"{PATH}/{monitor_id}").json
    service.otto.put_json(f"{PATH}/{monitor_id}", record | {"name": "Core switch"}, status=200)
    exported = json.loads(service.ada.get("/api/export").text)["monitors"]
    assert exported[0]["name"] == "Core switch"
    service.otto.put_json(f"{PATH}/{monitor_id}", {"snmp_privacy": "none", "snmp_privacy_password": ""}, status=200)
    settings = service.transact(stored_settings, monitor_id)
    assert (settings["snmp_auth_password"], settings["snmp_privacy_password"]) == ("zq7authentic", "")


def test_what_is_taken_away_is_not_stored_any_more(service):
    monitor_id = create(service, **USER)
    gone = ("snmp_privacy", "snmp_privacy_password")
    service.otto.put_json(f"{PATH}/{monitor_id}", dict.fromkeys(gone), status=200)
    assert not set(gone) & service.transact(stored_settings, monitor_id).keys()
    assert not set(gone) & service.otto.get(f"{PATH}/{monitor_id}").json.keys()


@pytest.mark.shared
def test_a_monitor_of_another_type_has_none_of_it(service):
    other = service.otto.post_json(PATH, {"name": "Job", "type": "push"}).json["id"]
    service.otto.put_json(f"{PATH}/{other}", {"interval": 90}, status=200)
    shown = service.otto.get(f"{PATH}/{other}").json
    assert [name for name in shown if name.startswith("snmp_")] == ["snmp_oid"]
    assert [name for name in service.transact(stored_settings, other) if name.startswith("snmp_")] == ["snmp_oid"]


def stored_settings(root, monitor_id):
    return dict(root["api"]["monitoring"]["endpoints"][monitor_id].settings)


def test_a_secret_of_the_service_is_filled_in_where_it_is_applied(service):
    service.ada.post_json("/api/secrets", {"name": "community", "value": "zq7kept"}, status=201)
    document = {"monitors": [SWITCH | {"snmp_community": "{{secret:community}}"}]}
    service.ada.post_json("/api/apply", {"document": document}, status=200)
    (monitor,) = service.ada.get(PATH).json
    assert service.transact(stored_settings, monitor["id"])["snmp_community"] == "zq7kept"
    assert monitor["snmp_community"] == "***"
    (exported,) = service.ada.get("/api/export").json["monitors"]
    assert exported["snmp_community"] == "{{secret:community}}"
