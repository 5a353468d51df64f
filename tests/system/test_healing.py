"""The first heal, over the wire: a real server process, a host that polls, from an alert to a verified entry."""

import random
import threading
import time

import pytest

from tests.support.box import Box
from tests.support.process import Serve
from tests.support.waiting import until

pytestmark = pytest.mark.system

HOSTS = 4  # of which each death of the server meets one heal each


def config(verify_timeout_s):
    return {
        "agents": {"report_interval_s": 0.5},
        "healing": {
            "default_rules": False,
            "hold_s": 0.2,
            "brake": {"max_heals_per_hour": {"fleet": 999, "site": 999, "rule": 999}, "max_unhealthy_percent": 100},
            "rules": [
                {
                    "id": "nginx-yaml",
                    "condition": 'service.nginx.state == "failed"',
                    "severity": "critical",
                    "action": {"type": "restart_service"},
                    "initial_level": "notify",
                    "settle_s": 0.3,
                    "verify_timeout_s": verify_timeout_s,
                    "cooldown_s": 1,
                }
            ],
        },
    }


CONFIG = config(60)  # longer than a start of the server takes on a busy machine: who is well is verified at once
waits_in_vain = pytest.mark.parametrize("server", [config(2)], indirect=True, ids=[""])


@pytest.fixture
def server(tmp_path, request):
    with Serve(tmp_path, getattr(request, "param", CONFIG)) as server:
        yield server


def box_of(server, **more):
    made = server.admin.post("/api/agents", {"label": "web", "tags": ["web"]})
    return Box(server.url, made["agent_id"], made["key"], **more).start()


@pytest.fixture
def box(server):
    box = box_of(server)
    until(lambda: server.admin.get("/api/agents")[0]["status"] == "online", what="the agent being online")
    yield box
    box.stop()


def final(server, count=1, rule_id="nginx-yaml", timeout=20):
    """The rule's final entries, once there are so many."""

    def look():
        rows = server.admin.get(f"/api/healing/ledger?rule_id={rule_id}")
        done = [row for row in rows if row["state"] == "final"]
        return done if len(done) >= count and len(done) == len(rows) else None

    return until(look, timeout, what=f"{count} final entries")


def promote(server, level, rule_id="nginx-yaml"):
    server.admin.post(f"/api/healing/trust/{rule_id}/promote", {"level": level})


def test_at_notify_nothing_is_touched(server, box):
    box.state = "failed"
    [entry] = final(server)
    assert (entry["outcome"], entry["target"]) == ("notified", "box-1/nginx")
    assert box.phases == []


def test_at_execute_it_is_restarted_verified_and_written_down(server, box):
    promote(server, "execute")
    for run in range(1, 6):
        box.state = "failed"
        rows = final(server, run)
        assert {row["outcome"] for row in rows} == {"verified"}
        assert box.restarts == run
    assert server.admin.get("/api/healing/ledger/verify") == {"valid": True, "entries": 5, "first_bad": None}
    found = server.admin.get(
        "/api/healing/effectiveness?action_type=restart_service&condition=service.nginx.state%20%3D%3D%20%22failed%22"
    )
    assert (found["total"], found["success_rate"]) == (5, 100.0)


def test_at_approve_a_person_decides_and_a_rule_of_the_api_works_the_same(server, box):
    server.admin.post("/api/healing/rules", {**CONFIG["healing"]["rules"][0], "id": "nginx-api"})
    server.admin.delete("/api/healing/rules/nginx-yaml")
    promote(server, "approve", "nginx-api")
    box.state = "failed"
    [asked] = until(lambda: server.admin.get("/api/approvals"), what="an approval")
    assert box.phases == []
    answer = server.admin.post(f"/api/approvals/{asked['request_id']}/approve", {"comment": "do it"})
    assert answer["status"] == "approved"
    [entry] = final(server, rule_id="nginx-api")
    assert (entry["id"], entry["outcome"], box.restarts) == (answer["ledger_id"], "verified", 1)


@waits_in_vain
def test_with_the_metric_missing_nothing_is_ever_verified(server, box):
    promote(server, "execute")
    box.cures = False
    box.state = "failed"
    until(lambda: box.restarts, what="the restart")
    box.silent = True
    [entry] = final(server)
    assert (entry["outcome"], entry["verified"]) == ("inconclusive", 0)


