"""The real application under waitress: everything but sessions, over a real socket and without a hub."""

import json

import pytest
from webtest.http import StopableWSGIServer

from tests.support.raw import Raw

pytestmark = [pytest.mark.system, pytest.mark.nightly("tests/system/test_server_elsewhere.py has the walk")]
MONITOR = {"name": "shop", "type": "http", "url": "http://127.0.0.1:9/", "interval": 60, "timeout": 5}


@pytest.fixture
def port(service):
    server = StopableWSGIServer.create(service.app, host="127.0.0.1", threads=4)
    yield server.effective_port
    server.shutdown()


def bearer(client):
    return "Authorization: Bearer " + client.authorization[1]


def test_the_api_answers(service, port):
    with Raw(port) as raw:
        assert raw.get("/api/status/public").status == 200
        assert raw.get("/api/me").status == 401
        got = raw.get("/api/me", bearer(service.vera))
        assert got.json == {"username": "vera", "role": "viewer"}
        assert len(got.headers["x-request-id"]) == 16
        assert raw.get("/api/nothing", bearer(service.vera)).status == 404


def test_a_deferred_answer_signs_in(service, port):
    body = json.dumps({"username": "admin", "password": "first admin password"}).encode()
    with Raw(port) as raw:
        got = raw.get("/api/login", "Content-Type: application/json", method="POST", body=body)
        assert (got.status, got.json["role"]) == (200, "admin")
        assert raw.get("/api/me", f"Authorization: Bearer {got.json['token']}").json["username"] == "admin"


def test_events_reach_a_stream_without_a_hub(service, port):
    with Raw(port) as reader, Raw(port) as raw:
        reader.send(f"GET /api/stream HTTP/1.1\r\nHost: x\r\n{bearer(service.vera)}\r\n\r\n".encode())
        assert reader.head()[0] == 200
        reader.until(b"retry")
        body = json.dumps(MONITOR).encode()
        made = raw.get(
            "/api/monitoring/endpoints", bearer(service.ada), "Content-Type: application/json", method="POST", body=body
        )
        assert made.status == 201
        assert b"event: monitor" in reader.until(made.json["id"].encode())


def test_a_session_is_not_possible(service, port):
    made = service.ada.post_json("/api/agents", {"label": "box-1"}, status=201).json
    with Raw(port) as raw:
        got = raw.get(f"/api/agents/{made['agent_id']}/session", f"X-Agent-Key: {made['key']}")
        assert (got.status, got.json["code"]) == (501, "not_implemented")
