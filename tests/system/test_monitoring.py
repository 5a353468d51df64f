"""Monitors of a real service against real servers: states, incidents, events, restarts and crashes."""

import contextlib
import random
import threading
import time

import pytest

from tests.support.othernode import knows, signed_in_at
from tests.support.outages import Failing, Holding, Switch, event_stream
from tests.support.process import Serve, Zeo
from tests.support.targets import NameServer, blackhole, refused_port, website
from tests.support.waiting import until
from tests.system.test_attack_locks import Browser

pytestmark = pytest.mark.system

MONITORS = "/api/monitoring/endpoints"
INCIDENTS = "/api/monitoring/incidents"


def add(serve, name="Shop", **settings):
    body = {"name": name, "type": "http", "interval": 5, "timeout": 4, "retries": 1} | settings
    return serve.admin.post(MONITORS, body)["id"]


def status(serve, monitor_id):
    return serve.admin.get(f"{MONITORS}/{monitor_id}")["status"]


def wait_for(serve, monitor_id, wanted, timeout=15):
    return until(lambda: status(serve, monitor_id) == wanted, timeout, what=f"{wanted} of {monitor_id}")


@pytest.fixture
def serve(tmp_path):
    with Serve(tmp_path) as serve:
        yield serve


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """For tests that look at monitors of their own, and leave none."""
    with Serve(tmp_path_factory.mktemp("shared")) as serve:
        yield serve


@contextlib.contextmanager
def added(serve, *args, **settings):
    """The id of a monitor, until the block ends."""
    monitor_id = add(serve, *args, **settings)
    try:
        yield monitor_id
    finally:
        serve.admin.delete(f"{MONITORS}/{monitor_id}")


def test_an_outage_from_end_to_end(shared):
    serve = shared
    with (
        Switch() as site,
        event_stream(serve) as heard,
        added(serve, url=f"http://127.0.0.1:{site.port}/", tags=["shop"]) as monitor_id,
    ):
        wait_for(serve, monitor_id, "up", 3)
        site.off()
        wait_for(serve, monitor_id, "down")
        (incident,) = serve.admin.get(f"{INCIDENTS}?status=open")
        assert incident["monitor_id"] == monitor_id
        assert "connect" in incident["cause"].lower()
        site.on()
        wait_for(serve, monitor_id, "up")
        assert serve.admin.get(f"{INCIDENTS}?status=open") == []
        told = until(lambda: len(events := about(heard, monitor_id)) >= 6 and events, what="six events")
    assert told == [
        ("monitor", "created", "pending"),
        ("monitor", "status", "up"),
        ("incident", "opened", "open"),
        ("monitor", "status", "down"),
        ("incident", "resolved", "resolved"),
        ("monitor", "status", "up"),
    ]


def about(heard, monitor_id):
    """What was said of this monitor, and of its incidents."""
    of_it = [(kind, data) for kind, data, _ in list(heard) if monitor_id in (data.get("id"), data.get("monitor_id"))]
    return [(kind, data["change"], data["status"]) for kind, data in of_it]


@pytest.mark.nightly("every type has its tests in test_probes.py")
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
def test_an_outage_is_noticed_by_the_first_check_that_fails_and_its_re_check(shared, outages):
    """At seeded moments of the interval. The check after those two is well: by it nobody would notice. How soon that
    is: `make bench`; when the re-check comes: tests/unit/test_monitor_state.py."""
    dice, serve = random.Random(3), shared
    with (
        website(handler=Failing) as site,
        contextlib.ExitStack() as monitors,
        event_stream(serve, note=lambda: dict(site.failed)) as heard,
    ):
        site.to_fail, site.failed = {}, {}
        paths = {
            monitors.enter_context(added(serve, f"site {n}", url=f"{site.url}/{n}")): f"/{n}" for n in range(outages)
        }
        for monitor_id in paths:
            wait_for(serve, monitor_id, "up", 5)
        for path in paths.values():
            time.sleep(dice.uniform(0, 0.8))  # the seeded point of the outage
            site.to_fail[path] = 2
        until(lambda: len(opened(heard)) >= outages, 20, what="all incidents")
        for monitor_id in paths:
            wait_for(serve, monitor_id, "up")
    assert {paths[monitor_id]: failed[paths[monitor_id]] for monitor_id, failed in opened(heard)} == {
        path: 2 for path in paths.values()
    }
    assert len(opened(heard)) == outages


def opened(heard):
    """(the monitor of each incident that was opened, how often each target had failed by then)."""
    incidents = [(data, note) for kind, data, note in heard if kind == "incident"]
    return [(data["monitor_id"], note) for data, note in incidents if data["change"] == "opened"]


def test_hanging_targets_delay_no_other_check(serve):
    with website(handler=Holding) as hole, website(handler=Holding) as site:
        Holding.held, Holding.beside = set(), []
        for n in range(100):
            add(serve, f"hangs {n}", url=f"{hole.url}/hold{n}", interval=61, timeout=60)
        monitor_id = add(serve, "good", url=f"{site.url}/counted", timeout=4, interval=5)
        wait_for(serve, monitor_id, "up", 10)
        until(lambda: sum(held > 90 for held in Holding.beside) >= 3, 20, what="three checks while the others hang")
        assert status(serve, monitor_id) == "up"


