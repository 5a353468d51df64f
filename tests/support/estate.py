"""A service with one of each kind of thing, in the middle of its work, and where all its pages are."""

from __future__ import annotations

from typing import Any

from opsapp.healing.logic.problems import ProblemFacts
from opsapp.healing.records import RuleSettings
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.rules import put_rule
from opsapp.runtime import serieswork
from opsapp.ui import builder, guidebook
from opsapp.ui.plan import PAGES
from opsapp.wire.records import made
from tests.support.hosts import place
from tests.support.monitoring import DOWN, UP, Lookout
from tests.support.scim import Provider

FAILED = {"service__nginx__state": "failed"}
SCRIPT = {"name": "needs a word", "type": "script", "params": {"script": "true"}, "requires_approval": True}


def fill(ward: Any) -> None:
    service = ward.service
    lookout, ada, otto, vera = Lookout(service), service.ada, service.otto, service.vera
    shop, gone = (lookout.add(name=name, retries=0, tags=["web", "public"]) for name in ("Shop", "Gone"))
    lookout.sees |= {shop: UP, gone: DOWN}
    lookout.run(120, step=10)
    groups = [{"name": "All", "monitors": [shop, gone]}]
    ada.post_json("/api/status/pages", {"slug": "acme", "name": "Acme", "groups": groups, "subscribe_by": ["webhook"]})
    days = [{"monitor": "Shop", "days": ["2055-01-13 86100 300", "2055-01-14 86400 0"]}]
    ada.post_json("/api/apply", {"document": {"earlier_days": days}})
    agent = ada.post_json("/api/agents", {"label": "box-1", "tags": ["web"]}).json
    report = {"hostname": "box-1", "os": "Debian 12", "cpu_percent": 5, "disks": {"/": 71.5}}
    report_path = f"/api/agents/{agent['agent_id']}/report"
    service.anonymous.post_json(report_path, report, headers={"X-Agent-Key": agent["key"]})
    otto.post_json(f"/api/agents/{agent['agent_id']}/commands", {"type": "shell", "params": {"command": "true"}})
    memory = ada.post_json("/api/automations/templates/memory/apply").json["id"]
    ada.post_json(f"/api/automations/{memory}/run")
    ada.post_json(f"/api/automations/{ada.post_json('/api/automations', SCRIPT).json['id']}/run")
    window = {"name": "Patch day", "start": "2097-01-15T22:00:00", "end": "2097-01-16T02:00:00"}
    otto.post_json("/api/maintenance", window)
    today = {"name": "Today", "start": "2055-01-15T00:00:00", "end": "2055-01-16T00:00:00", "scope": [shop]}
    otto.post_json("/api/maintenance", today)
    quiet = {"target": "all", "duration": "2h", "reason": "", "action": "queue"}
    otto.post_json("/api/healing/maintenance", quiet)
    channel = ada.post_json("/api/notifications/channels", {"name": "on call", "url": "json://127.0.0.1:9/x"}).json[
        "id"
    ]
    ada.post(f"/api/notifications/channels/{channel}/test", status=502)
    layer = {"users": ["otto", "ada"], "start": "2055-01-11"}
    schedule = {"name": "Operations", "zone": "Europe/Berlin", "layers": [layer]}
    on_call = ada.post_json("/api/oncall/schedules", schedule).json["id"]
    ada.post_json("/api/oncall/policies", {"name": "Standard", "steps": [{"schedules": [on_call]}]})
    turn = {"user": "vera", "start": "2055-01-16T08:00:00", "end": "2055-01-16T12:00:00"}
    otto.post_json(f"/api/oncall/schedules/{on_call}/overrides", turn)
    otto.post_json("/api/deployments", {"title": "shop 4.2.1", "hosts": ["box-1"], "monitors": ["tag:web"]})
    inlet = ada.post_json("/api/healing/inlets", {"name": "Alertmanager"}).json["url"]
    event = {"id": "1", "status": "firing", "name": "DiskFull", "target": "elsewhere", "summary": "It is full"}
    service.anonymous.post_json(inlet, event)
    ada.post_json("/api/secrets", {"name": "token", "value": "hidden"})
    ada.post_json("/api/teams", {"name": "Shop", "members": ["ada"], "see": ["web"], "act": ["web"]})
    Provider(service).fill()
    for client in (vera, otto, ada):
        client.post_json("/api/keys", {"name": "script", "role": "viewer"})
        client.post_json("/api/me/filters", {"name": "web", "path": "/monitors", "query": "tag=web"})
    ada.put_json("/api/healing/dependencies", {"dependencies": [{"target": "Shop", "depends_on": ["box-1"]}]})
    service.transact(add_problem, service.clock.now())
    others = [host for host in ward.hosts.here if host.name != "box-1"]
    ward.hosts.here = [*others, place("box-1", agent["agent_id"])]
    ward.at("approve").report(f"agent:{agent['agent_id']}", **FAILED).turn().turn(6)
    serieswork.flush(service.node)


