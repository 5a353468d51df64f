"""Tokens that stand in a path: no file of the service has one in clear, though it was called with it. That of a push
monitor is shown again by the API, so it is stored."""

import pytest

from tests.support.process import Serve
from tests.support.receiver import Receiver
from tests.support.waiting import until

pytestmark = pytest.mark.system

BASE = "http://ops.example.org"
CONFIG = {"web": {"base_url": BASE}, "notifications": {"group_wait_s": 0}}
SCRIPT = {"name": "hello", "type": "script", "params": {"script": "true"}}


@pytest.fixture(scope="module")
def called(tmp_path_factory):
    """The directory of a service that was called with a token of each kind, and the tokens."""
    place = tmp_path_factory.mktemp("tokens")
    with Serve(place, CONFIG) as serve, Receiver() as receiver:
        admin = serve.admin
        webhook = admin.post("/api/automations", SCRIPT)["webhook_url"]
        inlet = admin.post("/api/healing/inlets", {"name": "Alertmanager"})["url"]
        event = {"id": "1", "status": "firing", "name": "Disk", "target": "Backup"}
        for url, body in ((webhook, {}), (inlet, event)):
            assert serve.client().request("POST", url[url.index("/api/") :], body).status == 200
        link = answered(serve, receiver)
        invitation = admin.post("/api/invitations", {"username": "grace", "role": "viewer"}, expect=201)["url"]
        assert serve.client().request("GET", invitation).status == 200
        turns = {
            "name": "Turns",
            "zone": "UTC",
            "layers": [{"users": [admin.get("/api/me")["username"]], "start": "2026-01-05"}],
        }
        schedule = admin.post("/api/oncall/schedules", turns, expect=201)["id"]
        calendar = admin.post(f"/api/oncall/schedules/{schedule}/calendar", expect=201)["url"]
        assert serve.client().request("GET", calendar).status == 200
    urls = {"calendar": calendar, "webhook": webhook, "inlet": inlet, "answer": link, "invitation": invitation}
    return place, {kind: url.rpartition("/")[2] for kind, url in urls.items()}


def answered(serve, receiver):
    """A link in a message, once it was opened and pressed."""
    channel = {"name": "phone", "url": receiver.url(), "answers_as": serve.admin.get("/api/me")["username"]}
    serve.admin.post("/api/notifications/channels", channel)
    asks = SCRIPT | {"name": "asks first", "requires_approval": True}
    run = serve.admin.post(f"/api/automations/{serve.admin.post('/api/automations', asks)['id']}/run")
    link = until(receiver.links, 20, what="the message")["approve"]
    place, form = link.removeprefix(BASE), {"Content-Type": "application/x-www-form-urlencoded"}
    visitor = serve.client()
    assert visitor.request("GET", place).status == 200
    assert visitor.request("POST", place, b"act=approve", headers=form).status == 200
    assert visitor.request("POST", place, b"act=approve", headers=form).status == 410
    assert serve.admin.get(f"/api/approvals/{run['request_id']}")["status"] == "approved"
    return link


@pytest.mark.parametrize("kind", ["webhook", "inlet", "answer", "invitation", "calendar"])
def test_no_file_has_it_in_clear(called, kind):
    place, tokens = called
    files = [path for path in place.rglob("*") if path.is_file()]
    assert files
    assert [path.name for path in files if tokens[kind].encode() in path.read_bytes()] == []
