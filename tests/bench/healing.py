"""Healing: rules × targets a second, alert to action, storms, rehearsals, a ledger of a million entries (HEAL_ENTRIES).

Alert to action is taken with a host that polls every 10 ms beside an idle server: from the moment its service fails to
the moment it is told to act, with the snapshot that comes before it, and without the correlation hold (hold_s is 0).
"""

import os
import tempfile
import time

from opsapp.healing.config import HealingSettings
from opsapp.healing.engine import chaos
from opsapp.healing.engine.alerts import Alerts, watched_rules
from opsapp.healing.engine.chaos.scenarios import SCENARIOS
from opsapp.healing.engine.readings import LiveReadings
from opsapp.healing.records import RuleRecord
from opsapp.healing.resources import healing_of
from opsapp.healing.stages.case import About, PlanningCase
from opsapp.series.live import Live
from tests.bench import Row
from tests.engine.healing import Ward
from tests.support.box import Box
from tests.support.hosts import place
from tests.support.process import Serve
from tests.support.waiting import until

RULES, PLACES = 100, 500
HEALS = 100
STORM = 10_000
ENTRIES = int(os.environ.get("HEAL_ENTRIES", "1000000"))
LOOKS = 200
DOWN = {"id": "down", "condition": "down == 1", "action": {"type": "clear_cache"}}


def measure():
    yield evaluated()
    yield from alert_to_action()
    yield storm()
    yield rehearsed()
    yield from ledger()


def evaluated():
    """Every rule is about every host and none holds, as nearly always."""
    readings, live = LiveReadings(Live()), None
    live = readings.live
    alerts = Alerts(readings, HealingSettings())
    rules = [RuleRecord(f"cpu_percent > {n + 1} and load1 > 50", id=f"r{n}") for n in range(RULES)]
    places = [place(f"h{n}", f"a{n}") for n in range(PLACES)]
    readings.members = {one.subject: one for one in places}
    alerts.use(watched_rules(rules))
    spent, looks = 0.0, 0
    for turn in range(3):
        for one in places:
            live.update(one.subject, {"cpu_percent": 60.0, "load1": 2.0}, float(turn))
            alerts.arrived(one.subject, {"cpu_percent": 60.0})
        began, before = time.process_time(), alerts.looks
        while alerts.is_behind():
            alerts.step(float(turn))
        spent, looks = spent + time.process_time() - began, looks + alerts.looks - before
    return Row("rules × targets evaluated a second of CPU", looks / spent, "/s", "at least 50,000")


def alert_to_action():
    rule = {"id": "nginx", "condition": 'service.nginx.state == "failed"', "action": {"type": "restart_service"}}
    wide = {"max_heals_per_hour": {"fleet": 10**6, "site": 10**6, "rule": 10**6}, "max_unhealthy_percent": 100}
    config = {
        "agents": {"report_interval_s": 1},
        "healing": {"default_rules": False, "hold_s": 0, "brake": wide, "rules": [
            {**rule, "initial_level": "notify", "settle_s": 0, "cooldown_s": 0}]},
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as directory, Serve(directory, config) as server:
        made = server.admin.post("/api/agents", {"label": "web"})
        box = Box(server.url, made["agent_id"], made["key"], every=0.01).start()
        until(lambda: server.admin.get("/api/agents")[0]["status"] == "online", what="the agent being online")
        server.admin.post("/api/healing/trust/nginx/promote", {"level": "execute"})
        took = sorted(_one(server, box, run) for run in range(1, HEALS + 1))
        box.stop()
    yield Row("alert to action, p50", 1000 * took[len(took) // 2], "ms", "")
    yield Row("alert to action, p99", 1000 * took[int(len(took) * 0.99) - 1], "ms", "at most 250 idle, hold excluded")


def _one(server, box, run):
    began, box.state = time.perf_counter(), "failed"
    while box.restarts < run:
        time.sleep(0.001)
    took = time.perf_counter() - began

    def ended():
        rows = server.admin.get("/api/healing/ledger?limit=1")
        return rows[0]["state"] == "final" and rows[0]["outcome"] == "verified"

    until(ended, 30, what="the heal's end")
    return took


def storm():
    """All of them hang on one that fails with them."""
    with tempfile.TemporaryDirectory() as directory:
        names = [f"h{n}" for n in range(STORM)]
        here = Ward(
            directory,
            DOWN,
            places=[place("root", "r"), *(place(name, f"a-{name}") for name in names)],
            dependencies=[{"target": "root"}, *({"target": name, "depends_on": ["root"]} for name in names)],
        ).at("execute", "down")
        here.engine.look()
        for name in ("root", *names):
            here.report("agent:r" if name == "root" else f"agent:a-{name}", down=1)
        began = time.process_time()
        for seconds in (0, 5, 1):
            here.clock.advance(seconds)
            while here.engine.look() or here.engine.work():
                pass
        spent, heals = time.process_time() - began, len(here.hosts.sent)
        here.close()
    return Row(f"storm of {STORM:,} alerts, {heals} heal: CPU", spent, "s", "at most 5")


def rehearsed():
    with tempfile.TemporaryDirectory() as directory:
        here = Ward(directory, DOWN)
        spent = []
        for name in SCENARIOS:
            began = time.process_time()
            chaos.rehearse(here.node, name)
            spent.append(time.process_time() - began)
        here.close()
    return Row("the longest rehearsal of chaos: CPU", max(spent), "s", "at most 2")


def ledger():
    with tempfile.TemporaryDirectory() as directory:
        here = Ward(directory, DOWN)
        for first in range(0, ENTRIES, 2000):
            here.node.transact(fill_ledger, first, min(ENTRIES, first + 2000))
        pages = [_timed(here, _page, n) for n in range(LOOKS)]
        figures = [_timed(here, _figure, n) for n in range(LOOKS)]
        here.close()
    yield Row(f"{ENTRIES:,} entries: by rule and target, p95", _p95(pages), "ms", "at most 50")
    yield Row(f"{ENTRIES:,} entries: effectiveness, p95", _p95(figures), "ms", "at most 5")


def fill_ledger(root, first, last):
    book = healing_of(root)["ledger"]
    book.tell = lambda *_: None  # the event bus is not what is measured
    for n in range(first, last):
        rule_id, about = f"r{n % 100}", About("alert", f"cpu_percent > {n % 50}", f"h{n % 1000}/nginx")
        case = PlanningCase(id="c", about=about, rule_id=rule_id, events={}, abouts={}, opened_at=n)
        fields = {"action_type": "restart_service", "executed": True}
        entry = book.begin(root, case, rule_id=rule_id, now=n, **fields)
        book.finish(root, entry.id, outcome="verified", reason="", now=n, events=1)
    del book.tell


def _page(root, n):
    return len(healing_of(root)["ledger"].page(f"r{n % 100}", f"h{n % 1000}", 50, 0)[1])


def _figure(root, n):
    return healing_of(root)["ledger"].statistics("restart_service", f"cpu_percent > {n % 50}", f"h{n % 1000}")


def _timed(here, fn, n):
    began = time.perf_counter()
    here.node.transact(fn, n * 7)
    return 1000 * (time.perf_counter() - began)


def _p95(times):
    return sorted(times)[int(len(times) * 0.95) - 1]