@pytest.mark.nightly("minutes; the seeded kills of the night do more")
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


@pytest.mark.nightly("minutes; the core list has kills in tests/system/test_series_crash.py")
@pytest.mark.crash
def test_kill_9_under_load_loses_nothing_that_was_shown_and_opens_nothing_twice(tmp_path):
    """Three seeded crashes while monitors flap; then every monitor that is down has one open incident and no other."""
    dice, serve = random.Random(7), Serve(tmp_path)
    with Switch() as site, website() as other, serve:
        flapping = [add(serve, f"f{n}", url=f"http://127.0.0.1:{site.port}/", retries=0) for n in range(20)]
        steady = {add(serve, f"s{n}", url=f"{other.url}/s{n}"): f"/s{n}" for n in range(20)}
        for monitor_id in (*flapping, *steady):
            wait_for(serve, monitor_id, "up")
        known = set()
        for _ in range(3):
            shown = all_are_shown(serve, steady, other)
            site.off()
            time.sleep(dice.uniform(1.0, 5.0))  # the seeded point of the kill
            serve.kill()
            site.on()
            serve.start()
            for monitor_id in (*flapping, *steady):
                wait_for(serve, monitor_id, "up", 20)
            for monitor_id, path in steady.items():
                assert shown[monitor_id] <= checks_of(serve, monitor_id) <= asked_for(other, path), "lost, or invented"
            incidents = serve.admin.get(f"{INCIDENTS}?limit=1000")
            fresh = [incident["monitor_id"] for incident in incidents if incident["id"] not in known]
            assert len(fresh) == len(set(fresh)), "one outage, two incidents"
            known = {incident["id"] for incident in incidents}
        assert {incident["status"] for incident in incidents} <= {"resolved"}
        assert {incident["monitor_id"] for incident in incidents} <= set(flapping)


def asked_for(site, path):
    return sum(asked == path for _, asked, _ in list(site.seen))


def checks_of(serve, monitor_id):
    """How many checks are in its history. What is shown there was committed: the journal is, each second."""
    return sum(point["checks"] for point in serve.admin.get(f"{MONITORS}/{monitor_id}/history?range_h=1&resolution=1"))


def all_are_shown(serve, steady, site):
    """The checks in each history, once all those are there that the target had seen when this was called."""
    asked = {monitor_id: asked_for(site, path) for monitor_id, path in steady.items()}

    def shown(monitor_id):
        count = checks_of(serve, monitor_id)
        return count if count >= asked[monitor_id] else None

    return {each: until(lambda each=each: shown(each), 10, what=f"checks in the history of {each}") for each in steady}


@pytest.mark.nightly("shards have tests in tests/engine")
@pytest.mark.own_store
def test_two_nodes_share_the_checks_and_one_takes_over(tmp_path):
    with Zeo(tmp_path / "zeo") as zeo, website() as site:
        first = Serve(tmp_path / "one", node="one", **zeo.uris())
        second = Serve(tmp_path / "two", node="two", **zeo.uris())
        first.start()
        second.start()
        try:
            ids = [add(first, f"m{n}", url=f"{site.url}/m{n}") for n in range(30)]
            second._admin = signed_in_at(second, first)
            for monitor_id in ids:
                until(lambda each=monitor_id: status(first, each) == "up", 15, what="up on one")
                knows(second.admin, f"{MONITORS}/{monitor_id}")
                until(lambda each=monitor_id: status(second, each) == "up", 15, what="up on two")
            for serve in (first, second):
                until(lambda each=serve: metric(each, "opsapp_checks_total") > 0, 10, what="a share of the checks")
            down = add(first, "down", url=f"{site.url}/status/500", retries=0)
            knows(second.admin, f"{MONITORS}/{down}")
            for serve in (first, second):
                wait_for(serve, down, "down")
            checked_at = second.admin.get(f"{MONITORS}/{down}")["last_check"]
            until(lambda: second.admin.get(f"{MONITORS}/{down}")["last_check"] > checked_at, 15, what="news of it")
            first.kill()
            seen = len(site.seen)
            until(lambda: len({path for _, path, _ in site.seen[seen:]}) >= 31, 16, what="all are checked again")
        finally:
            second.stop()
            first.kill()


def metric(serve, name):
    text = serve.admin.request("GET", "/metrics").body.decode()
    return next(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))


@pytest.mark.nightly("the store's conflicts have tests in tests/race")
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


def test_a_page_that_asks_for_the_status_document_beside_others_is_answered(shared):
    """It asks in its thread, and not on the hub as the public page does."""
    browser = Browser(shared)
    assert browser.sign_in("admin") == 303
    assert browser.ask("GET", "/first-steps").status == 200
    assert browser.ask("GET", "/status").status == 200
