"""Webhooks that strangers name: asked whether they want to be told, called a few at a time, kept out of the house."""

import os
import socket
from types import SimpleNamespace

import gevent
import pytest

from opsapp.monitoring.probes import transfers
from opsapp.statuspages.engine import announcements, dispatch, webhooks, workers
from opsapp.statuspages.logic.settings import StatusPageSettings
from tests.support.mailbox import Mailbox
from tests.support.monitoring import DOWN, UP
from tests.support.receiver import Receiver
from tests.support.subscribers import SUBSCRIPTIONS, Press
from tests.support.waiting import until


def says_it_back(message):
    return message.get("challenge", "").encode()


@pytest.fixture
def receivers():
    made = []

    def receiver(answer=says_it_back):
        made.append(Receiver())
        made[-1].answer = answer
        return made[-1]

    yield receiver
    for each in made:
        each.close()


@pytest.fixture
def press(service, monkeypatch):
    """A step waits for its calls until they end: on a busy machine one takes longer than the server waits."""
    monkeypatch.setattr(webhooks, "TOGETHER_S", None)
    mailbox = Mailbox()
    service.configure(StatusPageSettings, webhook_allow_networks=("127.0.0.0/8",), asks_per_ip=10_000, timeout_s=5)
    press = Press(service, mailbox)
    press.set(subscribe_by=["mail", "webhook"])
    yield press
    mailbox.close()


def hook(receiver, path="status"):
    return receiver.url(path).replace("json://", "http://")


def states(press):
    press.service.tokens.clear()
    return sorted((row["state"], row["failures"]) for row in press.service.ada.get(SUBSCRIPTIONS).json)


def subscribed(press, *urls):
    for url in urls:
        press.ask(url, kind="webhook")
    press.work()


def settled(press):
    """Everything that is under way has come to its end."""

    def nothing_waits():
        press.work()
        gevent.sleep(0.02)  # calls are greenlets of this thread
        return press.store(lambda store: not store.queues["webhook"].owners)

    until(nothing_waits, 30, what="the end of all calls")


def test_who_says_the_challenge_back_is_told_of_beginning_update_and_end_once(press, receivers):
    receiver = receivers()
    subscribed(press, hook(receiver))
    assert states(press) == [("confirmed", 0)]
    press.see(DOWN)
    press.after(20)
    press.update("A disk is full.")
    press.update("It is the disk of db-7.internal.", public=False)
    press.after(20)
    press.see(UP)
    press.after(20)
    press.after(600)
    challenge, begin, update, over = receiver.messages
    incident = press.lookout.incidents()[0]["id"]
    assert (challenge["type"], challenge["page"], challenge["url"]) == (
        "challenge",
        "Lindenhof",
        "https://status.example/status",
    )
    assert [message["items"][0]["what"] for message in (begin, update, over)] == ["begins", "update", "over"]
    assert begin["items"][0]["url"] == f"https://status.example/status/incidents/{incident}"
    assert update["items"][0] | {"stage": "identified", "message": "A disk is full."} == update["items"][0]
    assert "internal" not in repr(receiver.messages)
    assert len({message["id"] for message in receiver.messages}) == 4
    token = begin["unsubscribe_url"].rpartition("/")[2]
    press.service.transact(lambda root: workers.subscriptions.leave(root, token, "192.0.2.1"))
    assert states(press) == []


def test_a_notice_is_told_with_its_severity_and_again_when_it_is_over(press, receivers):
    receiver = receivers()
    subscribed(press, hook(receiver))
    notice = {"title": "The phones move", "text": "On Sunday.", "severity": "critical"}
    path = "/api/monitoring/notices"
    notice_id = press.service.otto.post_json(path, notice, status=201).json["id"]
    announcements.look_at_notices(press.node)
    press.after(20)
    press.service.otto.post_json(f"{path}/{notice_id}/end", {})
    announcements.look_at_notices(press.node)
    press.after(20)
    settled(press)
    _, put, over = receiver.messages
    about = {"id": notice_id, "name": "The phones move", "url": "https://status.example/status"}
    told = {"what": "notice", "severity": "critical", "message": "On Sunday."}
    assert put["items"] == [{**about, **told, "time": put["items"][0]["time"]}]
    assert over["items"] == [{**about, "what": "notice_over", "time": over["items"][0]["time"]}]


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (lambda message: b"ok", 200),
        (lambda message: b"", 200),
        (lambda message: message["challenge"][:-1].encode(), 200),
        (says_it_back, 500),
        (says_it_back, 302),
        (says_it_back, 301),
        (says_it_back, 404),
    ],
)
def test_who_does_not_say_it_back_is_told_nothing(press, receivers, answer, status):
    receiver = receivers(answer)
    receiver.status = status
    subscribed(press, hook(receiver))
    assert states(press)[0][0] == "pending"
    press.see(DOWN)
    press.after(20)
    assert {message["type"] for message in receiver.messages} <= {"challenge"}
    assert set(receiver.paths) <= {"/status"}, "no redirect was followed"


def test_a_redirect_is_no_arrival(press, receivers):
    receiver = receivers()
    subscribed(press, hook(receiver))
    receiver.status = 302
    press.see(DOWN)
    press.after(20)
    assert len(receiver.messages) == 1
    receiver.status = 200
    press.after(60)
    assert [message["type"] for message in receiver.messages] == ["challenge", "news"]


