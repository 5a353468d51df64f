"""All nodes are restarted behind nginx, as the guide says it: no request fails, streams and agents come back."""

import contextlib
import http.client
import itertools
import re
import threading
from types import SimpleNamespace

import pytest

from tests.support.agent_process import EnrolledAgent
from tests.support.client import Client
from tests.support.nginx import Nginx, guide
from tests.support.postgres import Postgres
from tests.support.process import Serve, Zeo, free_port
from tests.support.waiting import until

pytestmark = [pytest.mark.system, pytest.mark.own_store, pytest.mark.nightly("restarts of all nodes take minutes")]


class Asking(threading.Thread):
    """One client after another request."""

    def __init__(self, client, method, path, body=None):
        super().__init__(daemon=True)
        self.client, self.method, self.path, self.body = client, method, path, body
        self.answered, self.failed = [], []
        self._over = threading.Event()
        self.start()

    def run(self):
        for number in itertools.count():
            if self._over.is_set():
                return
            try:
                answer = self.client.request(self.method, self.path, self.body and self.body(number))
                kept = self.answered if answer.status < 300 else self.failed
                kept.append(answer.json if answer.status < 300 else (answer.status, answer.body[:300]))
            except (OSError, http.client.HTTPException) as problem:
                self.failed.append(repr(problem))
            self._over.wait(0.05)

    def end(self):
        self._over.set()
        self.join()
        return self


class Following(threading.Thread):
    """A stream of events that is opened again whenever it ends."""

    def __init__(self, port, token):
        super().__init__(daemon=True)
        self.port, self.token, self.opened, self.refused, self.over = port, token, 0, [], False
        self.heard = b""
        self.start()

    def run(self):
        while not self.over:
            link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            try:
                link.request("GET", "/api/stream", headers={"Authorization": f"Bearer {self.token}"})
                answer = link.getresponse()
                if answer.status != 200:
                    self.refused.append(answer.status)
                    continue
                self.opened += 1
                while not self.over and (piece := answer.read1(65536)):
                    self.heard += piece
            except (OSError, http.client.HTTPException) as problem:
                self.refused.append(repr(problem))
            finally:
                link.close()


@pytest.fixture(params=["zeo", "postgresql"])
def store(request, tmp_path):
    with Zeo(tmp_path / "zeo", cuts=True) if request.param == "zeo" else Postgres() as store:
        yield store


def as_the_guide_says(port, nodes):
    """Its configuration, with the places of this test in it, and without the certificate for people."""
    said = guide("proxy_next_upstream")
    places = {"127.0.0.1:6081": nodes[0], "127.0.0.1:6082": nodes[1], "listen 443 ssl": f"listen 127.0.0.1:{port}"}
    for written, here in places.items():
        assert written in said
        said = said.replace(written, here)
    return re.sub(r"^ *ssl_certificate.*$", "", said, flags=re.M)


def restarted(node, nginx):
    """The guide waits three seconds afterwards, for nginx tries a node again two seconds after it was away."""
    assert node.stop() == 0
    node.start()
    address = f"127.0.0.1:{node.port}"
    before = nginx.answered_by(address)
    until(lambda: nginx.answered_by(address) > before, 20, what=f"nginx asking {node.flags['node']} again")


def test_all_nodes_are_restarted_and_no_request_fails(tmp_path, store):
    port, uris = free_port(), store.uris()
    config = {"web": {"trusted_proxies": ["127.0.0.1"]}, "agents": {"report_interval_s": 1}}
    with contextlib.ExitStack() as running:
        nodes = [
            running.enter_context(Serve(tmp_path / name, config, node=name, data=tmp_path / "data", **uris))
            for name in ("one", "two")
        ]
        told = as_the_guide_says(port, [f"127.0.0.1:{node.port}" for node in nodes])
        nginx = running.enter_context(Nginx(tmp_path / "nginx", told, port))
        front = Client(f"http://127.0.0.1:{port}", token=nodes[0].admin.token)
        agent = running.enter_context(EnrolledAgent(tmp_path / "agent", SimpleNamespace(url=front.url, admin=front)))
        agent.online()
        reads = [Asking(front, "GET", "/api/me"), Asking(front, "GET", "/api/monitoring/endpoints")]
        writes = [
            Asking(front, "POST", "/api/agents", lambda number, by=by: {"label": f"{by}-{number}"}) for by in "ab"
        ]
        stream = Following(port, front.token)
        until(lambda: stream.opened and all(each.answered for each in reads + writes), 20, what="answers")
        for node in nodes:
            restarted(node, nginx)
            until(lambda: front.get(agent.path)["connected"], 30, what="the agent being back")
        answered = [len(each.answered) for each in reads + writes]
        until(lambda: all(len(each.answered) > n for each, n in zip(reads + writes, answered, strict=True)), 10)
        failed = [problem for each in reads + writes for problem in each.end().failed]
        assert failed == [], (failed[:5], len(failed), sum(answered), nginx.errors()[-3000:])
        made = [answer["agent_id"] for each in writes for answer in each.answered]
        assert len(set(made)) == len(made)  # nothing was done twice
        labels = [row["label"] for row in front.get("/api/agents")]
        assert sorted(label for label in labels if label[1:2] == "-") == sorted(
            f"{by}-{number}" for by, each in zip("ab", writes, strict=True) for number in range(len(each.answered))
        )
        heard = len(stream.heard)
        until(lambda: len(stream.heard) > heard, 20, what="the stream going on")
        assert stream.opened >= 2
        assert stream.refused == []
        assert agent.finished(agent.ask("echo back"))["output"] == "back\n"
        stream.over = True
        front.post("/api/agents", {"label": "so that the stream wakes"})
        stream.join()
