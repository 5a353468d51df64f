"""Two nodes on one ZEO server: an agent's session is on one of them, and the other one answers all the same."""

import contextlib
import hashlib
import os
import signal
import socket
import time

import pytest
import yaml

from opsapp import app as opsapp_app
from opsapp.agent.metrics import machine_id
from opsapp.agents.engine import give_policies
from opsapp.wire.policies import Policy, PolicyStep, PolicyTerms
from tests.support.agent_process import EnrolledAgent
from tests.support.box import Box
from tests.support.client import Client
from tests.support.othernode import knows, signed_in_at
from tests.support.process import Serve, Zeo
from tests.support.together import repeated
from tests.support.waiting import until
from tests.system.test_agent_streams import Events, get, put

pytestmark = [pytest.mark.system, pytest.mark.own_store]
CONFIG = {
    "agents": {"report_interval_s": 1, "max_file_bytes": 8 << 20},
    "healing": {
        "default_rules": False,
        "hold_s": 0.1,
        "rules": [
            {"id": "stuck", "condition": 'service.nginx.state == "failed"', "severity": "warning",
             "action": {"type": "restart_service"}, "initial_level": "notify", "cooldown_s": 600}
        ],
    },
}  # fmt: skip


@contextlib.contextmanager
def two_nodes(place):
    with Zeo(place / "zeo") as zeo:
        nodes = [Serve(place / name, CONFIG, node=name, data=place / "data", **zeo.uris()) for name in ("one", "two")]
        try:
            for node in nodes:
                node.start()
            nodes[1]._admin = signed_in_at(nodes[1], nodes[0])
            yield *nodes, zeo, place / "data"
        finally:
            for node in nodes:
                node.end()


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    with two_nodes(tmp_path_factory.mktemp("pair")) as pair:
        yield pair


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def agent(pair, files, tmp_path_factory):
    """Connected to node one."""
    with EnrolledAgent(tmp_path_factory.mktemp("agent"), pair[0], viewer_paths=[str(files / "log")]) as agent:
        agent.online()
        until(lambda: knows(pair[1].admin, agent.path)["connected"], what="the other node knowing of the session")
        yield agent


@pytest.fixture
def two(pair):
    return pair[1].admin


def test_the_other_node_shows_all_that_was_reported(agent, two):
    seen = until(lambda: two.get(agent.path) if two.get(agent.path)["metrics"]["disks"] else None, what="a report")
    assert (seen["status"], seen["connected"], seen["agent_node"]) == ("online", True, "one")
    # never in the journal: only told from node to node, so after what the journal tells
    until(lambda: two.get(agent.path)["metrics"]["top_processes"], what="what is told from node to node")


def test_a_report_to_the_other_node_moves_no_session(agent, two, files):
    """As a new version does that is tried beside the old one, behind a balancer; and a copy of the disk elsewhere."""
    key = {"X-Agent-Key": agent.key}
    command = agent.ask(f"while [ ! -e {files}/gate ]; do sleep 0.1; done; echo mine")
    until(lambda: agent.command(command)["status"] == "running", what="the command running")
    machine = machine_id() or socket.gethostname()
    told = {"hostname": agent.seen()["hostname"], "os": agent.seen()["os"], "machine_id": machine}
    tried = Client(two.url).post(f"{agent.path}/report", told, headers=key)
    assert tried["commands"] == []
    assert two.get(agent.path)["agent_node"] == "one"
    assert put(two, agent, files / "after", b"x").status == 200
    copy = {**told, "hostname": "copy", "machine_id": "another", "held": []}
    refused = Client(two.url).request("POST", f"{agent.path}/report", copy, headers=key)
    assert (refused.status, refused.json["code"]) == (409, "clone")
    until(lambda: two.get(agent.path)["clone_detected_at"], what="the clone being told of")
    assert two.get(agent.path)["hostname"] == told["hostname"]
    (files / "gate").touch()
    assert agent.finished(command)["output"] == "mine\n"