def add_rule(root: Any, now: float) -> None:
    rule = made(RuleSettings, {"condition": 'service.nginx.state == "failed"', "action": {"type": "restart_service"}})
    put_rule(root, "again", rule, source="api", now=now)


def add_problem(root: Any, now: float) -> None:
    add_rule(root, now)
    problems = healing_of(root)["problems"]
    for hours in range(7, 0, -1):
        problems.healed("again", "box-1/nginx", now - 3600 * hours)
    problems.open(ProblemFacts("again", "box-1/nginx", now - 7200))


def addresses(service: Any) -> list[str]:
    """Every page that the service has, files aside."""
    ids = ids_of(service)
    places = [address for page in PAGES if not page.file and (address := address_of(page.path, ids))]
    places += ["/find?q=shop", "/help", *(f"/help/{name}" for name in guidebook.pages())]
    places += [
        "/status",
        "/status/acme",
        "/status/acme/history",
        "/status/acme/subscribe",
        f"/status/acme/monitors/{ids['/monitors']['id']}",
        f"/status/acme/incidents/{ids['/incidents']['id']}",
        "/status/history",
        "/status/subscribe",
        f"/status/monitors/{ids['/monitors']['id']}",
    ]
    return [*places, f"/status/incidents/{ids['/incidents']['id']}", "/login", "/login/totp", "/api/docs"]


def address_of(path: str, ids: dict[str, dict[str, str]]) -> str | None:
    """A page's address with the ids of what stands before the first of them; None where there is no such thing."""
    return builder.filled(path, ids.get(path.partition("/{")[0], {}))


def ids_of(service: Any) -> dict[str, dict[str, str]]:
    """By the part of an address that leads to it: the thing that `fill` made."""
    ada = service.ada

    def newest(path: str, name: str) -> dict[str, str]:
        return {name: str(ada.get(f"/api/{path}").json[0][name])}

    gone = newest("monitoring/endpoints?q=gone", "id")["id"]
    host = newest("agents?q=box-1", "id")
    command = newest(f"agents/{host['id']}/commands", "command_id")
    automation = newest("automations?q=memory", "id")
    return {
        "/monitors": newest("monitoring/endpoints?q=shop", "id"),
        "/incidents": newest(f"monitoring/incidents?monitor_id={gone}", "id"),
        "/approvals": newest("approvals", "request_id"),
        "/agents": host | command,
        "/moment": {"kind": "hosts", **host},
        "/automations": automation,
        "/automations/runs": newest(f"automations/{automation['id']}/runs", "run_id"),
        "/maintenance": newest("maintenance", "id"),
        "/oncall/schedules": newest("oncall/schedules", "id"),
        "/oncall/policies": newest("oncall/policies", "id"),
        "/notifications/channels": newest("notifications/channels", "id"),
        "/notifications/deliveries": newest("notifications/deliveries", "id"),
        "/healing/cases": {"case_id": service.read(lambda root: next(iter(healing_of(root).book.cases)))},
        "/healing/problems": newest("healing/problems", "id"),
        "/healing/inlets": {"inlet_id": newest("healing/inlets", "id")["id"]},
        "/statuspage/own": {"slug": "acme"},
        "/healing/rules": {"rule_id": "again", "source": "again"},
    }
