"""GET /metrics of a running service: requests by the pattern of their path, and nobody who waits for a scrape."""

import json
import re
import shutil
import subprocess

import pytest
import yaml

from tests.support.heldscrape import HeldScrape
from tests.support.process import ROOT, Serve
from tests.support.raw import Raw
from tests.support.scraping import Scrape
from tests.support.waiting import until

pytestmark = pytest.mark.system
MONITORS = "/api/monitoring/endpoints"
SHIPPED = ROOT / "opsapp/web/prometheus"
RULES, DASHBOARD = SHIPPED / "opsapp-rules.yml", SHIPPED / "opsapp-dashboard.json"
GUIDE = ROOT / "docs/guide/metrics.md"
NAME = re.compile(r"\bopsapp_[a-z0-9_]+")
WITH_A_RUN = {"opsapp_run_start_seconds", "opsapp_schedule_late_seconds"}  # there is nothing to say before the first


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    with Serve(tmp_path_factory.mktemp("scraping")) as running:
        yield running


def scrape(serve):
    answer = serve.admin.request("GET", "/metrics")
    assert answer.status == 200
    return Scrape(answer.body.decode())


def answered(serve, **labels):
    return scrape(serve).value("opsapp_http_requests_total", **labels)


def test_requests_are_counted_by_route_method_and_status(serve):
    monitor_id = serve.admin.post(MONITORS, {"name": "Shop", "type": "push", "interval": 60})["id"]
    for path, status in ((monitor_id, 200), (monitor_id, 200), ("nobody", 404), (monitor_id + "/nothing", 404)):
        assert serve.admin.request("GET", f"{MONITORS}/{path}").status == status
    assert serve.client().request("GET", f"{MONITORS}/{monitor_id}").status == 401
    assert serve.admin.request("PUT", f"{MONITORS}/{monitor_id}", {"interval": "often"}).status == 422
    route = f"{MONITORS}/{{monitor_id}}"
    answers = {"200": 2, "401": 1}
    until(lambda: answered(serve, route=route, method="GET", status="200") == 2, what="their count")
    seen = scrape(serve)
    assert {status: seen.value("opsapp_http_requests_total", route=route, method="GET", status=status)
            for status in answers} == answers  # fmt: skip
    assert seen.value("opsapp_http_requests_total", route=route, method="PUT", status="422") == 1
    assert seen.value("opsapp_http_requests_total", route=MONITORS, method="POST", status="201") == 1
    assert seen.value("opsapp_http_request_duration_seconds_count", route=route, method="PUT") == 1
    assert seen.value("opsapp_http_request_duration_seconds_sum", route=route, method="PUT") is not None
    assert monitor_id not in seen.text.replace(f'id="{monitor_id}"', "")


def told(seen):
    """Names as one writes them in a query."""
    ends = {"counter": ("_total",), "summary": ("_sum", "_count")}
    return {name + end for name, kind in seen.families.items() for end in ends.get(kind, ("",))}


def whole(serve):
    """A scrape once everything runs."""
    later = {"opsapp_checks", "opsapp_runs_carried", "opsapp_healing_targets_unhealthy"}

    def begun():
        seen = scrape(serve)
        return seen if later <= seen.families.keys() else None

    return until(begun, what="the checker, the carrier of runs and the pipeline")


def expressions():
    """What the rules and the dashboard ask for."""
    groups = yaml.safe_load(RULES.read_text())["groups"]
    panels = json.loads(DASHBOARD.read_text())["panels"]
    asked = [rule["expr"] for group in groups for rule in group["rules"]]
    return asked + [target["expr"] for panel in panels for target in panel.get("targets", ())]


def test_rules_and_dashboard_ask_for_what_there_is(serve):
    names = told(whole(serve))
    asked = {name for expression in expressions() for name in NAME.findall(expression)}
    assert len(asked) > 20
    assert asked - names == set()


def test_the_guide_names_every_figure_and_no_other(serve):
    documented, names = set(NAME.findall(GUIDE.read_text())), told(whole(serve))
    assert names - documented == set()
    assert documented - names - WITH_A_RUN == set()


def test_each_alert_says_how_bad_it_is_and_what_it_means():
    rules = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules)
    for rule in rules:
        assert rule["labels"]["severity"] in ("info", "warning", "critical"), rule["alert"]
        assert set(rule["annotations"]) == {"summary", "description"}, rule["alert"]
        assert f"`{rule['alert']}`" in GUIDE.read_text()


