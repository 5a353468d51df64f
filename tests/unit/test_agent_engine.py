"""container_recreate with docker: its engine is asked over a real socket, its program is a recorded fake."""

import http.server
import json
import socketserver
import sys
import threading

import pytest

from opsapp.agent import engine
from tests.support.fake_tools import Bench

ID = "d87377b9f5fdd42d767ffd986b87b41b85da6ec40f54a9da112a20fca0b3fd7a"
FOUND = {
    "Id": ID,
    "State": {"Status": "running"},
    "Config": {"Hostname": ID[:12], "Image": "shop:3", "Env": ["A=1"], "Cmd": ["serve"], "Labels": {"x": "y"}},
    "HostConfig": {"Binds": ["data:/data:rw"], "NetworkMode": "front", "RestartPolicy": {"Name": "always"}},
    "Mounts": [
        {"Type": "volume", "Name": "data", "Destination": "/data"},
        {"Type": "volume", "Name": "57f22fd1", "Destination": "/cache"},
        {"Type": "bind", "Source": "/etc/shop", "Destination": "/etc/shop"},
    ],
    "NetworkSettings": {"Networks": {
        "front": {"Aliases": ["shop", ID[:12]], "IPAMConfig": {"IPv4Address": "10.9.0.7"}, "IPAddress": "10.9.0.7"},
        "back": {"Aliases": ["store"], "IPAMConfig": {"IPv4Address": "10.8.0.7"}, "Links": None},
    }},
}  # fmt: skip
DOCKER = """case "$2 $3" in
"inspect --type") cat {found};;
"context inspect") cat {where};;
"stop -t") exit {stop};;
esac"""


class Engine(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Keeps what it is asked; `status` is its answer."""

    daemon_threads = True
    status = 201


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, body))
        said = json.dumps({"message": "no such image"}).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        """Nobody reads it."""


@pytest.fixture
def server(tmp_path):
    with Engine(str(tmp_path / "engine"), Handler) as made:
        made.asked = []
        threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
        yield made
        made.shutdown()


@pytest.fixture
def recreate(tmp_path, monkeypatch):
    def run(found=FOUND, where=None, stop=0):
        files = {"found": json.dumps([found]), "where": where or f"unix://{tmp_path}/engine\n"}
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        script = DOCKER.format(stop=stop, **{name: tmp_path / name for name in files})
        bench = Bench(tmp_path, monkeypatch, {"docker": script, "podman": "exit 1"})
        answer = bench.execute("container_recreate", container="web")
        acts = ("stop", "rename", "network", "start", "rm")
        return answer, [call[1:] for call in bench.calls() if call[0] == "docker" and call[1] in acts]

    return run


def test_the_engine_makes_it_again_as_it_was(server, recreate):
    answer, calls = recreate()
    assert answer.ran.status == "done", answer
    [(path, body)] = server.asked
    assert path == "/containers/create?name=web"
    assert "Hostname" not in body
    assert (body["Image"], body["Env"], body["Cmd"], body["Labels"]) == ("shop:3", ["A=1"], ["serve"], {"x": "y"})
    assert body["HostConfig"]["Binds"] == ["data:/data:rw", "57f22fd1:/cache"]
    assert body["HostConfig"]["RestartPolicy"] == {"Name": "always"}
    front = {"Aliases": ["shop"], "IPAMConfig": {"IPv4Address": "10.9.0.7"}}
    assert body["NetworkingConfig"] == {"EndpointsConfig": {"front": front}}
    assert calls == [
        ["stop", "-t", "10", "--", "web"],
        ["rename", "web", "web-before"],
        ["network", "connect", "--alias", "store", "--ip", "10.8.0.7", "back", "web"],
        ["start", "--", "web"],
        ["rm", "--force", "--", "web-before"],
    ]


def test_what_the_engine_refuses_leaves_the_old_one_running(server, recreate):
    server.status = 404
    answer, calls = recreate()
    assert (answer.ran.status, answer.ran.reason) == ("failed", "it could not be made anew; the old one is back")
    assert b"no such image" in answer.ran.output
    back = [["rm", "--force", "--", "web"], ["rename", "web-before", "web"], ["start", "--", "web"]]
    assert calls[2:] == back


def test_an_engine_that_is_elsewhere_or_gone_is_said(recreate):
    answer, calls = recreate(where="tcp://192.0.2.1:2375\n")
    assert b"the engine is at no socket of this host: tcp://192.0.2.1:2375" in answer.ran.output
    assert calls[-1] == ["start", "--", "web"]


def test_nobody_answers_at_the_socket(recreate):
    answer, _ = recreate()
    assert b"FileNotFoundError" in answer.ran.output


def test_what_cannot_be_loaded_is_known_before_the_old_one_stops(server, recreate, monkeypatch):
    """As when the host's Python was replaced under a running agent."""
    monkeypatch.setitem(sys.modules, "http.client", None)
    answer, calls = recreate()
    assert (answer.ran.status, calls) == ("failed", [])
    assert "http.client" in answer.ran.reason


def test_one_that_does_not_stop_is_started_again(server, recreate):
    answer, calls = recreate(stop=1)
    assert (answer.ran.status, server.asked) == ("failed", [])
    assert calls == [["stop", "-t", "10", "--", "web"], ["start", "--", "web"]]


def test_one_that_is_gone_once_it_stops_is_not_touched(server, recreate):
    answer, calls = recreate({**FOUND, "HostConfig": {"AutoRemove": True}})
    assert (answer.ran.reason, calls) == ("web is gone once it stops: it cannot be set aside", [])


@pytest.mark.parametrize("mode", ["host", "bridge", "default", "container:abc"])
def test_networks_that_nobody_made_are_left_to_the_engine(mode):
    networks = {mode: {"Aliases": None}} if mode != "container:abc" else {}
    found = {"Id": ID, "Config": {"Hostname": "box"}, "HostConfig": {"NetworkMode": mode},
             "NetworkSettings": {"Networks": networks}}  # fmt: skip
    body = engine.described(found)
    assert "NetworkingConfig" not in body
    assert ("Hostname" in body) is (mode != "container:abc")
    assert engine.connecting(found, "web") == []
