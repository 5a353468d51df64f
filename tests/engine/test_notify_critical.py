"""A critical message never waits for a less severe one: not in its group, not in its channel's queue, not behind it."""

import pytest
import yaml

from opsapp.notify.engine.workers import sender_of
from tests.engine.test_notify import Office
from tests.support.app import Service
from tests.support.receiver import Receiver
from tests.support.waiting import until


@pytest.fixture
def office(service, receiver):
    office = Office(service, receiver)
    office.channel()
    return office


def heal(office, kind, severity, title, **more):
    office.tell("heal:web", kind=f"heal.{kind}", severity=severity, title=title, **more)


def test_a_critical_end_does_not_wait_out_the_minute_of_a_warning(office):
    heal(office, "executing", "warning", "web: a restart runs")
    office.after(5)
    office.after(10)
    heal(office, "notified", "critical", "web: it failed")
    office.after(5)
    assert office.receiver.titles == ["[warning] web: a restart runs", "[critical] web: it failed"]


def test_nor_behind_a_warning_that_waits_for_that_minute(office):
    heal(office, "executing", "warning", "web: a restart runs")
    office.after(5)
    heal(office, "approval", "warning", "web: may I?")
    office.after(10)
    heal(office, "notified", "critical", "web: it failed")
    office.after(5)
    assert office.receiver.titles[1:] == ["[critical] web: it failed"]
    office.after(100)
    assert len(office.receiver.titles) == 2


@pytest.mark.parametrize("warnings", [3, 12], ids=["a few", "more than a burst"])
def test_of_what_is_due_the_critical_goes_first_and_by_itself(office, warnings):
    for n in range(warnings):
        office.tell(f"a:{n}", severity="warning", title=f"W{n}")
    office.tell("b:1", title="Shop is down")
    office.after(5)
    assert office.receiver.titles[0] == "[critical] Shop is down"
    rest = [f"[warning] W{n}" for n in range(3)] if warnings == 3 else ["12 messages, the worst warning"]
    assert office.receiver.titles[1:] == rest


def test_a_channel_that_rests_after_a_warning_takes_what_is_critical_at_once(office):
    office.receiver.status = 500
    office.tell("a:1", severity="warning", title="W")
    office.after(5)
    office.after(5)
    office.after(10)
    assert office.receiver.asked == 3, "it rests for 20 s by now"
    office.receiver.status = 200
    office.tell("b:1", title="Shop is down")
    office.after(5)
    assert office.receiver.titles == ["[critical] Shop is down"]
    office.after(15)
    assert office.receiver.titles[1:] == ["[warning] W"]


def test_a_critical_message_that_fails_has_the_channel_rest_for_all(office):
    office.receiver.status = 500
    office.tell("a:1", severity="warning", title="W")
    office.after(5)
    office.tell("b:1", title="One")
    office.after(5)
    asked = office.receiver.asked
    office.tell("b:2", title="Two")
    office.after(4.9)
    assert office.receiver.asked == asked


def test_the_beginning_of_a_story_goes_with_its_critical_end(office):
    """The warning has failed and waits; what follows of the same thing takes it along."""
    office.receiver.status = 500
    heal(office, "executing", "warning", "web: a restart runs")
    office.after(5)
    office.receiver.status = 200
    heal(office, "notified", "critical", "web: it failed")
    office.after(4)
    office.after(1)
    (message,) = office.receiver.messages
    text = message["message"]
    assert text.index("a restart runs") < text.index("it failed")


def test_what_is_critical_flies_beside_a_warning_that_hangs(tmp_path, monkeypatch):
    monkeypatch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
    path = tmp_path / "opsapp.yaml"
    path.write_text(yaml.safe_dump({"notifications": {"timeout_s": 1, "max_sending": 1}}))
    service = Service(tmp_path, **{"opsapp.config": str(path)})
    hanging = Receiver()
    hanging.open.clear()
    try:
        office = Office(service, hanging)
        office.channel()
        office.tell("a:1", severity="warning", title="W")
        office.after(5)
        until(lambda: hanging.asked == 1, what="the warning being handed over")
        office.tell("b:1", title="Shop is down")
        office.after(5)
        until(lambda: hanging.asked == 2, what="the critical message being handed over too")
        office.tell("b:2", title="Blog is down")
        office.tell("a:2", severity="warning", title="V")
        office.after(5)
        assert hanging.asked == 2, "no further thread hangs"
        hanging.open.set()
        until(lambda: not sender_of(office.node).flying, what="both threads coming to their end")
        assert sorted(hanging.titles) == ["[critical] Shop is down", "[warning] W"]
    finally:
        hanging.close()
        service.close()
