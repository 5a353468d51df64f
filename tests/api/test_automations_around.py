"""Automations as code, and what they say in the war room."""

from dataclasses import replace

from opsapp.agents import resources as agents
from opsapp.automations.config import AutomationSettings
from opsapp.automations.engine import carrier, flow, warroom
from opsapp.automations.engine.carrier import take_up
from opsapp.automations.engine.programs import AttemptEnd
from opsapp.automations.resources import runs_of
from opsapp.monitoring.interfaces import WarRoomSection
from opsapp.monitoring.resources import incidents_of, monitors_of
from opsapp.runtime.node import node_of
from tests.support.incidents import open_incident

from .test_agents import Polling

DOCUMENT = {
    "automations": [
        {"name": "part", "type": "script", "params": {"script": "true", "env": {"API_TOKEN": "clear"}}},
        {"name": "whole", "type": "composite", "params": {"automations": ["part"]}, "schedule": "@daily"},
    ]
}


def apply(service, document, status=200, **more):
    return service.ada.post_json("/api/apply", {"document": document, **more}, status=status).json


def test_a_document_is_applied_once(service):
    assert [each["change"] for each in apply(service, DOCUMENT)["changes"]] == ["create", "create"]
    again = apply(service, DOCUMENT)
    assert (again["changes"], again["unchanged"]) == ([], 2)
    rows = {row["name"]: row for row in service.vera.get("/api/automations").json}
    whole = service.otto.get(f"/api/automations/{rows['whole']['id']}").json
    assert whole["params"]["automations"] == [rows["part"]["id"]]
    changed = {"automations": [DOCUMENT["automations"][0] | {"timeout": 9}]}
    (change,) = apply(service, changed)["changes"]
    assert (change["change"], change["after"]) == ("update", {"timeout": 9})


def test_what_is_exported_as_code_can_be_applied_and_holds_no_secret(service):
    apply(service, DOCUMENT)
    exported = service.ada.get("/api/export")
    assert "clear" not in exported.text
    document = {"automations": exported.json["automations"]}
    assert apply(service, document)["changes"] == []


def test_a_document_with_mistakes_changes_nothing(service):
    bad = {"automations": [DOCUMENT["automations"][0], {"name": "x", "type": "script", "params": {}}]}
    assert "automations.1.params.script" in apply(service, bad, status=422)["fields"]
    unknown = {"automations": [{"name": "y", "type": "composite", "params": {"automations": ["nobody"]}}]}
    apply(service, unknown, status=422)
    assert service.vera.get("/api/automations").json == []


def heard_agent(root, now):
    agent_id, _ = agents.add_agent(root, "box-1", ["web"], now)
    agent = agents.find_agent(root, agent_id)
    agent.state.status = "online"
    agents.rename_host(root, agent, "box-1")
    agent.profile = {"hostname": "box-1"}
    return agent_id


def test_the_war_room_suggests_what_has_worked_on_this_host(service):
    service.transact(heard_agent, service.clock.now())
    monitor = {"name": "Shop", "type": "http", "url": "http://shop.example/", "tags": ["web"]}
    monitor_id = service.otto.post_json("/api/monitoring/endpoints", monitor).json["id"]
    body = {"name": "bad", "type": "script", "params": {"script": "x", "tag": "web"}}
    bad = service.otto.post_json("/api/automations", body).json["id"]
    good = service.otto.post_json("/api/automations", {**body, "name": "good"}).json["id"]
    service.otto.post_json("/api/automations", {"name": "else", "type": "script", "params": {"script": "x"}})
    for automation, status in ((bad, "failed"), (good, "done")):
        for _ in range(3):
            run = service.otto.post(f"/api/automations/{automation}/run").json
            service.transact(ended, run["run_id"], status)
    now = service.clock.now()
    incident = open_incident(monitor_id, "Shop", now - 60)
    found = service.transact(warroom.section, incident, now)
    assert [(each.name, each.runs, each.succeeded) for each in found.suggested_automations] == [
        ("good", 3, 3),
        ("bad", 3, 0),
    ]
    assert (found.events, len(found.other_runs)) == ([], 6), "no host is known of it: they are none of its own"
    gone = service.transact(warroom.section, replace(incident, monitor_id="gone"), now)
    assert gone == WarRoomSection(suggested_automations=[], events=[], other_runs=[])