@waits_in_vain
def test_what_does_not_help_is_failed(server, box):
    promote(server, "execute")
    box.cures = False
    box.state = "failed"
    assert final(server)[-1]["outcome"] == "failed"


def test_a_monitor_heals_the_host_it_runs_on(server, box):
    """The condition is the monitor's: only a check that was begun after the settle time counts."""
    target = Door(box)
    monitor = server.admin.post(
        "/api/monitoring/endpoints",
        {
            "name": "site",
            "type": "tcp",
            "url": f"tcp://127.0.0.1:{target.port}",
            "interval": 5,
            "timeout": 4,
            "retries": 0,
            "agent_id": box.agent_id,
        },
    )
    server.admin.post(
        "/api/healing/rules",
        {
            "id": "site-down",
            "condition": 'monitor.status == "down"',
            "initial_level": "notify",
            "settle_s": 0.3,
            "action": {"type": "restart_service", "params": {"service": "nginx"}},
            "targets": {"monitors": [monitor["id"]]},
        },
    )
    promote(server, "execute", "site-down")
    try:
        box.state = "inactive"
        [entry] = final(server, rule_id="site-down", timeout=30)
    finally:
        target.close()
    assert (entry["outcome"], entry["target"], box.restarts) == ("verified", "site", 1)


class Door:
    """A TCP port that is open while the box's nginx is active."""

    def __init__(self, box):
        import socket

        self.box, self.ending = box, threading.Event()
        self.socket = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.thread = threading.Thread(target=self.run, args=(socket,), daemon=True)
        self.thread.start()

    def run(self, socket):
        while not self.ending.wait(0.02):
            wanted = self.box.state == "active"
            if wanted and self.socket is None:
                self.socket = socket.create_server(("127.0.0.1", self.port))
            elif not wanted and self.socket is not None:
                self.socket.close()
                self.socket = None

    def close(self):
        self.ending.set()
        self.thread.join(5)
        if self.socket is not None:
            self.socket.close()


def heal_and_kill(tmp_path, seed, kills):
    """Each death of the server falls into a heal of every host, each at another moment of it."""
    dice = random.Random(seed)
    with Serve(tmp_path, CONFIG) as server:
        boxes = [box_of(server, hostname=f"box-{n}") for n in range(HOSTS)]
        try:
            until(lambda: {one["status"] for one in server.admin.get("/api/agents")} == {"online"}, what="the agents")
            promote(server, "execute")
            for run in range(1, kills + 1):
                ages = sorted((dice.uniform(0, 1.6) for _ in boxes), reverse=True)
                for box, age, following in zip(dice.sample(boxes, HOSTS), ages, [*ages[1:], 0], strict=True):
                    box.state = "failed"
                    time.sleep(age - following)  # the seeded point of the kill
                server.kill()
                server.start()
                until(lambda: all_verified(server, run * HOSTS), 40, what=f"the heals of round {run}")  # noqa: B023
                assert [box.restarts for box in boxes] == [run] * HOSTS
            assert server.admin.get("/api/healing/ledger/verify")["valid"]
            assert server.admin.get("/api/healing/health")["active_heals"] == 0
        finally:
            for box in boxes:
                box.stop()


def all_verified(server, count):
    rows = server.admin.get("/api/healing/ledger?rule_id=nginx-yaml&limit=1000")
    if not all(row["state"] == "final" for row in rows):
        return False
    assert {row["outcome"] for row in rows} <= {"verified"}, [(row["outcome"], row["reason"]) for row in rows]
    assert len(rows) <= count
    return len(rows) == count


@pytest.mark.crash
@pytest.mark.timeout(600)
def test_killed_at_20_moments_of_heals_each_acts_once_and_ends_its_case(tmp_path):
    """kill -9 of the server within heals, and it goes on from what it committed."""
    heal_and_kill(tmp_path, seed=8, kills=5)


@pytest.mark.soak
def test_killed_at_300_moments(tmp_path):
    heal_and_kill(tmp_path, seed=random.randrange(1 << 32), kills=75)
