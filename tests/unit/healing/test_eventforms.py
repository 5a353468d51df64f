"""Bodies of Alertmanager, of Grafana and of the service's own form."""

import pytest

from opsapp.healing.logic.eventforms import SentEvent, read

ALERTMANAGER = {
    "version": "4",
    "groupKey": '{}:{alertname="NginxDown"}',
    "truncatedAlerts": 0,
    "status": "firing",
    "receiver": "opsapp",
    "groupLabels": {"alertname": "NginxDown"},
    "commonLabels": {"alertname": "NginxDown"},
    "commonAnnotations": {},
    "externalURL": "http://alertmanager:9093",
    "alerts": [
        {
            "status": "firing",
            "labels": {"alertname": "NginxDown", "instance": "box-1:9100", "severity": "critical"},
            "annotations": {"summary": "nginx is down"},
            "startsAt": "2026-11-20T10:00:00.000Z",
            "endsAt": "0001-01-01T00:00:00Z",
            "generatorURL": "http://prometheus:9090/graph",
            "fingerprint": "c5c1ddb5f1ce3f34",
        }
    ],
}
GRAFANA = {
    "receiver": "opsapp",
    "status": "resolved",
    "orgId": 1,
    "version": "1",
    "title": "[RESOLVED] Disk",
    "state": "ok",
    "message": "",
    "alerts": [
        {
            "status": "resolved",
            "labels": {"alertname": "Disk", "host": "box-2"},
            "values": {"A": 91.5, "B": None},
            "valueString": "[ var='A' value=91.5 ]",
            "fingerprint": "e0f1",
            "silenceURL": "http://grafana/silence",
            "dashboardURL": "",
            "panelURL": "",
        },
        {"status": "firing", "labels": {"alertname": "Disk"}, "values": None},
    ],
}
OWN = {
    "id": "42",
    "status": "firing",
    "target": "box-1",
    "name": "Disk full",
    "severity": "warning",
    "labels": {"mount": "/data"},
    "values": {"percent": 97},
}


def test_alertmanager():
    [event] = read(ALERTMANAGER).events
    assert event == SentEvent(
        fingerprint="c5c1ddb5f1ce3f34",
        status="firing",
        name="NginxDown",
        severity="critical",
        target="",
        labels=ALERTMANAGER["alerts"][0]["labels"],
        values={},
    )


def test_grafana():
    resolved, firing = read(GRAFANA).events
    assert (resolved.status, resolved.fingerprint, resolved.values) == ("resolved", "e0f1", {"A": 91.5})
    assert len(firing.fingerprint) == 16, "one without a fingerprint gets one of its labels"
    again = read({"alerts": [{**GRAFANA["alerts"][1], "status": "resolved"}]}).events[0]
    assert again.fingerprint == firing.fingerprint


def test_the_own_form():
    [event] = read(OWN).events
    assert event == SentEvent("42", "firing", "Disk full", "warning", "box-1", {"mount": "/data"}, {"percent": 97.0})
    [least] = read({"id": "7", "status": "resolved", "name": "x", "severity": None}).events
    assert least == SentEvent("7", "resolved", "x", "", "", {}, {})


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ({}, {"id": "is required", "status": "must be firing or resolved", "name": "is required"}),
        ({**OWN, "hostname": "x"}, {"hostname": "is not known here"}),
        ({**OWN, "status": "ok"}, {"status": "must be firing or resolved"}),
        ({**OWN, "id": 42}, {"id": "must be a string of at most 1000 characters"}),
        ({**OWN, "name": "x" * 1001}, {"name": "must be a string of at most 1000 characters"}),
        ({**OWN, "labels": []}, {"labels": "must be an object of at most 64 labels"}),
        ({**OWN, "labels": {"a": 1}}, {"labels.a": "must be a string of at most 1000 characters"}),
        ({**OWN, "values": [1]}, {"values": "must be an object of at most 64 numbers"}),
        ({**OWN, "values": {"a": "1", "b": True}}, {"values.a": "must be a number", "values.b": "must be a number"}),
        ({"alerts": {}}, {"alerts": "must be a list of at most 1000 alerts"}),
        ({"alerts": [{}] * 1001}, {"alerts": "must be a list of at most 1000 alerts"}),
        ({"alerts": ["x"]}, {"alerts.0": "must be an object"}),
        (
            {"alerts": [GRAFANA["alerts"][0], {"status": "firing", "labels": None}]},
            {"alerts.1.name": "is required: the label alertname"},
        ),
        (
            {"alerts": [{"status": "firing", "labels": {"alertname": 7}}]},
            {
                "alerts.0.name": "must be a string of at most 1000 characters",
                "alerts.0.labels.alertname": "must be a string of at most 1000 characters",
            },
        ),
    ],
)
def test_what_is_wrong_is_named_and_nothing_counts(body, wrong):
    sent = read(body)
    assert (sent.events, sent.wrong) == ((), wrong)


def test_a_number_beyond_all_bounds_is_no_value():
    [event] = read({**OWN, "values": {"a": float("nan"), "b": float("inf"), "c": 10**400, "d": 1}}).events
    assert event.values == {"d": 1.0}
