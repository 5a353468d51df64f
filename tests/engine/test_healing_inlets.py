"""Events from elsewhere: what they lead to, and what counts as proof that it is over."""

import pytest

from opsapp.healing.engine import inlets
from opsapp.healing.logic import eventforms
from opsapp.healing.resources import healing_of

RULE = {
    "id": "told",
    "condition": 'event.name == "NginxDown" and event.labels.job == "web"',
    "action": {"type": "restart_service", "params": {"service": "nginx"}},
}
MEASURED = {**RULE, "condition": 'event.name == "NginxDown" and service.nginx.state == "failed"'}


@pytest.fixture
def alertmanager(ward):
    """A service with one inlet, and how to send it an alert."""

    def made(*rules, level="execute"):
        here = ward(*rules)
        here.at(level, "told")
        made = here.node.transact(inlets.create, "Alertmanager", {}, "ada", here.clock.now())
        here.token = made.token
        return here

    return made


def send(here, status="firing", instance="box-1:9100", fingerprint="a1b2", **labels):
    alert = {
        "status": status,
        "labels": {"alertname": "NginxDown", "instance": instance, "job": "web", **labels},
        "annotations": {},
        "startsAt": "2026-11-20T10:00:00Z",
        "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": "http://prometheus/graph",
        "fingerprint": fingerprint,
    }

    def take(root):
        sent = [eventforms.of_alert(alert).event]
        inlet_id = inlets.inlet_of(root, here.token).__name__
        return inlets.take_all(root, [inlets.SentEvents(inlet_id, sent, (), here.clock.now())])

    [taken] = here.node.transact(take)
    here.turn(0.5)
    return taken


def answer(here):
    """The host does what it is asked."""
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    here.hosts.finish("execute", handler="systemctl")
    here.turn(1).turn(6)


def outcomes(here):
    return [(entry["rule_id"], entry["target"], entry["outcome"]) for entry in here.ledger]


def test_an_event_is_healed_and_the_senders_word_that_it_is_over_is_the_evidence(alertmanager):
    here = alertmanager(RULE)
    assert send(here).firing == 1
    here.turn(5)
    assert here.hosts.phases() == ["snapshot"]
    answer(here)
    assert outcomes(here) == [("told", "box-1", None)], "nobody has said yet that it helped"
    send(here, "resolved")
    here.turn(1)
    assert outcomes(here) == [("told", "box-1", "verified")]
    assert here.ledger[0]["condition"] == f'({RULE["condition"]}) and event.status == "firing"'
    assert here.ledger[0]["metrics_before"] == {
        "event.name": "NginxDown",
        "event.labels.job": "web",
        "event.status": "firing",
    }


def test_the_senders_word_during_the_settle_time_is_evidence_once_that_is_over(alertmanager):
    """A sender says once that it is over, and not again."""
    here = alertmanager(RULE)
    send(here)
    here.turn(5)
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    here.hosts.finish("execute", handler="systemctl")
    here.turn(1)
    send(here, "resolved")
    here.turn(1)
    assert outcomes(here) == [("told", "box-1", None)]
    here.turn(5).turn(1)
    assert outcomes(here) == [("told", "box-1", "verified")]


def test_a_word_during_settling_that_it_still_fires_is_no_verdict(alertmanager):
    here = alertmanager(RULE)
    send(here)
    here.turn(5)
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    here.hosts.finish("execute", handler="systemctl")
    here.turn(1)
    send(here, severity="critical")  # the same event, with another label
    here.turn(6).turn(1)
    assert outcomes(here) == [("told", "box-1", None)]
    send(here, "resolved")
    here.turn(1)
    assert outcomes(here) == [("told", "box-1", "verified")]


def test_without_a_word_about_it_nothing_is_verified(alertmanager):
    here = alertmanager(RULE)
    send(here)
    here.turn(5)
    answer(here)
    here.pass_time(120, step=5)
    [(_, _, outcome)] = outcomes(here)
    assert outcome in ("failed", "inconclusive")


def test_what_was_measured_and_not_the_senders_word_verifies_where_a_measurement_is_named(alertmanager):
    here = alertmanager(MEASURED)
    here.report(service__nginx__state="failed")
    send(here)
    here.turn(5)
    answer(here)
    send(here, "resolved")
    assert outcomes(here) == [("told", "box-1/nginx", None)], "the host has not been measured since"
    here.clock.advance(1)
    here.report(service__nginx__state="active").turn(1)
    assert outcomes(here) == [("told", "box-1/nginx", "verified")]


def test_the_same_event_again_is_one_event(alertmanager):
    here = alertmanager(RULE, level="notify")
    assert send(here).repeated == 0
    here.turn(5)
    assert [send(here).repeated for _ in range(5)] == [1] * 5
    assert outcomes(here) == [("told", "box-1", "notified")]

    def stored(root):
        told = healing_of(root).told
        return [events.count() for events in told.by_inlet.values()], told.version

    assert here.node.transact(stored) == ([1], 1), "what says nothing new is not written"


def test_what_is_resolved_before_it_is_acted_on_is_left_alone(alertmanager):
    here = alertmanager(RULE)
    send(here)
    send(here, "resolved")
    here.turn(5)
    assert here.hosts.sent == []
    assert outcomes(here) == [("told", "box-1", "withdrawn")]


def test_an_event_about_nobody_that_is_known_leads_to_nothing(alertmanager):
    here = alertmanager(RULE)
    assert send(here, instance="elsewhere:9100").unknown_targets == 1
    here.turn(5)
    assert here.ledger == []


def test_an_event_that_fires_outlives_a_restart(alertmanager):
    here = alertmanager(RULE, level="observation")
    here.engine.look = lambda: False  # the process dies before it looks
    send(here)
    here.restart().turn().turn(5)
    assert outcomes(here) == [("told", "box-1", "observed")]


def test_events_of_a_deleted_inlet_and_of_yesterday_say_nothing(alertmanager):
    here = alertmanager(RULE, level="observation")
    send(here)
    assert here.engine.readings.events
    here.clock.advance(inlets.KEEP_S + 1)
    here.engine.look_after_inlets()
    here.turn(3)
    assert not here.engine.readings.events
    send(here, fingerprint="c3")
    here.node.transact(lambda root: inlets.remove(root, inlets.inlet_of(root, here.token)))
    here.turn(3)
    assert not here.engine.readings.events


def test_a_rule_may_be_about_the_end_of_an_event(alertmanager):
    here = alertmanager(
        {**RULE, "condition": 'event.name == "NginxDown" and event.status == "resolved"'}, level="notify"
    )
    send(here)
    here.turn(5)
    assert here.ledger == []
    here.clock.advance(10)
    send(here, "resolved")
    here.turn(5)
    assert outcomes(here) == [("told", "box-1", "notified")]


def test_of_many_events_only_what_has_changed_is_made_anew(alertmanager, monkeypatch):
    """It is read after each word that comes: what thousands of others say is not made again for each."""
    here = alertmanager(RULE)
    nobody_changes = here.hosts.inventory(None)
    monkeypatch.setattr(here.hosts, "inventory", lambda _root: nobody_changes)
    for number in range(5):
        send(here, fingerprint=f"event-{number}")
    here.turn(5)
    reader, made = here.engine.told_reader, here.engine.told_reader.made
    send(here, fingerprint="event-3", job="other")
    here.turn(5)
    assert reader.made == made + 1
    told = {event.values["labels.job"] for event in here.engine.readings.events["agent:a1"].values()}
    assert told == {"web", "other"}
