"""Files and live streams of a real agent through a real server."""

import base64
import hashlib
import http.client
import json
import os
import urllib.parse
from pathlib import Path

import pytest

from tests.support.agent_process import EnrolledAgent
from tests.support.client import Client
from tests.support.process import Serve
from tests.support.raw import HANGS_S
from tests.support.waiting import until

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    config = {"agents": {"report_interval_s": 1, "max_file_bytes": 8 << 20}}
    with Serve(tmp_path_factory.mktemp("serve"), config=config) as serve:
        yield serve


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def agent(serve, files, tmp_path_factory):
    with EnrolledAgent(tmp_path_factory.mktemp("agent"), serve, viewer_paths=[str(files / "log")]) as agent:
        agent.online()
        yield agent


@pytest.fixture(scope="module")
def vera(serve):
    serve.admin.post("/api/users", {"username": "vera", "password": "horse battery staple", "role": "viewer"})
    return Client(serve.url).login("vera", "horse battery staple")


def get(client, agent, path, **headers):
    return client.request("GET", f"{agent.path}/files?path={urllib.parse.quote(str(path))}", headers=headers)


def put(client, agent, dest, data, fields_last=False):
    part = b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\n' + data + b"\r\n"
    field = f'--b\r\nContent-Disposition: form-data; name="dest"\r\n\r\n{dest}\r\n'.encode()
    body = (part + field if fields_last else field + part) + b"--b--\r\n"
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    return client.request("POST", f"{agent.path}/files", body, headers)


class Events:
    """A reader of server-sent events."""

    def __init__(self, client, path, **headers):
        parts = urllib.parse.urlsplit(client.url)
        self.link = http.client.HTTPConnection(parts.hostname, parts.port, timeout=HANGS_S)
        self.link.request("GET", path, headers={"Authorization": f"Bearer {client.token}", **headers})
        self.answer = self.link.getresponse()
        assert self.answer.status == 200, self.answer.read()

    def next(self):
        """(event, data, id), comments and retries left out."""
        event = data = name = None
        while True:
            line = self.answer.readline().decode().rstrip("\n")
            assert line or data is not None or event is None, "the stream ended"
            if line.startswith("event: "):
                event = line[7:]
            elif line.startswith("data: "):
                data = json.loads(line[6:])
            elif line.startswith("id: "):
                name = line[4:]
            elif not line and data is not None:
                return event, data, name

    def close(self):
        self.answer.close()
        self.link.close()


@pytest.mark.parametrize("fields_last", [False, True])
def test_a_file_goes_there_and_back(serve, agent, files, fields_last):
    data = os.urandom(3_000_001)
    path = files / f"big{fields_last}"
    stored = put(serve.admin, agent, path, data, fields_last)
    digest = hashlib.sha256(data).hexdigest()
    assert stored.json == {"status": "stored", "path": str(path), "size": len(data), "sha256": digest}
    assert path.read_bytes() == data
    back = get(serve.admin, agent, path)
    assert (back.status, back.body == data) == (200, True)
    assert back.headers["content-length"] == str(len(data))
    assert back.headers["x-content-sha256"] == digest
    assert back.headers["repr-digest"] == f"sha-256=:{base64.b64encode(bytes.fromhex(digest)).decode()}:"


@pytest.mark.parametrize(
    ("wanted", "status", "part"),
    [
        ("bytes=0-9", 206, slice(0, 10)),
        ("bytes=990-", 206, slice(990, None)),
        ("bytes=-5", 206, slice(-5, None)),
        ("bytes=900-5000", 206, slice(900, None)),
        ("bytes=1000-", 416, slice(0, 0)),
        (f"bytes={10**30}-", 416, slice(0, 0)),
        ("bytes=5-1", 200, slice(None)),
        ("bytes=0-1,4-5", 200, slice(None)),
        ("lines=1-2", 200, slice(None)),
    ],
)
def test_parts_of_a_file(serve, agent, files, wanted, status, part):
    data = bytes(range(250)) * 4
    (files / "small").write_bytes(data)
    answer = get(serve.admin, agent, files / "small", Range=wanted)
    assert answer.status == status
    if status == 416:
        assert answer.headers["content-range"] == f"bytes */{len(data)}"
        assert answer.json["code"] == "range_not_satisfiable"
    else:
        assert answer.body == data[part]
        assert answer.headers["x-content-sha256"] == hashlib.sha256(data).hexdigest()
    mark = get(serve.admin, agent, files / "small").headers["etag"]
    again = get(serve.admin, agent, files / "small", **{"Range": "bytes=0-9", "If-Range": mark})
    assert again.status == 206
    changed = get(serve.admin, agent, files / "small", **{"Range": "bytes=0-9", "If-Range": '"other"'})
    assert (changed.status, changed.body) == (200, data)