def test_files_go_through_the_other_node(agent, two, files):
    data = os.urandom(3_000_001)
    stored = put(two, agent, files / "big", data)
    assert (stored.status, stored.json["sha256"]) == (200, hashlib.sha256(data).hexdigest())
    back = get(two, agent, files / "big")
    assert (back.status, back.body == data, back.headers["content-length"]) == (200, True, str(len(data)))
    mark = back.headers["etag"]
    part = get(two, agent, files / "big", **{"Range": "bytes=10-19", "If-Range": mark})
    assert (part.status, part.body) == (206, data[10:20])
    assert get(two, agent, files / "big", Range="bytes=9999999-").status == 416


def test_refusals_are_the_same_and_say_as_much(pair, agent, two, files):
    (files / "log").mkdir(exist_ok=True)
    (files / "log" / "app.log").write_text("hello\n")
    (files / "secret").write_text("no\n")
    two.post("/api/users", {"username": "vera", "password": "horse battery staple", "role": "viewer"})
    vera = Client(pair[1].url).login("vera", "horse battery staple")
    assert get(vera, agent, files / "log" / "app.log").body == b"hello\n"
    assert get(vera, agent, files / "secret").status == 403
    assert get(two, agent, files / "nothing").json["code"] == "no_such_file"
    assert put(vera, agent, files / "new", b"x").status == 403
    assert put(two, agent, files / "none" / "x", b"x").status == 404
    assert put(two, agent, files / "huge", b"x" * ((8 << 20) + 1)).status == 413
    assert not (files / "huge").exists()


def test_an_upload_is_in_the_audit_once(agent, two, files):
    before = len(two.get("/api/audit?action=agent.file.write"))
    assert put(two, agent, files / "audited", b"x").status == 200
    assert len(two.get("/api/audit?action=agent.file.write")) == before + 1


def test_a_log_is_followed_through_the_other_node(agent, two, files):
    log = files / "followed"
    log.write_text("first\n")
    reader = Events(two, f"{agent.path}/stream/logs?source=file&path={log}&token={two.token}")
    assert reader.next()[1]["line"] == "first"
    with log.open("a") as file:
        file.write("second\n")
    assert reader.next()[1]["line"] == "second"
    reader.close()
    ask = two.request("GET", f"{agent.path}/stream/logs?source=file&path={files}/none")
    assert (ask.status, ask.json["code"]) == (404, "no_such_file")


def test_metrics_are_streamed_through_the_other_node(agent, two):
    reader = Events(two, f"{agent.path}/stream/metrics")
    first, second = reader.next(), reader.next()
    assert (first[0], second[0]) == ("metrics", "metrics")
    assert second[1]["time"] >= first[1]["time"]
    reader.close()


def test_commands_and_cancellations_through_the_other_node(agent, two):
    body = {"type": "shell", "params": {"command": "echo there; sleep 60"}}
    asked = two.post(f"{agent.path}/commands", body)["command_id"]
    record = lambda: two.get(f"{agent.path}/commands/{asked}")  # noqa: E731
    until(lambda: record()["status"] == "running", what="running")
    two.delete(f"{agent.path}/commands/{asked}")
    assert agent.finished(asked)["status"] == "cancelled"


def test_nobody_but_a_node_speaks_as_one(agent, pair):
    for headers in ({}, {"X-Opsapp-Node": "nobody"}, {"X-Opsapp-Node": "W10=.00"}, {"X-Opsapp-Node": "W10=.\xff"}):
        for path in ("/node-heard", "/node-measure", "/node-probe"):
            answer = pair[0].client().request("POST", path, {"reports": []}, headers)
            assert answer.status in (303, 401, 403)
        assert pair[0].client().request("GET", "/api/me", headers=headers).status == 401
    assert pair[0].admin.request("POST", "/node-heard", {"reports": []}).status == 403


@pytest.mark.parametrize("number", [0, 1])
def test_an_alert_fires_whichever_node_is_reported_to(pair, number):
    """A service's state is in no journal. One of the two nodes evaluates the rules; nobody here asks which."""
    made = pair[number].admin.post("/api/agents", {"label": f"web{number}"})
    box = Box(pair[number].url, made["agent_id"], made["key"], hostname=f"web-{number}").start()
    try:
        until(lambda: pair[0].admin.get(f"/api/agents/{made['agent_id']}")["status"] == "online", what="online")
        box.state = "failed"
        look = lambda: pair[0].admin.get(f"/api/healing/ledger?target=web-{number}")  # noqa: E731
        until(lambda: any(row["outcome"] == "notified" for row in look()), 30, what="the alert")
    finally:
        box.stop()