def test_a_known_webhook_is_not_called_again_and_nobody_learns_of_it(press, receivers):
    receiver = receivers()
    first = press.ask(hook(receiver), kind="webhook")
    press.work()
    again = press.ask(hook(receiver), kind="webhook")
    press.work()
    assert again.json == first.json
    assert (len(receiver.messages), states(press)) == (1, [("confirmed", 0)])


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:{port}/",
        "http://localhost:{port}/",
        "http://[::1]:{port}/",
        "http://[::ffff:127.0.0.1]:{port}/",
        "http://0.0.0.0:{port}/",
        "http://2130706433:{port}/",
        "http://127.1:{port}/",
        "http://0x7f.1:{port}/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/",
        "http://10.0.0.1:{port}/",
        "http://[64:ff9b::127.0.0.1]:{port}/",
    ],
)
def test_nobody_has_the_house_called(press, receivers, url):
    """Loopback, private networks, metadata: not reached, however they are written, and the answer is the same."""
    press.service.configure(StatusPageSettings, webhook_allow_networks=(), asks_per_ip=10_000, timeout_s=1)
    receiver = receivers()
    port = hook(receiver).rpartition(":")[2].partition("/")[0]
    answer = press.service.anonymous.post_json(
        SUBSCRIPTIONS, {"kind": "webhook", "address": url.format(port=port)}, status=(201, 422)
    )
    settled(press)
    assert receiver.asked == 0
    assert answer.status_int == 422 or states(press) == [("pending", 0)]


def test_an_allowed_network_does_not_allow_metadata(press, receivers, monkeypatch):
    press.service.configure(StatusPageSettings, webhook_allow_networks=("0.0.0.0/0",), asks_per_ip=10_000, timeout_s=5)
    opened, receiver = [], receivers()

    def noted(*given):
        opened.append(given)
        return socket.socket(*given)

    monkeypatch.setattr(transfers, "socket", SimpleNamespace(**{**vars(socket), "SocketType": noted}))
    subscribed(press, "http://169.254.169.254/")
    assert states(press) == [("pending", 0)]
    assert opened == [], "it was not even tried"
    subscribed(press, hook(receiver))
    assert len(opened) == 1


def test_who_answers_a_challenge_with_no_is_not_asked_again(press, receivers):
    receiver = receivers(lambda message: b"no")
    subscribed(press, hook(receiver))
    press.after(3600)
    assert receiver.asked == 1
    receiver.answer = says_it_back
    subscribed(press, hook(receiver))
    assert states(press) == [("confirmed", 0)]


def test_a_challenge_is_not_asked_for_ever(press, receivers):
    receiver = receivers()
    receiver.status = 500
    subscribed(press, hook(receiver))
    for _ in range(30):
        press.after(3600)
    workers.purge(press.node)
    asked = receiver.asked
    press.after(3600)
    assert receiver.asked == asked < 60
    assert press.store(lambda store: (len(store.subscribers), len(store.marks))) == (0, 0)
    press.work()
    assert press.store(lambda store: (store.queues["webhook"].waiting(), len(store.queues["webhook"].attempts))) == (
        0,
        0,
    )


def test_a_receiver_that_hangs_holds_up_nobody(press, receivers, monkeypatch):
    press.service.configure(StatusPageSettings, timeout_s=120)  # no call ends before its receiver lets it go
    hanging, quick = receivers(), receivers()
    subscribed(press, *(hook(hanging, f"n{n}") for n in range(20)), *(hook(quick, f"n{n}") for n in range(100)))
    settled(press)
    assert press.store(lambda store: len(store.confirmed)) == 120
    hanging.open.clear()
    monkeypatch.setattr(webhooks, "TOGETHER_S", 0.5)  # as the server has it
    press.see(DOWN)
    press.after(20)
    assert sum(message["type"] == "news" for message in quick.messages) == 100
    late = receivers()
    subscribed(press, hook(late))
    assert len(late.messages) == 1
    assert len(press.carriers["webhook"].under_way()) == 20, "they hang, and only they"
    hanging.open.set()
    settled(press)
    assert sum(message["type"] == "news" for message in hanging.messages) == 20
    press.after(60)
    assert sum(message["type"] == "news" for message in hanging.messages) == 20


def test_files_stay_as_many_as_they_are(press, receivers):
    receiver = receivers()
    subscribed(press, hook(receiver, "a"))
    before = len(os.listdir("/proc/self/fd"))
    for n in range(8):
        subscribed(press, hook(receiver, f"n{n}"))
    assert len(os.listdir("/proc/self/fd")) <= before + 4


def test_a_process_that_dies_in_a_call_calls_again_under_the_same_id(press, receivers):
    receiver = receivers()
    subscribed(press, hook(receiver))
    press.see(DOWN)
    press.clock.advance(20)
    while announcements.step(press.node):
        pass
    batch = press.service.transact(dispatch.begin, "webhook", press.clock.now(), 50, ())
    assert [letter.to for letter in batch.letters] == [hook(receiver)]  # and here it dies
    press.work()
    assert [message["type"] for message in receiver.messages] == ["challenge", "news"]
    assert press.store(lambda store: store.queues["webhook"].waiting()) == 0


def test_the_address_of_a_webhook_is_shown_to_nobody(press, receivers, tmp_path):
    receiver = receivers()
    subscribed(press, hook(receiver, "s3cr3t-path"))
    press.service.tokens.clear()
    (row,) = press.service.ada.get(SUBSCRIPTIONS).json
    assert row["address"] == "http://127.0.0.1/…"
    for path in tmp_path.rglob("*.fs*"):
        assert b"s3cr3t-path" not in path.read_bytes()