def test_the_war_room_suggests_what_somebody_ran_in_an_outage_of_this_monitor(service):
    """Also where it acts on the server, or on an address: nothing says then what it is for."""
    monitor = {"name": "Shop", "type": "http", "url": "http://shop.example/"}
    monitor_id = service.otto.post_json("/api/monitoring/endpoints", monitor).json["id"]
    made = {}
    for name in ("mends", "fails", "by itself", "before", "never"):
        body = {"name": name, "type": "script", "params": {"script": "x"}}
        made[name] = service.otto.post_json("/api/automations", body).json["id"]

    def run(root, name, status, origin="manual"):
        run = flow.ask(root, service.clock.now(), made[name], given={}, by="otto", origin=origin)
        flow.end(root, run, status, service.clock.now(), for_good=True)

    def down(root):
        return incidents_of(root).start(monitors_of(root)[monitor_id], "HTTP 500", service.clock.now()).id

    service.transact(run, "before", "done")
    service.clock.advance(60)
    first = service.transact(down)
    for _ in range(12):  # more than stand in the automation's row
        service.clock.advance(5)
        service.transact(run, "mends", "done")
    service.transact(run, "fails", "failed")
    service.transact(run, "by itself", "done", "schedule")
    service.clock.advance(5)
    service.transact(lambda root: incidents_of(root).end(first, service.clock.now(), "").id)
    service.clock.advance(3600)
    second = service.transact(down)
    service.clock.advance(60)
    room = service.vera.get(f"/api/monitoring/incidents/{second}/war-room").json
    found = [(each["name"], each["tried_here"], each["helped_here"]) for each in room["suggested_automations"]]
    assert found == [("mends", 1, 1), ("fails", 1, 0)], "outages are counted, and not runs"


def test_the_war_room_ranks_by_what_helped_against_this_and_not_in_general(service):
    from opsapp.automations.engine.warroom import Outage, helped, suggestion
    from opsapp.automations.resources import automations_of

    made = {}
    for name, general in (("often", 30), ("here", 2)):
        body = {"name": name, "type": "script", "params": {"script": "x"}}
        made[name] = service.otto.post_json("/api/automations", body).json["id"]
        for _ in range(general):
            run = service.otto.post(f"/api/automations/{made[name]}/run").json
            service.transact(begun, run["run_id"], service.clock.now())
            service.transact(ended, run["run_id"], "done")
        if name == "often":
            service.clock.advance(7200)
    now = service.clock.now()
    outages = [Outage(now - 7300, now - 5000, True), Outage(now - 60, now + 60, True)]

    def look(root):
        return [suggestion(root, automations_of(root)[made[name]], outages) for name in ("often", "here")]

    often, here = service.transact(look)
    assert (often.runs, often.tried_here, often.helped_here) == (30, 1, 0)
    assert (here.runs, here.tried_here, here.helped_here) == (2, 1, 1)
    assert here.score > often.score

    def unknown(root):
        run = next(iter(runs_of(root).values()))
        goes_on = Outage(run.started, run.started + 60, False)  # or was closed by a person
        run.origin = "schedule"
        by_itself = helped([run], goes_on._replace(resolved=True))
        run.origin = "manual"
        return helped([run], goes_on), helped([run], goes_on._replace(resolved=True)), by_itself

    assert service.transact(unknown) == (None, True, None)


