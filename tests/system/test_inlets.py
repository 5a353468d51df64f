"""Events from elsewhere over real connections: a whole outage in one body, and what is too large for any."""

import json
import os
import signal
from contextlib import contextmanager

import pytest

from opsapp.runtime.store import embedded
from tests.support.process import PASSWORD, Serve
from tests.support.raw import Raw
from tests.support.waiting import until

pytestmark = pytest.mark.system

JSON = {"Content-Type": "application/json"}
MOST = 32 << 20


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    with Serve(tmp_path_factory.mktemp("inlets")) as running:
        yield running


@pytest.fixture
def inlet(serve):
    return serve.admin.post("/api/healing/inlets", {"name": "Alertmanager"})


def group(count, text=""):
    """A group of Alertmanager, as a body."""
    alerts = [
        {
            "status": "firing",
            "labels": {"alertname": "Down", "instance": f"h{n}:9100"},
            "annotations": {"summary": text},
        }
        for n in range(count)
    ]
    return json.dumps({"version": "4", "status": "firing", "alerts": alerts, "groupLabels": {}}).encode()


def listed(serve, inlet):
    return next(row for row in serve.admin.get("/api/healing/inlets") if row["id"] == inlet["id"])


def test_an_outage_of_5000_alerts_in_one_body_is_taken(serve, inlet):
    answer = serve.client().request("POST", inlet["url"], group(5000), JSON)
    assert (answer.status, answer.json["firing"], answer.json["refused"]) == (200, 5000, [])
    assert listed(serve, inlet)["firing"] == 5000


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_of_32_mib_is_taken_and_a_larger_one_refused(serve, inlet, chunked):
    def sent(body):
        pieces = (body[at : at + 100_000] for at in range(0, len(body), 100_000))
        return serve.client().request("POST", inlet["url"], pieces if chunked else body, JSON)

    alerts = 80 if chunked else 800  # how it comes has nothing to do with what it says
    body = group(alerts, "x" * 41_700)
    whole = body + b" " * (MOST - len(body))
    answer = sent(whole)
    assert (answer.status, answer.json["firing"] + answer.json["repeated"]) == (200, alerts)
    if not chunked:
        assert sent(whole + b" ").status == 413


def test_nobody_has_to_read_a_large_body_for_a_wrong_token(serve):
    answer = serve.client().request("POST", f"/api/healing/events/{'0' * 64}", group(5000), JSON)
    assert answer.status == 404


STORM = 1100  # more than may wait for a thread elsewhere


def post(raw, path, value):
    """Its answer is not waited for."""
    body = json.dumps(value).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    return raw.send(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)


@contextmanager
def storm(serve, inlet, count, then=lambda: None):
    """One event on each of so many connections, and what `then` sends: all of it is there when the first is looked
    at, however slowly it is sent."""
    posts = [Raw(serve.port) for _ in range(count)]
    try:
        os.kill(serve.child.pid, signal.SIGSTOP)
        try:
            for number, raw in enumerate(posts):
                post(raw, inlet["url"], {"id": str(number), "status": "firing", "name": "Down", "target": f"h{number}"})
            then()
        finally:
            os.kill(serve.child.pid, signal.SIGCONT)
        yield posts
    finally:
        for raw in posts:
            raw.close()


def test_who_signs_in_does_not_wait_behind_a_storm_and_none_of_it_is_lost(serve, inlet):
    """How long it takes is told by `make bench ARGS=storm`."""
    person, known = Raw(serve.port), {"username": "admin", "password": PASSWORD}
    with person, storm(serve, inlet, STORM, lambda: post(person, "/api/login", known)) as posts:
        login = person.answer()
        unanswered = [raw for raw in posts if not raw.is_answered()]
        assert login.status == 200
        assert unanswered, "it was answered before the storm was done"
        assert {raw.answer().status for raw in posts} == {200}
    assert listed(serve, inlet)["firing"] == STORM


def commits(serve):
    with (serve.directory / "data" / "main.fs").open("rb") as file:
        return sum(1 for _ in embedded.transactions(file, embedded.START))


def test_posts_that_come_together_share_commits(serve, inlet):
    """What a commit costs is not paid for each of them. Others commit meanwhile too, and are counted with them."""
    before, count = commits(serve), 400
    with storm(serve, inlet, count) as posts:
        assert [raw.answer().json["firing"] for raw in posts] == [1] * count
    assert commits(serve) - before < count / 2


def was_taken(raw):
    """Whether its answer came before the connection ended."""
    try:
        return raw.answer().status == 200
    except ConnectionError:
        return False


def test_what_was_answered_is_there_after_a_kill(tmp_path):
    with Serve(tmp_path) as serve:
        inlet = serve.admin.post("/api/healing/inlets", {"name": "Alertmanager"})
        with storm(serve, inlet, 400) as posts:
            until(lambda: sum(raw.is_answered() for raw in posts) > 40, 30, what="some answers")
            serve.kill()
            answered = {str(number) for number, raw in enumerate(posts) if was_taken(raw)}
        assert answered
        serve.start()
        events = serve.admin.get(f"/api/healing/inlets/{inlet['id']}/events?limit=1000")
    assert answered <= {event["fingerprint"] for event in events}
