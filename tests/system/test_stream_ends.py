"""Whatever lasts (event streams, live logs and metrics, a download, an upload) ends when its caller may ask no more."""

import http.client
import json
import secrets
import socket
import time
import urllib.parse

import pytest

from tests.support.agent_process import EnrolledAgent
from tests.support.client import Client
from tests.support.process import Serve
from tests.support.waiting import until

pytestmark = pytest.mark.system
PASSWORD = "horse battery staple"
SIZE = 64 << 20  # more than the buffers between server and reader hold


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    login = {"attempts_per_ip": 1000}
    config = {"web": {"login": login}, "agents": {"report_interval_s": 1, "max_file_bytes": 2 * SIZE}}
    with Serve(tmp_path_factory.mktemp("serve"), config=config) as serve:
        yield serve


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    made = tmp_path_factory.mktemp("files")
    with open(made / "big", "wb") as big:
        big.truncate(SIZE)
    (made / "log").write_text("a line\n")
    return made


@pytest.fixture(scope="module")
def agent(serve, files, tmp_path_factory):
    with EnrolledAgent(tmp_path_factory.mktemp("agent"), serve) as agent:
        agent.online()
        yield agent


@pytest.fixture
def otto(serve):
    """An operator of the test's own, signed in."""
    name = f"otto-{secrets.token_hex(4)}"
    serve.admin.post("/api/users", {"username": name, "password": PASSWORD, "role": "operator"})
    client = Client(serve.url).login(name, PASSWORD)
    client.name, client.admin = name, serve.admin
    return client


class Reader:
    """A stream that is open, past its first byte."""

    def __init__(self, client, path, token=None, ticket=None):
        parts = urllib.parse.urlsplit(client.url)
        self.link = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        if ticket:
            self.link.request("GET", f"{path}?token={ticket}")
        else:
            self.link.request("GET", path, headers={"Authorization": f"Bearer {token or client.token}"})
        self.answer = self.link.getresponse()
        assert self.answer.status == 200, self.answer.read()
        assert self.answer.read(1)

    def rest(self):
        """All that still comes, to the end; nothing more once the connection was cut."""
        rest = b""
        try:
            while piece := self.answer.read1(1 << 20):
                rest += piece
        except (http.client.IncompleteRead, ConnectionError) as cut:
            rest += getattr(cut, "partial", b"")
        self.answer.close()
        self.link.close()
        return rest


def last_event(reader):
    *_, name, data = reader.rest().decode().strip().splitlines()
    return name, json.loads(data.removeprefix("data: "))


def sessions(client):
    return client.get("/api/me/sessions")[0]["id"]


WAYS = {
    "signs out": lambda admin, otto: otto.post("/api/logout"),
    "ends the session": lambda admin, otto: otto.delete(f"/api/me/sessions/{sessions(otto)}"),
    "is disabled": lambda admin, otto: admin.put(f"/api/users/{otto.name}", {"disabled": True}),
    "is demoted": lambda admin, otto: admin.put(f"/api/users/{otto.name}", {"role": "viewer"}),
    "gets a password": lambda admin, otto: admin.put(f"/api/users/{otto.name}", {"password": "another sound one"}),
    "is deleted": lambda admin, otto: admin.delete(f"/api/users/{otto.name}"),
}


@pytest.mark.parametrize("way", WAYS)
def test_when_its_reader(serve, otto, way):
    reader = Reader(otto, "/api/stream")
    by_ticket = Reader(otto, "/api/stream", ticket=otto.post("/api/stream-ticket")["ticket"])
    WAYS[way](serve.admin, otto)
    for each in (reader, by_ticket):
        assert last_event(each) == ("event: end", {"reason": "signed_out"})


def test_when_its_ticket_opens_it_again(otto):
    ticket = otto.post("/api/stream-ticket")["ticket"]
    first = Reader(otto, "/api/stream", ticket=ticket)
    second = Reader(otto, "/api/stream", ticket=ticket)
    assert last_event(first) == ("event: end", {"reason": "opened_again"})
    third = Reader(otto, "/api/stream", ticket=ticket)
    assert last_event(second) == ("event: end", {"reason": "opened_again"})
    otto.post("/api/logout")
    assert last_event(third) == ("event: end", {"reason": "signed_out"})


def key_of(otto, **more):
    return otto.post("/api/keys", {"name": "probe", "role": "operator", **more})


@pytest.mark.parametrize("way", ["the key is dropped", "is disabled", "is demoted", "is deleted"])
def test_when_the_keys_owner(serve, otto, way):
    key = key_of(otto)
    reader = Reader(otto, "/api/stream", key["key"])
    if way == "the key is dropped":
        otto.delete(f"/api/keys/{key['id']}")
    else:
        WAYS[way](serve.admin, otto)
    assert last_event(reader) == ("event: end", {"reason": "signed_out"})
    if way == "is demoted":  # the key is good for what a viewer may
        again = Reader(otto, "/api/stream", key["key"])
        otto.admin.delete(f"/api/keys/{key['id']}")
        assert last_event(again)[0] == "event: end"


def test_when_the_key_runs_out(otto):
    reader = Reader(otto, "/api/stream", key_of(otto, expires_at=int(time.time()) + 15)["key"])
    assert last_event(reader) == ("event: end", {"reason": "expired"})


def test_when_the_session_runs_out(tmp_path):
    with Serve(tmp_path, config={"web": {"login": {"session_s": 15}}}) as serve:
        assert last_event(Reader(serve.admin, "/api/stream")) == ("event: end", {"reason": "expired"})


@pytest.mark.parametrize("what", ["logs?source=file&path={files}/log&lines=1", "metrics"])
def test_live_streams_of_an_agent(serve, otto, agent, files, what):
    reader = Reader(otto, f"{agent.path}/stream/{what.format(files=files)}")
    WAYS["is disabled"](serve.admin, otto)
    name, data = last_event(reader)
    assert (name, data["reason"]) == ("event: end", "signed_out")


def test_a_download(serve, otto, agent, files):
    reader = Reader(otto, f"{agent.path}/files?path={urllib.parse.quote(str(files / 'big'))}")
    watching = Reader(otto, "/api/stream")
    WAYS["is disabled"](serve.admin, otto)
    assert last_event(watching)[0] == "event: end"
    assert len(reader.rest()) < SIZE - 1  # what is in the buffers may still be read


def test_an_upload(serve, otto, agent, files):
    target = files / f"stored-{secrets.token_hex(4)}"
    parts = urllib.parse.urlsplit(otto.url)
    head = (
        f"POST {agent.path}/files HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {otto.token}\r\n"
        f"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: {1 << 20}\r\n\r\n"
        f'--b\r\nContent-Disposition: form-data; name="dest"\r\n\r\n{target}\r\n'
        '--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n'
    )
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as link:
        link.sendall(head.encode() + b"x" * 100_000)
        until(lambda: list(files.glob(".opsapp-*.part")), 20, what="the agent having begun")
        WAYS["is disabled"](serve.admin, otto)
        try:
            assert link.recv(1000) == b""
        except ConnectionResetError:
            pass
    until(lambda: not list(files.glob(".opsapp-*.part")), 20, what="nothing being left of it")
    assert not target.exists()