@pytest.mark.parametrize("path", ["/proc/version", "/sys/kernel/mm/transparent_hugepage/enabled"])
def test_what_the_kernel_makes_up_is_not_an_empty_file(serve, agent, path):
    """Such a file says that it has no bytes, or a page of them, whatever is in it."""
    answer = get(serve.admin, agent, path)
    assert (answer.status, answer.body) == (200, Path(path).read_bytes())
    assert get(serve.admin, agent, path, Range="bytes=2-4").body == answer.body[2:5]


def test_a_hash_that_comes_along_is_checked(serve, agent, files):
    body = b'--b\r\nContent-Disposition: form-data; name="dest"\r\n\r\n%s\r\n' % str(files / "hashed").encode()
    body += b'--b\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n\r\nabc\r\n'
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    for said, status in ((hashlib.sha256(b"abd").hexdigest(), 422), (hashlib.sha256(b"abc").hexdigest(), 200)):
        field = b'--b\r\nContent-Disposition: form-data; name="sha256"\r\n\r\n%s\r\n--b--\r\n' % said.encode()
        answer = serve.admin.request("POST", f"{agent.path}/files", body + field, headers)
        assert answer.status == status, answer.body
        assert (files / "hashed").exists() == (status == 200)
        until(lambda: not [name for name in os.listdir(files) if name.startswith(".")], what="no half file")


def test_an_empty_file(serve, agent, files):
    assert put(serve.admin, agent, files / "empty", b"").json["size"] == 0
    assert get(serve.admin, agent, files / "empty").body == b""


def test_what_is_not_there_or_not_allowed(serve, agent, files, vera):
    (files / "log").mkdir(exist_ok=True)
    (files / "log" / "app.log").write_text("hello\n")
    (files / "secret").write_text("no\n")
    assert get(vera, agent, files / "log" / "app.log").body == b"hello\n"
    (files / "log" / "link").unlink(missing_ok=True)
    (files / "log" / "link").symlink_to(files / "secret")
    for path in (files / "secret", files / "log" / "link", files / "log" / ".." / "secret"):
        assert get(vera, agent, path).status == 403
    assert get(serve.admin, agent, files / "nothing").status == 404
    assert get(serve.admin, agent, "/etc/shadow").status == 403
    assert get(serve.admin, agent, "relative").status == 422
    assert put(vera, agent, files / "new", b"x").status == 403
    assert put(serve.admin, agent, "relative", b"x").status == 422
    assert put(serve.admin, agent, files, b"x").status == 422
    assert put(serve.admin, agent, files / "none" / "x", b"x").status == 404
    assert put(serve.admin, agent, files / "huge", b"x" * ((8 << 20) + 1)).status == 413
    assert not (files / "huge").exists()
    until(lambda: not [name for name in os.listdir(files) if name.endswith(".part")], what="the part being removed")


def test_an_agent_that_is_not_connected_is_503(serve, files):
    made = serve.admin.post("/api/agents", {"label": "away"})["agent_id"]
    form = {"Content-Type": "multipart/form-data; boundary=b"}
    for answer in (
        serve.admin.request("GET", f"/api/agents/{made}/files?path=/etc/hostname"),
        serve.admin.request("POST", f"/api/agents/{made}/files", b"x", form),
        serve.admin.request("GET", f"/api/agents/{made}/stream/logs?source=file&path=/x"),
        serve.admin.request("GET", f"/api/agents/{made}/stream/metrics"),
    ):
        assert answer.status == 503
        assert answer.headers["retry-after"]


