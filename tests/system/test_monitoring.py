"""Monitors of a real service against real servers: states, incidents, events, detection time, restarts and crashes."""

import contextlib
import itertools
import json
import random
import socket
import threading
import time
from typing import ClassVar

import pytest

from tests.support.process import Serve, Zeo
from tests.support.targets import NameServer, Website, blackhole, refused_port, website
from tests.support.waiting import patience, until

pytestmark = pytest.mark.system

MONITORS = "/api/monitoring/endpoints"
INCIDENTS = "/api/monitoring/incidents"


class Switch:
    """A website that can be switched off: the port then refuses."""

    def __init__(self):
        self.port = refused_port()
        self._server = self._thread = None

    def on(self):
        self._server = socket.create_server(("127.0.0.1", self.port), backlog=256)
        self._thread = threading.Thread(target=self._serve, args=(self._server,), daemon=True)
        self._thread.start()
        return time.time()

    def _serve(self, server):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = server.accept()
                with connection, contextlib.suppress(OSError):
                    connection.settimeout(2)
                    connection.recv(4096)
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")

    def off(self):
        if self._server is not None:
            self._server.shutdown(socket.SHUT_RDWR)
            self._server.close()
            self._thread.join()
            self._server = None
        return time.time()

    def __enter__(self):
        self.on()
        return self

    def __exit__(self, *_):
        self.off()


def add(serve, name="Shop", **settings):
    body = {"name": name, "type": "http", "interval": 5, "timeout": 1, "retries": 1} | settings
    return serve.admin.post(MONITORS, body)["id"]


def status(serve, monitor_id):
    return serve.admin.get(f"{MONITORS}/{monitor_id}")["status"]


def wait_for(serve, monitor_id, wanted, timeout=15):
    return until(lambda: status(serve, monitor_id) == wanted, timeout, what=f"{wanted} of {monitor_id}")