def test_a_poller_that_is_watched_on_the_other_node_reports_more_often(pair, tmp_path):
    """The node that answers its polls has to know of a reader that came to the other one."""
    slow = {**CONFIG, "agents": {**CONFIG["agents"], "report_interval_s": 60}}
    one, two = pair[0], pair[1]
    made = one.admin.post("/api/agents", {"label": "poller"})
    path, headers = f"/api/agents/{made['agent_id']}", {"X-Agent-Key": made["key"]}
    report = {"hostname": "poller", "os": "x", "cpu_percent": 1}
    for serve in (one, two):
        serve.config.write_text(yaml.safe_dump(slow))
        serve.child.send_signal(signal.SIGHUP)

    def interval():
        """A report may be made again. That of a store whose server had no turn for a moment is answered with 503."""
        answer = one.client().request("POST", f"{path}/report", report, headers=headers)
        assert answer.status in (200, 503)
        return answer.json.get("interval")

    try:
        until(lambda: interval() == 60, what="the slow interval")
        until(lambda: two.admin.get(path)["status"] == "online", what="the other node knowing of it")
        reader = Events(two.admin, f"{path}/stream/metrics")
        until(lambda: interval() == 5, what="more frequent reports")
        with repeated(interval):
            assert reader.next()[1]["cpu_percent"] == 1
        reader.close()
        until(lambda: interval() == 60, what="reports as before")
    finally:
        for serve in (one, two):
            serve.config.write_text(yaml.safe_dump(CONFIG))
            serve.child.send_signal(signal.SIGHUP)
            until_it_reports_again(serve)


def until_it_reports_again(serve):
    """The other tests of this file have the interval and the sizes of CONFIG."""

    def interval():
        rows = {row["name"]: row["value"] for row in serve.admin.get("/api/settings")["settings"]}
        return rows["agents.report_interval_s"]

    until(lambda: interval() == "1", what="the configuration that was there before")


def test_policies_given_on_a_third_node_reach_the_session(agent, pair):
    zeo, data = pair[2], pair[3]
    store = {"opsapp.store": zeo.uris()["store"], "opsapp.history_store": zeo.uris()["history_store"]}
    app = opsapp_app.main({}, **store, **{"opsapp.data": str(data), "opsapp.node": "three"})
    node = app.registry["opsapp.node"]
    try:
        terms = PolicyTerms(
            (Policy("r", "cpu_percent > 101", (PolicyStep("flush_dns"),)),), offline_after_s=45, budget=1
        )
        kept = agent.state / "policies.json"
        for version in (1, 2):
            node.transact(lambda root: give_policies(root, agent.id, terms, expires_at=time.time() + 3600))
            until(lambda v=version: kept.exists() and f'"version":{v}' in kept.read_text(), what="the policies")
    finally:
        node.stop()


def test_the_other_node_says_so_when_the_first_is_gone(tmp_path):
    """What needed the dead node is told so by the refused connection: nothing is waited for, neither the end of a
    time nor the others holding the node for dead."""
    with two_nodes(tmp_path / "pair") as pair, EnrolledAgent(tmp_path / "agent", pair[0]) as agent:
        two = pair[1].admin
        agent.online()
        until(lambda: knows(two, agent.path)["connected"], what="the other node knowing of the session")
        (tmp_path / "there").write_text("x")
        assert get(two, agent, tmp_path / "there").body == b"x"
        pair[0].kill()
        answer = get(two, agent, tmp_path / "there")
        assert (answer.status, answer.json["code"]) == (503, "node_away")
        assert "Connection refused" in answer.json["error"]
        until(lambda: not two.get(agent.path)["connected"], 30, what="the session being known to be gone")
        assert get(two, agent, tmp_path / "there").json["code"] == "agent_offline"
