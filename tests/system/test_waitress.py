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


def test_who_signs_in_reads_and_hears_of_what_is_made(service, port):
    """Each kind of answer is in tests/system/test_server_elsewhere.py."""
    body = json.dumps({"username": "admin", "password": "first admin password"}).encode()
    with Raw(port) as reader, Raw(port) as raw:
        got = raw.get("/api/login", "Content-Type: application/json", method="POST", body=body)
        assert (got.status, got.json["role"]) == (200, "admin")
        token = f"Authorization: Bearer {got.json['token']}"
        assert raw.get("/api/me", token).json == {"username": "admin", "role": "admin"}
        reader.send(f"GET /api/stream HTTP/1.1\r\nHost: x\r\n{token}\r\n\r\n".encode())
        assert reader.head()[0] == 200
        reader.until(b"retry")
        made = raw.get(
            "/api/monitoring/endpoints", token, "Content-Type: application/json", method="POST",
            body=json.dumps(MONITOR).encode(),
        )  # fmt: skip
        assert made.status == 201
        assert b"event: monitor" in reader.until(made.json["id"].encode())
