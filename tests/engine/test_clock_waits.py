"""The clock is set while something waits: it is not given up, and nothing is called over, before it would have been."""

import pytest

from opsapp.approvals import engine as approvals
from opsapp.approvals.resources import approvals_of
from opsapp.healing.engine import inlets, toldevents
from opsapp.healing.resources import healing_of
from opsapp.notify.engine import dispatch
from opsapp.notify.engine import workers as notify
from opsapp.notify.engine.courier import SendOutcome
from opsapp.notify.logic.settings import NotificationSettings
from opsapp.statuspages.engine import workers as letters
from opsapp.web import idempotency
from tests.engine.healing import NGINX
from tests.engine.test_bounded_purges import asked
from tests.engine.test_clock_steps import HOUR, STEPS, step
from tests.engine.test_healing_inlets import RULE, alertmanager, outcomes, send  # noqa: F401
from tests.engine.test_notify import Office
from tests.support.monitoring import DOWN
from tests.support.subscribers import Press

every_step = pytest.mark.parametrize("seconds", STEPS)


@pytest.fixture
def office(service, receiver):
    notify.start(service.node)
    made = Office(service, receiver)
    made.channel()
    receiver.status = 500
    return made


@every_step
def test_a_message_that_nobody_takes_is_tried_for_as_long_whatever_the_clock_says(office, seconds):
    hours = round(office.node.config[NotificationSettings].retry.for_s / HOUR)
    office.tell()
    office.after(600)
    step(office.service, seconds)
    for _ in range(6 * (hours - 1)):
        office.after(600)
        assert office.log()[0]["status"] == "queued"
    for _ in range(6):
        office.after(600)
    [delivery] = office.log()
    assert delivery["status"] == "failed"
    assert delivery["attempts"] > 3 * hours


@every_step
def test_a_message_on_its_way_at_the_step_is_tried_again(office, seconds):
    office.tell()
    office.after(5)
    [delivery] = office.log()
    assert (delivery["status"], delivery["attempts"]) == ("queued", 1)
    office.clock.advance(600)
    sent = office.service.transact(begin_of, office.clock.now())
    step(office.service, seconds)
    office.service.transact(failed, sent, office.clock.now())
    [delivery] = office.log()
    assert (delivery["status"], delivery["attempts"]) == ("queued", 2)
    assert 0 < delivery["due_at"] - office.clock.now() < HOUR


def begin_of(root, now):
    [(_, letter)] = dispatch.begin(root, now, frozenset(), 10)[0]
    return letter.delivery_id


def failed(root, delivery_id, now):
    dispatch.finish(root, delivery_id, SendOutcome("500"), now)


@pytest.fixture
def press(service, mailbox):
    letters.start(service.node)
    made = Press(service, mailbox)
    made.subscribed()
    return made


@every_step
def test_subscribers_are_told_though_the_clock_is_set_before_the_letters_leave(press, seconds):
    held = press.mailbox.mails[:]
    press.set(mail_server="smtp://127.0.0.1:9")
    press.see(DOWN)
    press.after(20)
    assert press.mailbox.mails == held
    step(press.service, seconds)
    press.set(mail_server=f"smtp://127.0.0.1:{press.mailbox.port}")
    press.after(HOUR)
    assert press.subjects[len(held) :] == ["[Lindenhof] Shop is down"]


@every_step
def test_an_event_goes_on_until_its_sender_was_silent_for_a_day(alertmanager, seconds):  # noqa: F811
    here = alertmanager(RULE, level="notify")
    send(here)
    send(here, fingerprint="lost", instance="nowhere")
    here.turn(5)
    step(here.service, seconds)

    def firing(root):
        inlets.forget(root, here.clock.now())
        [shown] = toldevents.shown(root, healing_of(root).inlets.values())
        return shown.firing, here.clock.now() - (shown.last_event_at or 0)

    assert here.node.transact(firing)[0] == 2
    assert send(here).repeated == 1
    here.clock.advance(23 * HOUR)
    count, ago = here.node.transact(firing)
    assert (count, round(ago / HOUR)) == (2, 23)
    here.clock.advance(HOUR)
    assert here.node.transact(firing)[0] == 0


@every_step
def test_a_repeat_is_known_for_a_day_whatever_the_clock_says(service, seconds):
    service.node.leases.want(idempotency.SINCE.lease)
    service.node.leases.step()
    idempotency.SINCE.carry(service.node)
    body = {"name": "a", "type": "script", "params": {"script": "true"}}
    made = service.otto.post_json("/api/automations", body).json["id"]

    def run():
        service.tokens.clear()
        headers = {"Idempotency-Key": "one"}
        return service.otto.post_json(f"/api/automations/{made}/run", {}, headers=headers).json["run_id"]

    first = run()
    step(service, seconds)
    service.clock.advance(23 * HOUR)
    service.transact(idempotency.sweep, service.clock.now())
    assert run() == first
    service.clock.advance(HOUR)
    assert run() != first


def carries(node):
    approvals.start(node)
    node.leases.want(approvals.LEASE)
    node.leases.step()


@every_step
def test_a_request_waits_for_people_as_long_as_it_would_have(service, seconds):
    carries(service.node)
    service.transact(asked, 0, service.clock.now())  # for a minute
    step(service, seconds)

    def waiting(root):
        approvals.expire(root, service.clock.now())
        return len(approvals_of(root).waiting())

    service.clock.advance(59)
    assert service.transact(waiting) == 1
    service.clock.advance(2)
    assert service.transact(waiting) == 0


def test_a_heal_that_people_are_asked_about_goes_on_after_a_step(ward):
    here = ward(NGINX)
    here.at("approve", "nginx")
    carries(here.node)
    here.report(service__nginx__state="failed").turn(5).turn(60)
    [request] = here.service.vera.get("/api/approvals").json
    step(here.service, 25 * HOUR)
    here.turn(1)
    here.node.transact(approvals.expire, here.clock.now())
    here.report(service__nginx__state="failed").turn(1)
    [after] = here.service.vera.get("/api/approvals").json
    assert after["request_id"] == request["request_id"]
    assert outcomes(here) == [("nginx", "box-1/nginx", "awaiting_approval")]