ALERTS = """
rule_files: [{rules}]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {{series: 'up{{job="opsapp",instance="a"}}', values: 1x20}}
      - {{series: 'opsapp_monitor_up{{instance="a",id="1",name="Shop",type="http"}}', values: 0x20}}
      - {{series: 'opsapp_monitor_up{{instance="b",id="1",name="Shop",type="http"}}', values: 0x20}}
      - {{series: 'opsapp_monitor_up{{instance="a",id="2",name="Mail",type="http"}}', values: 1x20}}
      - {{series: 'opsapp_heals_total{{instance="a",rule="nginx",outcome="failed"}}', values: 0 1 2 3 4x20}}
      - {{series: 'opsapp_audit_waiting_seconds{{instance="a"}}', values: 0+60x20}}
      - {{series: 'opsapp_audit_waiting_seconds{{instance="b"}}', values: 0+60x20}}
      - {{series: 'opsapp_healing_verdict{{instance="a",rule="disk",verdict="harms"}}', values: 1x20}}
    alert_rule_test:
      - {{eval_time: 4m, alertname: OpsappMonitorDown, exp_alerts: []}}
      - eval_time: 6m
        alertname: OpsappMonitorDown
        exp_alerts:
          - exp_labels: {{severity: critical, id: "1", name: Shop, type: http}}
            exp_annotations:
              summary: Shop is down
              description: The monitor Shop (http) has been down for five minutes.
      - eval_time: 2m
        alertname: OpsappHealsHarm
        exp_alerts:
          - exp_labels: {{severity: warning, rule: disk, verdict: harms}}
            exp_annotations:
              summary: The rule disk does harm
              description: Its trials have shown that cases recover more often when they are left alone.
      - {{eval_time: 1m, alertname: OpsappHealsFail, exp_alerts: []}}
      - {{eval_time: 4m, alertname: OpsappAuditWaits, exp_alerts: []}}
      - eval_time: 7m
        alertname: OpsappAuditWaits
        exp_alerts:
          - exp_labels: {{severity: warning}}
            exp_annotations:
              summary: Audit entries wait for their receiver
              description: The oldest has waited for 7m 0s. Health on opsapp says why.
      - {{eval_time: 10m, alertname: OpsappAbsent, exp_alerts: []}}
"""


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool on this machine")
def test_prometheus_takes_the_rules(tmp_path):
    (tmp_path / "alerts.yml").write_text(ALERTS.format(rules=RULES))
    for asked in (["check", "rules", RULES], ["test", "rules", tmp_path / "alerts.yml"]):
        done = subprocess.run(["promtool", *asked], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool on this machine")
def test_prometheus_reads_the_dashboard_and_the_scrape(serve, tmp_path):
    in_grafana = {"$__rate_interval": "5m", "$job": ".*", "$instance": ".*"}
    groups = []
    for n, expression in enumerate(expressions()):
        for name, value in in_grafana.items():
            expression = expression.replace(name, value)
        groups.append({"name": f"g{n}", "rules": [{"record": f"asked:r{n}", "expr": expression}]})
    (tmp_path / "asked.yml").write_text(yaml.safe_dump({"groups": groups}))
    done = subprocess.run(["promtool", "check", "rules", tmp_path / "asked.yml"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    text = scrape(serve).text
    read = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
    assert (read.returncode, read.stdout, read.stderr) == (0, "", "")


def test_no_stranger_makes_a_new_line(serve):
    """Neither by a path, nor by a method, nor by what is no request at all."""
    before = set(scrape(serve).of("opsapp_http_requests_total"))
    for n in range(5):
        assert serve.client().request("GET", f"/wander/{n}").status == 404
        assert serve.client().request("GET", f"/api/agents/x{n}/y{n}").status in (401, 404)
        assert serve.client().request("GET", f"/api/status/public?n={n}").status == 200
        for odd in (f"BREW{n} / HTTP/1.1\r\nHost: x\r\n\r\n", f"nonsense{n}\r\n\r\n"):
            with Raw(serve.port) as raw:
                raw.send(odd.encode())
                raw.answer()
    until(lambda: answered(serve, route="none", method="GET", status="404") >= 5, what="their count")
    lines = {key for key in scrape(serve).of("opsapp_http_requests_total")} - before
    assert {method for method, _, _ in lines} <= {"GET", "other"}
    assert not [route for _, route, _ in lines if any(str(n) in route for n in range(5))]
    assert len(lines) < 8


def test_a_stream_counts_when_it_is_over(serve):
    route = "/api/stream"
    with Raw(serve.port) as raw:
        raw.send(f"GET {route}?token={serve.admin.token} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        until(raw.is_answered, what="its head")
        assert answered(serve, route=route) is None
    until(lambda: answered(serve, route=route) == 1, what="its count")
    assert answered(serve, route=route, method="GET", status="200") == 1


def test_nobody_waits_for_a_scrape_and_all_who_ask_meanwhile_share_one(tmp_path):
    with HeldScrape(tmp_path) as serve:
        serve.admin  # noqa: B018 - signs in
        first, *others = [Raw(serve.port) for _ in range(4)]
        asked = f"GET /metrics?token={serve.admin.token} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        first.send(asked)
        until(serve.begun.exists, what="the first scrape")
        for raw in others:
            raw.send(asked)
        assert serve.admin.get("/api/me")["role"] == "admin"
        assert serve.client().request("GET", "/api/status/public").status == 200
        assert not any(raw.is_answered() for raw in (first, *others))
        serve.gate.touch()
        assert [raw.answer().status for raw in (first, *others)] == [200] * 4
        assert serve.beats() == 2
        for raw in (first, *others):
            raw.close()