def test_a_log_is_followed_until_the_reader_leaves(serve, agent, files):
    log = files / "followed"
    log.write_text("first\n")
    reader = Events(serve.admin, f"{agent.path}/stream/logs?source=file&path={log}")
    event, data, name = reader.next()
    assert (event, data["line"]) == ("log", "first")
    assert data["time"] is None
    with log.open("a") as file:
        file.write("second\n")
    event, data, again = reader.next()
    assert (data["line"], type(data["time"])) == ("second", int)
    reader.close()
    with log.open("a") as file:
        file.write("third\n")
    assert read_lines(serve, agent, log, 2, name) == ["second", "third"]
    assert read_lines(serve, agent, log, 1, again) == ["third"]
    log.rename(files / "followed.1")
    log.write_text("fourth\nfifth\n")
    assert read_lines(serve, agent, log, 3, again) == ["[the file was replaced meanwhile]", "fourth", "fifth"]


def read_lines(serve, agent, log, count, after):
    reader = Events(serve.admin, f"{agent.path}/stream/logs?source=file&path={log}", **{"Last-Event-ID": after})
    found = [reader.next()[1]["line"] for _ in range(count)]
    reader.close()
    return found


def test_wrong_log_requests(serve, agent, files, vera):
    ask = lambda client, query: client.request("GET", f"{agent.path}/stream/logs?{query}").status  # noqa: E731
    assert ask(serve.admin, "source=odd") == 422
    assert ask(serve.admin, "source=file") == 422
    wrong = serve.admin.request("GET", f"{agent.path}/stream/logs?source=journald&unit=-x%3B")
    assert (wrong.status, list(wrong.json["fields"])) == (422, ["unit"])
    assert ask(serve.admin, f"source=file&path={files}/nothing") == 404
    (files / "secret").write_text("no\n")
    assert ask(vera, f"source=file&path={files}/secret") == 403


def test_metrics_are_streamed_and_the_stream_ends_with_the_session(serve, tmp_path):
    with EnrolledAgent(tmp_path / "agent", serve) as agent:
        agent.online()
        until(lambda: agent.seen()["metrics_at"], what="a report")
        reader = Events(serve.admin, f"{agent.path}/stream/metrics?token={serve.admin.token}")
        seen = [reader.next() for _ in range(3)]
        assert all(event == "metrics" and name for event, _, name in seen)
        assert seen[-1][1]["mem_percent"] > 0
        agent.kill()
        while True:
            event, data, _ = reader.next()
            if event == "end":
                break
        assert data["reason"].startswith("agent_")
        reader.close()


def test_a_stream_ends_when_its_reader_signs_out(serve, agent, files, vera):
    (files / "quiet").write_text("")
    client = Client(serve.url).login("vera", "horse battery staple")
    (files / "log").mkdir(exist_ok=True)
    (files / "log" / "app.log").write_text("hello\n")
    reader = Events(client, f"{agent.path}/stream/logs?source=file&path={files}/log/app.log")
    assert reader.next()[0] == "log"
    client.post("/api/logout")
    assert reader.next()[:2] == ("end", {"reason": "signed_out", "message": ""})
    reader.close()


def test_the_output_of_a_command_is_followed_until_it_is_over(serve, agent, files):
    first, second = files / "first", files / "second"
    wait = "while [ ! -e {} ]; do sleep 0.1; done"
    script = f"{wait.format(first)}; echo first; {wait.format(second)}; echo second"
    asked = serve.admin.post(f"{agent.path}/commands", {"type": "shell", "params": {"command": script}})
    place = f"{agent.path}/commands/{asked['command_id']}"
    reader = Events(serve.admin, f"{place}/stream")
    first.write_text("")
    assert reader.next()[:2] == ("output", {"text": "first\n"})
    second.write_text("")
    assert reader.next()[:2] == ("output", {"text": "second\n"})
    assert reader.next()[:2] == ("end", {"reason": "over"})
    reader.close()
    assert serve.admin.get(place)["output"] == "first\nsecond\n"
    late = Events(serve.admin, f"{place}/stream")
    assert late.next()[0] == "end"
    late.close()
