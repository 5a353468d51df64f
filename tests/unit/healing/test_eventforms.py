"""Bodies of Alertmanager, of Grafana and of the service's own form."""

import pytest

from opsapp.healing.logic.eventforms import SentEvent, is_older, moment, of_alert, of_own

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
    [event] = [of_alert(alert).event for alert in ALERTMANAGER["alerts"]]
    assert event == SentEvent(
        fingerprint="c5c1ddb5f1ce3f34",
        status="firing",
        name="NginxDown",
        severity="critical",
        target="",
        labels=ALERTMANAGER["alerts"][0]["labels"],
        values={},
        summary="nginx is down",
        links=("http://prometheus:9090/graph",),
        starts_at=1795168800.0,
    )


def test_grafana():
    resolved, firing = [of_alert(alert).event for alert in GRAFANA["alerts"]]
    assert (resolved.status, resolved.fingerprint, resolved.values) == ("resolved", "e0f1", {"A": 91.5})
    assert len(firing.fingerprint) == 16, "one without a fingerprint gets one of its labels"
    again = of_alert({**GRAFANA["alerts"][1], "status": "resolved"}).event
    assert again.fingerprint == firing.fingerprint


def test_the_own_form():
    event = of_own(OWN).event
    assert event == SentEvent("42", "firing", "Disk full", "warning", "box-1", {"mount": "/data"}, {"percent": 97.0})
    least = of_own({"id": "7", "status": "resolved", "name": "x", "severity": None}).event
    assert least == SentEvent("7", "resolved", "x", "", "", {}, {})


@pytest.mark.parametrize(
    ("form", "sent", "why"),
    [
        (of_own, {}, "status must be firing or resolved; id is required; name is required"),
        (of_own, {**OWN, "hostname": "x"}, "hostname is not known here"),
        (of_own, {**OWN, "status": "ok"}, "status must be firing or resolved"),
        (of_own, {**OWN, "id": 42}, "id must be a string of at most 1000 characters"),
        (of_own, {**OWN, "name": "x" * 1001}, "name must be a string of at most 1000 characters"),
        (of_own, {**OWN, "labels": []}, "labels must be an object of at most 64 labels"),
        (of_own, {**OWN, "labels": {"a": 1}}, "labels.a must be a string of at most 1000 characters"),
        (of_own, {**OWN, "values": [1]}, "values must be an object of at most 64 numbers"),
        (of_own, {**OWN, "values": {"a": "1", "b": True}}, "values.a must be a number; values.b must be a number"),
        (of_own, [OWN], "must be an object"),
        (of_alert, "x", "must be an object"),
        (of_alert, {"status": "firing", "labels": None}, "name is required: the label alertname"),
        (
            of_alert,
            {"status": "firing", "labels": {"alertname": 7}},
            "name must be a string of at most 1000 characters; "
            "labels.alertname must be a string of at most 1000 characters",
        ),
    ],
)
def test_what_is_wrong_is_named(form, sent, why):
    assert form(sent) == (None, why)


def test_of_many_mistakes_the_first_are_named():
    _, why = of_own({**OWN, **{f"more{number}": number for number in range(12)}})
    assert why.startswith("more0 is not known here; more1")
    assert why.endswith("; and 2 more")


def test_a_number_beyond_all_bounds_is_no_value():
    event = of_own({**OWN, "values": {"a": float("nan"), "b": float("inf"), "c": 10**400, "d": 1}}).event
    assert event.values == {"d": 1.0}


@pytest.mark.parametrize(
    ("given", "at"),
    [
        ("2026-11-20T10:00:00.123456789Z", 1795168800.123456),
        ("2026-11-20T12:00:00+02:00", 1795168800.0),
        ("2026-11-20T10:00:00", 1795168800.0),
        (1795168800, 1795168800.0),
        ("0001-01-01T00:00:00Z", None),
        ("yesterday", None),
        (True, None),
        (-1, None),
        (float("nan"), None),
        (10**400, None),
        ([], None),
    ],
)
def test_moments(given, at):
    assert moment(given) == at


FIRES = SentEvent("a", "firing", "x", "", "", {}, {}, starts_at=100.0)
OVER = FIRES._replace(status="resolved", ends_at=200.0)


@pytest.mark.parametrize(
    ("sent", "known", "told_s", "older"),
    [
        (FIRES, OVER, 10, True),
        (FIRES, OVER, 300, False),
        (FIRES._replace(starts_at=199.0), OVER, 10, True),
        (FIRES._replace(starts_at=200.0), OVER, 10, False),
        (FIRES._replace(starts_at=None), OVER, 10, False),
        (FIRES, OVER._replace(ends_at=None), 10, True),
        (FIRES, OVER._replace(starts_at=None, ends_at=None), 10, False),
        (FIRES, FIRES._replace(starts_at=101.0), 10, True),
        (FIRES, FIRES, 10, False),
        (OVER, FIRES, 10, False),
        (OVER, FIRES._replace(starts_at=300.0), 9999, True),
        (OVER._replace(ends_at=None), FIRES._replace(starts_at=300.0), 10, False),
        (OVER, OVER._replace(ends_at=201.0), 10, True),
        (OVER, OVER._replace(ends_at=None), 10, False),
    ],
)
def test_which_of_two_words_is_older(sent, known, told_s, older):
    assert is_older(sent, known, told_s) is older


def test_what_is_for_people_is_no_reason_to_refuse_an_alert():
    alert = {
        **GRAFANA["alerts"][0],
        "annotations": {"summary": 7, "description": "x" * 9000},
        "startsAt": [],
        "panelURL": 1,
    }
    event = of_alert(alert).event
    assert (event.summary, len(event.description), event.links, event.starts_at) == ("", 4000, (), None)