def test_the_war_room_has_the_runs_that_belong_to_it_and_the_others_apart(service):
    """Started from it, or for its host during it. What merely ran near it stands behind *Add*."""
    box = Polling(service, "box-1", tags=["web"])
    box.report()
    host = box.id
    monitor = {"name": "Shop", "type": "http", "url": "http://shop.example/", "tags": ["eu"], "agent_id": host}
    monitor_id = service.otto.post_json("/api/monitoring/endpoints", monitor).json["id"]
    targets = {
        "on the host": {"agent_id": host},
        "on its tag": {"tag": "web"},
        "elsewhere": {"tag": "eu"},
        "from it": {},
    }
    made = {}
    for name, where in targets.items():
        body = {"name": name, "type": "script", "params": {"script": "x", **where}}
        made[name] = service.otto.post_json("/api/automations", body).json["id"]

    def run(root, name, origin="manual"):
        asked = flow.ask(root, service.clock.now(), made[name], given={}, by="otto", origin=origin)
        asked.started = service.clock.now()
        flow.end(root, asked, "done", service.clock.now(), for_good=True)

    service.transact(run, "on the host")
    service.clock.advance(60)
    started = service.transact(
        lambda root: incidents_of(root).start(monitors_of(root)[monitor_id], "HTTP 500", service.clock.now()).id
    )
    service.clock.advance(5)
    for name in made:
        service.transact(run, name)
    place = f"/api/monitoring/incidents/{started}"
    asked = service.otto.post_json(f"{place}/runs", {"automation_id": made["from it"]}).json
    service.transact(begun, asked["run_id"], service.clock.now())
    service.otto.post_json(f"{place}/runs", {"automation_id": "none"}, status=404)
    service.vera.post_json(f"{place}/runs", {"automation_id": made["from it"]}, status=403)
    room = service.vera.get(f"{place}/war-room").json
    shown = [event["text"].partition(":")[0] for event in room["events"] if event["kind"] == "run"]
    assert sorted(shown) == ["from it", "on its tag", "on the host"]
    assert sorted(event["text"].partition(":")[0] for event in room["other_runs"]) == [
        "elsewhere",
        "from it",
        "on the host",
    ]
    marks = service.vera.get(f"/api/moment?kind=incidents&id={started}").json["marks"]
    assert sorted(mark["words"].partition(",")[0] for mark in marks if mark["row"] == "run") == sorted(shown)
    near = service.vera.get(f"/api/moment?kind=incidents&id={started}&runs=all").json["marks"]
    assert "elsewhere" in {mark["words"].partition(",")[0] for mark in near}
    browser = service.browser("otto")
    page = browser.get(f"/incidents/{started}").html
    assert "elsewhere" not in page.select_one("#timeline").text
    assert (
        "elsewhere" in browser.get(page.find("a", string="Add 3 runs")["href"].join((f"/incidents/{started}", ""))).text
    )


def begun(root, run_id, now):
    runs_of(root)[run_id].started = now


def ended(root, run_id, status):
    flow.end(root, runs_of(root)[run_id], status, node_of(root).clock.now(), for_good=True)


def test_scripts_that_the_configuration_forbids_later_do_not_run(service):
    body = {"name": "x", "type": "script", "params": {"script": "true"}}
    automation = service.otto.post_json("/api/automations", body).json["id"]
    run = service.otto.post(f"/api/automations/{automation}/run").json
    service.configure(AutomationSettings, server_scripts=False)
    assert service.transact(take_up, "box:test", frozenset(), 10)[0] == []
    assert service.vera.get(f"/api/automations/runs/{run['run_id']}").json["status"] == "failed"
    assert service.otto.post(f"/api/automations/{automation}/run", status=409).json["code"] == "forbidden_here"
    service.transact(carrier.finish, run["run_id"], "box:test", 1, "", AttemptEnd("done", 0, None))
    assert service.vera.get(f"/api/automations/runs/{run['run_id']}").json["status"] == "failed"