@contextlib.contextmanager
def stream(serve):
    """What /api/stream says, as it comes: a list of (kind, data, when it was heard)."""
    heard, stop = [], threading.Event()
    sock = socket.create_connection((serve.host, serve.port), 5)
    sock.sendall(f"GET /api/stream?token={serve.admin.token} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    sock.settimeout(0.2)

    def listen():
        text = ""
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                data = sock.recv(65536)
                if not data:
                    return
                text += data.decode()
                *whole, text = text.split("\n\n")
                for block in whole:
                    lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
                    if "event" in lines and "data" in lines:
                        heard.append((lines["event"], json.loads(lines["data"]), time.time()))

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    try:
        yield heard
    finally:
        stop.set()
        thread.join()
        sock.close()


@pytest.fixture
def serve(tmp_path):
    with Serve(tmp_path) as serve:
        yield serve


def test_an_outage_from_end_to_end(serve):
    with Switch() as site, stream(serve) as heard:
        monitor_id = add(serve, url=f"http://127.0.0.1:{site.port}/", tags=["shop"])
        wait_for(serve, monitor_id, "up", 3)
        site.off()
        wait_for(serve, monitor_id, "down")
        (incident,) = serve.admin.get(f"{INCIDENTS}?status=open")
        assert incident["monitor_id"] == monitor_id
        assert "connect" in incident["cause"].lower()
        site.on()
        wait_for(serve, monitor_id, "up")
        assert serve.admin.get(f"{INCIDENTS}?status=open") == []
        until(lambda: len(heard) >= 6, what="six events")
    told = [(kind, data["change"], data["status"]) for kind, data, _ in heard]
    assert told == [
        ("monitor", "created", "pending"),
        ("monitor", "status", "up"),
        ("incident", "opened", "open"),
        ("monitor", "status", "down"),
        ("incident", "resolved", "resolved"),
        ("monitor", "status", "up"),
    ]


def test_every_type_end_to_end(serve):
    """Each type is up against a right server and down against a wrong one."""
    records = {("www.test", "A"): ["192.0.2.7"]}
    silent = serve.admin.post("/api/agents", {"label": "silent"})["agent_id"]
    with website() as site, NameServer(records) as names, blackhole() as hole:
        host = f"127.0.0.1:{site.port}"
        up = {
            "http": {"url": f"http://{host}/"},
            "keyword": {"url": f"http://{host}/", "keyword": "Welcome"},
            "json": {"url": f"http://{host}/json", "json_path": "$.state", "expected_value": "ok"},
            "tcp": {"url": f"tcp://{host}"},
            "ping": {"url": "ping://127.0.0.1"},
            "dns": {"url": f"dns://127.0.0.1:{names.port}/www.test?type=A"},
        }
        down = {
            "http": {"url": f"http://{host}/status/500"},
            "keyword": {"url": f"http://{host}/", "keyword": "Welcome", "keyword_absent": True},
            "json": {"url": f"http://{host}/json", "json_path": "$.state", "expected_value": "broken"},
            "tcp": {"url": f"tcp://127.0.0.1:{refused_port()}"},
            "dns": {"url": f"dns://127.0.0.1:{names.port}/nowhere.test?type=A"},
            "tls": {"url": f"tls://127.0.0.1:{hole}"},
            "agent": {"url": f"agent://{silent}"},
        }
        good = {kind: add(serve, f"good {kind}", type=kind, retries=0, **more) for kind, more in up.items()}
        bad = {kind: add(serve, f"bad {kind}", type=kind, retries=0, **more) for kind, more in down.items()}
        push = add(serve, "push", type="push")
        url = serve.admin.get(f"{MONITORS}/{push}")["push_url"]
        assert serve.client().get(url) == {"status": "ok"}
        wait_for(serve, push, "up", 3)
        for monitor_id in good.values():
            wait_for(serve, monitor_id, "up", 5)
        agent = bad.pop("agent")
        for monitor_id in bad.values():
            wait_for(serve, monitor_id, "down", 5)
        assert status(serve, agent) == "unknown"
        wait_for(serve, push, "down", 10)


@pytest.mark.parametrize("outages", [12, pytest.param(100, marks=pytest.mark.soak)])
def test_an_outage_is_noticed_in_time(serve, outages):
    """Target down → incident committed within interval + retries × spacing + 1 s, at seeded moments of the interval.
    What counts is when the stream tells of it, which is after the commit."""
    dice = random.Random(3)
    bound = 5 + 1 * 1.25 + 1
    with contextlib.ExitStack() as stack:
        switches = [stack.enter_context(Switch()) for _ in range(outages)]
        sites = {add(serve, f"site {site.port}", url=f"http://127.0.0.1:{site.port}/"): site for site in switches}
        for monitor_id in sites:
            wait_for(serve, monitor_id, "up", 5)
        heard, died = stack.enter_context(stream(serve)), {}
        for monitor_id, site in sites.items():
            time.sleep(dice.uniform(0, 0.8))  # the moment of the outage is what this test varies
            died[monitor_id] = site.off()
        until(lambda: len(heard) >= 2 * outages, 20, what="all incidents")
    opened = {data["monitor_id"]: at for kind, data, at in heard if kind == "incident"}
    assert set(opened) == set(sites)
    assert {each: at - died[each] for each, at in opened.items() if at - died[each] > bound} == {}


def test_hanging_targets_delay_no_other_check(serve):
    with blackhole() as hole, website() as site:
        for n in range(100):
            add(serve, f"hangs {n}", url=f"http://127.0.0.1:{hole}/", timeout=4)
        monitor_id = add(serve, "good", url=f"{site.url}/counted", timeout=1, interval=5)
        wait_for(serve, monitor_id, "up", 10)
        began = len(times(site))
        until(lambda: len(times(site)) >= began + 3, 20, what="three more checks")
        assert serve.admin.get(f"{MONITORS}/{monitor_id}")["response_time_ms"] < 500


def times(site):
    return [path for _, path, _ in site.seen if path == "/counted"]


def test_a_restart_keeps_the_state_and_opens_nothing_twice(tmp_path):
    with Switch() as site, Serve(tmp_path) as serve:
        good = add(serve, "good", url=f"http://127.0.0.1:{site.port}/")
        bad = add(serve, "bad", url=f"http://127.0.0.1:{refused_port()}/", retries=0)
        wait_for(serve, good, "up")
        wait_for(serve, bad, "down")
        assert serve.stop() == 0
        serve.start()
        assert status(serve, good) in ("unknown", "up")
        wait_for(serve, good, "up")
        wait_for(serve, bad, "down")
        assert len(serve.admin.get(INCIDENTS)) == 1


class Witness(Website):
    """Remembers when it was asked for what."""

    asked: ClassVar[list[tuple[str, float]]] = []

    def do_GET(self):
        self.asked.append((self.path, time.time()))
        super().do_GET()


@pytest.mark.crash
def test_kill_9_under_load_loses_at_most_the_last_second_and_opens_nothing_twice(tmp_path):
    """Three seeded crashes while monitors flap; then every monitor that is down has one open incident and no other."""
    dice, serve = random.Random(7), Serve(tmp_path)
    with Switch() as site, website(handler=Witness) as other, serve:
        flapping = [add(serve, f"f{n}", url=f"http://127.0.0.1:{site.port}/", retries=0) for n in range(20)]
        steady = {add(serve, f"s{n}", url=f"{other.url}/s{n}"): f"/s{n}" for n in range(20)}
        for monitor_id in (*flapping, *steady):
            wait_for(serve, monitor_id, "up")
        since, went_off = 0.0, []
        for _ in range(3):
            went_off.append(time.time())
            site.off()
            time.sleep(dice.uniform(1.0, 5.0))  # the moment of the crash is what this test varies
            killed = time.time()
            serve.kill()
            site.on()
            serve.start()
            back = time.time()
            for monitor_id in (*flapping, *steady):
                wait_for(serve, monitor_id, "up", 20)
            gaps_are_unknown(serve, steady, since, killed, back)
            since = back
        incidents = serve.admin.get(f"{INCIDENTS}?limit=1000")
        assert {incident["status"] for incident in incidents} <= {"resolved"}
        for monitor_id in flapping:
            own = sorted((each["started"], each["resolved"]) for each in incidents if each["monitor_id"] == monitor_id)
            assert all(first[1] <= second[0] for first, second in itertools.pairwise(own))
            outages = [sum(at <= started + 1 for at in went_off) for started, _ in own]  # told in whole seconds
            assert len(outages) == len(set(outages)), "one outage, two incidents"
        assert all(each["monitor_id"] in flapping for each in incidents)


def gaps_are_unknown(serve, steady, since, killed, back):
    """Every check that its target saw from `since` until a second before the crash is in the history, and nothing
    claims the gap. The journal is committed each second: what a commit takes on a busy machine comes on top."""
    bound = killed - 1 - 0.1 * patience()
    for monitor_id, path in steady.items():
        points = serve.admin.get(f"{MONITORS}/{monitor_id}/history?range_h=1&resolution=1")
        kept = [point["time"] for point in points for _ in range(point["checks"]) if since <= point["time"] <= killed]
        asked = [at for asked, at in Witness.asked if asked == path and since <= at <= killed]
        due = [at for at in asked if since + 1 <= at <= bound]  # the history tells whole seconds
        assert [at for at in due if not any(-1 <= at - time <= 2 for time in kept)] == []
        assert len(due) <= len(kept)
        assert not [point for point in points if killed + 0.5 < point["time"] < back - 2]


@pytest.mark.own_store
def test_two_nodes_share_the_checks_and_one_takes_over(tmp_path):
    with Zeo(tmp_path / "zeo") as zeo, website() as site:
        first = Serve(tmp_path / "one", node="one", **zeo.uris())
        second = Serve(tmp_path / "two", node="two", **zeo.uris())
        first.start()
        second.start()
        try:
            ids = [add(first, f"m{n}", url=f"{site.url}/m{n}") for n in range(30)]
            for monitor_id in ids:
                until(lambda each=monitor_id: status(first, each) == "up", 15, what="up on one")
                until(lambda each=monitor_id: status(second, each) == "up", 15, what="up on two")
            for serve in (first, second):
                until(lambda each=serve: metric(each, "opsapp_checks_total") > 0, 10, what="a share of the checks")
            down = add(first, "down", url=f"{site.url}/status/500", retries=0)
            for serve in (first, second):
                wait_for(serve, down, "down")
            until(lambda: second.admin.get(f"{MONITORS}/{down}")["last_check"] > time.time() - 4, 15, what="news of it")
            first.kill()
            killed = time.monotonic()
            seen = len(site.seen)
            until(lambda: len({path for _, path, _ in site.seen[seen:]}) >= 31, 16, what="all are checked again")
            assert time.monotonic() - killed < 6 + 2 + 5 + 2  # noticed dead, its beat, an interval, slack
        finally:
            second.stop()
            first.kill()


def metric(serve, name):
    text = serve.admin.request("GET", "/metrics").body.decode()
    return next(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))


def test_ten_clients_register_monitors_at_once(serve):
    failures = []

    def register(client):
        try:
            for n in range(40):
                add(serve, f"c{client} m{n}", url="http://127.0.0.1:1/", interval=3600)
        except Exception as problem:
            failures.append(problem)

    assert serve.admin.token
    threads = [threading.Thread(target=register, args=(n,)) for n in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert serve.admin.request("GET", f"{MONITORS}?limit=1").headers["x-total-count"] == "400"
