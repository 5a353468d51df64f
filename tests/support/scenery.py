"""A lived-in installation for pictures: a day of checks and reports, a heal that helped, one that waits, things that
are down. It is played on a test's clock into a store, which a real service then serves.

Hosts go on reporting over HTTP (`Reporters`), or all would be silent after a minute. Never a test.
"""

import json
import math
import threading
import time
import urllib.request
from pathlib import Path

from opsapp.runtime import serieswork
from opsapp.wire.probes import Outcome
from opsapp.wire.version import VERSION
from tests.engine.healing import Ward
from tests.support import process
from tests.support.clock import FakeClock
from tests.support.hosts import place
from tests.support.monitoring import Lookout
from tests.support.pages import PASSWORD

HOUR = 3600
ADMIN = "mara"
PEOPLE = {ADMIN: "admin", "jonas": "operator", "vera": "viewer"}
LIVED_S = 26 * HOUR + 600
HEALS = 5  # of one target by one rule: so many make a problem
HEAL_S = 300
RULES = (
    {
        "id": "disk-of-a-database",
        "description": "The disk of a database is nearly full",
        "condition": "disk./var.percent > 90",
        "severity": "critical",
        "targets": {"agents": ["db-1"], "monitors": []},
        "action": {"type": "journal_vacuum", "params": {"max_size": "500M"}},
        "settle_s": 30,
    },
    {
        "id": "php-fpm-stuck",
        "description": "php-fpm has failed",
        "condition": 'service.php-fpm.state == "failed"',
        "severity": "error",
        "action": {"type": "restart_service"},
        "holdout": {"share": 0},
    },
    {
        "id": "orders-down",
        "description": "The service that takes orders has stopped",
        "condition": 'service.orders.state == "failed"',
        "severity": "critical",
        "action": {"type": "service_dependency_restart"},
    },
)
MONITORS = (  # name, tags, milliseconds, up now
    ("Shop database", ["shop"], 4, False),
    ("Checkout", ["shop", "public"], 180, False),
    ("Order API", ["shop", "public"], 95, False),
    ("Image CDN", ["shop"], 310, True),
    ("Storefront", ["shop", "public"], 210, True),
    ("Search", ["shop", "public"], 160, True),
    ("Customer login", ["public"], 240, True),
    ("Payment gateway", ["external"], 320, True),
    ("Mail gateway", ["mail"], 84, True),
    ("Name service", ["net"], 11, True),
)
HOSTS = (("web-1", ["web"]), ("web-2", ["web"]), ("db-1", ["db"]))
NEEDS = [
    *({"target": name} for name in ("db-1", "web-1", "Search", "Image CDN")),
    {"target": "Shop database", "depends_on": ["db-1"]},
    {"target": "Checkout", "depends_on": ["Shop database"]},
    {"target": "Order API", "depends_on": ["Shop database"]},
    {"target": "Storefront", "depends_on": ["Order API", "Image CDN", "Search"]},
    {"target": "Customer login", "depends_on": ["web-1"]},
]


class Scenery:
    """`ids` are those of pages that show one thing; `keys` those of the hosts."""

    def __init__(self, directory, port):
        Path(directory).mkdir(parents=True)
        self.port = port
        clock = FakeClock(time.time() - LIVED_S)
        self.ward = Ward(directory, *RULES, clock=clock)
        self.service, self.clock, self.began = self.ward.service, clock, clock.now()
        self.lookout = Lookout(self.service)
        self.ids, self.keys, self.monitors = {}, {}, {}

    def play(self):
        self._settle_in()
        for _ in range(HEALS - 1):
            self._pass(4 * HOUR, 900)
            self._heal_a_service()
        self._pass(4 * HOUR - (HEALS - 1) * HEAL_S, 900)
        self._heal_a_service()
        self._look_for_the_cause()
        self._pass(3 * HOUR, 600)
        self._heal_a_disk()
        self._pass(2.5 * HOUR, 300)
        self._break()
        self._pass(0.5 * HOUR - 60, 60)
        serieswork.flush(self.service.node)
        self.ids |= {
            "/healing/cases/{case_id}": next(e["case_id"] for e in self.ward.ledger if e["rule_id"] == RULES[0]["id"]),
            "/approvals/{request_id}": self.service.vera.get("/api/approvals").json[0]["request_id"],
            "/incidents/{id}": self._incident_of("Shop database"),
        }
        self.service.close()
        return self

    def _incident_of(self, name):
        incidents = self.lookout.incidents("status=open")
        return next(incident["id"] for incident in incidents if incident["monitor_name"] == name)

    def _settle_in(self):
        ada = self.service.ada
        ada.post_json("/api/users", {"username": "admin", "password": process.PASSWORD, "role": "admin"})
        for name, role in PEOPLE.items():
            ada.post_json("/api/users", {"username": name, "password": PASSWORD, "role": role})
        for name, tags in HOSTS:
            made = ada.post_json("/api/agents", {"label": name, "tags": tags}).json
            self.keys[name] = (made["agent_id"], made["key"])
            self.ids.setdefault("/agents/{id}", made["agent_id"])
        self.ids["/agents/{id}"] = self.keys["db-1"][0]
        self.ward.hosts.here = [place(name, agent_id) for name, (agent_id, _) in self.keys.items()]
        for name, tags, _, up in MONITORS:
            url = f"tcp://127.0.0.1:{self.port if up else 1}"
            body = {"type": "tcp", "url": url, "interval": 60, "timeout": 1, "retries": 0, "tags": tags}
            self.monitors[name] = self.lookout.add(name=name, **body)
        self.ids["/monitors/{id}"] = self.monitors["Checkout"]
        ada.put_json("/api/healing/dependencies", {"dependencies": NEEDS})
        automation = ada.post_json("/api/automations/templates/memory/apply").json["id"]
        self.ids["/automations/{id}"] = automation
        self.ids["/automations/runs/{run_id}"] = ada.post_json(f"/api/automations/{automation}/run").json["run_id"]
        channel = {"name": "on call", "url": "json://127.0.0.1:9/x"}
        self.ids["/notifications/channels/{id}"] = ada.post_json("/api/notifications/channels", channel).json["id"]
        self.ids["/healing/rules/{id}"] = "disk-of-a-database"
        for rule, level in (("disk-of-a-database", "execute"), ("php-fpm-stuck", "execute")):
            self.ward.at(level, rule)
        self.ward.at("approve", "orders-down")

    def report_of(self, name, **more):
        """What a host says at this moment."""
        hours = (self.clock.now() - self.began) / HOUR
        wave = math.sin(hours / 24 * 2 * math.pi) * 12 + math.sin(hours * 7) * 3
        full = {"web-1": 41, "web-2": 62 + hours * 0.55, "db-1": 60 + hours * 1.2}[name]
        services = {"nginx": "active", "ssh": "active", "cron": "active"}
        services |= {"orders": "active"} if name == "db-1" else {"php-fpm": "active"}
        return {
            "hostname": name,
            "os": "Debian 12",
            "version": VERSION,
            "cpu_percent": round(30 + wave, 1),
            "mem_percent": round(62 + wave / 3, 1),
            "disk_percent": round(full, 1),
            "swap_percent": 3.5,
            "load1": round(1.1 + wave / 20, 2),
            "load5": 1.1,
            "load15": 1.0,
            "uptime_s": round(3_500_000 + hours * HOUR),
            "disks": {"/": 38.0, "/var": round(full, 1)},
            "services": services,
            "metrics": {"rx_bytes_s": round(1_400_000 + wave * 40_000), "tx_bytes_s": round(600_000 + wave * 9000)},
            "top_processes": [{"name": "postgres", "pid": 812, "cpu_percent": 7.4, "rss_bytes": 412_000_000}],
        } | more

    def _report(self, name, **more):
        agent_id, key = self.keys[name]
        body = self.report_of(name, **{**self.odd.get(name, {}), **more})
        self.service.anonymous.post_json(f"/api/agents/{agent_id}/report", body, headers={"X-Agent-Key": key})

    odd: dict = {}

    def _look(self):
        hours = (self.clock.now() - self.began) / HOUR
        for number, (name, _, usual, _) in enumerate(MONITORS):
            took = usual * (1 + 0.25 * math.sin(hours * 1.7 + number) + 0.1 * math.sin(hours * 13 + number))
            if name == "Image CDN" and hours > 25:
                took = 2400.0
            seen = Outcome(True, round(took, 1), "connected")
            self.lookout.sees[self.monitors[name]] = self.down.get(name, seen)

    down: dict = {}

    def _pass(self, seconds, step):
        until = self.clock.now() + seconds
        while self.clock.now() < until:
            for name in self.keys:
                self._report(name)
            self._look()
            self.lookout.tick()
            self.ward.turn()
            self.clock.advance(min(step, until - self.clock.now()))
        serieswork.flush(self.service.node)

    def _heal(self, name, sick, well):
        """A host fails, is healed as it should be, and reports that it is well."""
        self.odd = {name: sick}
        self._pass(120, 30)
        if any(
            command["answer"] is None and command["params"].get("phase") == "snapshot"
            for command in self.ward.hosts.sent
        ):
            self.ward.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
            self._pass(2, 1)
        self.ward.hosts.finish("execute", handler="systemctl")
        self.odd = {name: well}
        self._pass(180, 15)

    def _heal_a_service(self):
        self._heal("web-1", {"services": {"php-fpm": "failed", "nginx": "active"}}, {})

    def _look_for_the_cause(self):
        """What is healed again and again is a problem, and somebody has taken it."""
        self.service.tokens.clear()
        problem = self.service.ada.get("/api/healing/problems").json[0]["id"]
        due = time.strftime("%Y-%m-%d", time.gmtime(self.clock.now() + 6 * 24 * HOUR))
        taken = {
            "owner": "jonas",
            "due": due,
            "note": "It fails after each deployment: the old workers keep the socket.",
        }
        self.service.ada.put_json(f"/api/healing/problems/{problem}", taken)
        self.ids["/healing/problems/{id}"] = problem

    def _heal_a_disk(self):
        well = {"disks": {"/": 38.0, "/var": 71.0}, "disk_percent": 71.0}
        self._heal("db-1", {"disks": {"/": 38.0, "/var": 93.5}, "disk_percent": 93.5}, well)

    def _break(self):
        """The database is gone, and takes two with it; one is slow; one is being worked on."""
        for name in ("Shop database", "Checkout", "Order API"):
            words = "connection refused" if name == "Shop database" else "no answer from Shop database"
            self.down = {**self.down, name: Outcome(False, None, words)}
        self.odd = {"db-1": {"services": {"orders": "failed", "nginx": "active"}, "disks": {"/": 38.0, "/var": 72}}}
        now = self.clock.now()
        window = {"name": "Mail move", "start": _iso(now - 600), "end": _iso(now + 4 * HOUR)}
        scope = [self.monitors["Mail gateway"]]
        self.service.tokens.clear()  # the session of yesterday is over
        made = self.service.ada.post_json("/api/maintenance", {**window, "scope": scope}).json
        self.ids["/maintenance/{id}"] = made["id"]


def _iso(at):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at))


class Reporters:
    """Hosts that go on reporting to a running service, until they are told to stop."""

    def __init__(self, scenery, url, every=10.0):
        self.scenery, self.url, self.every = scenery, url, every
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_error):
        self.over.set()
        self.thread.join()

    def _run(self):
        while True:
            for name, (agent_id, key) in self.scenery.keys.items():
                self.scenery.clock.advance(0)
                body = self.scenery.report_of(name, **self.scenery.odd.get(name, {}))
                headers = {"X-Agent-Key": key, "Content-Type": "application/json"}
                place_of = f"{self.url}/api/agents/{agent_id}/report"
                asked = urllib.request.Request(place_of, json.dumps(body).encode(), headers)
                urllib.request.urlopen(asked, timeout=10).close()
            if self.over.wait(self.every):
                return
