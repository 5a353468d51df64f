"""Automations and runs for who is in a team: those on hosts that the team sees, started where it may act."""

import json

import pytest

from opsapp.auth.resources.teams import sight_for
from opsapp.automations.engine import flow, reach
from opsapp.automations.engine.carrier import take_up
from opsapp.automations.resources import Run, automations_of, runs_of
from opsapp.web.sight import told
from tests.support.app import Service
from tests.support.damage import oid_of, overwrite
from tests.support.loads import loads_of
from tests.support.twohalves import member

from .test_agents import Polling

ALL = "/api/automations"
RUNS = f"{ALL}/runs"
MANY = 3000


class Halves:
    """A host of each tag, and lena, who may act on what has the tag shop, and sees what has shared."""

    def __init__(self, service):
        self.service = service
        service.clock.advance(60)
        self.hosts = {}
        for tag in ("shop", "bank", "shared"):
            box = self.hosts[tag] = Polling(service, f"{tag}-1", tags=[tag])
            box.report(hostname=f"{tag}-1")
        service.ada.get("/api/agents")
        self.lena = member(service, see=["shared"], act=["shop"])

    def on(self, tag, name=None):
        return self.make(name or f"on {tag}", agent_id=self.hosts[tag].id)

    def make(self, name, kind="agent_command", **params):
        given = {"command": "true", **params} if kind == "agent_command" else params
        body = {"name": name, "type": kind, "params": given}
        return self.service.ada.post_json(ALL, body).json["id"]

    def run(self, automation, who=None):
        return (who or self.service.ada).post(f"{ALL}/{automation}/run").json["run_id"]

    def take_up(self):
        self.service.transact(take_up, "box:test", frozenset(), 100)


@pytest.fixture
def halves(service):
    return Halves(service)


def names(answer):
    return sorted(row["name"] for row in answer.json)


def test_an_automation_is_seen_by_who_sees_every_host_that_it_runs_on(halves):
    own, other, shared = (halves.on(tag) for tag in ("shop", "bank", "shared"))
    seen = {
        own,
        shared,
        halves.make("by name", hostname="shop-1"),
        halves.make("by tag", tag="shop"),
        halves.make("both of ours", "composite", automations=[own, shared]),
    }
    hidden = {
        other,
        halves.make("by their name", hostname="bank-1"),
        halves.make("of no host", hostname="nowhere"),
        halves.make("by their tag", tag="bank"),
        halves.make("a mixture", "composite", automations=[own, other]),
        halves.make("here", "script", script="true"),
        halves.make("an address", "webhook", url="http://127.0.0.1/"),
        halves.make("a message", "notification", title="hello"),
    }
    hidden.add(halves.make("deep", "composite", automations=[next(iter(seen - {own})), own, other]))
    listed = halves.lena.get(ALL)
    assert {row["id"] for row in listed.json} == seen
    assert listed.headers["X-Total-Count"] == str(len(seen))
    for automation, status in [*((each, 200) for each in seen), *((each, 404) for each in hidden)]:
        halves.lena.get(f"{ALL}/{automation}", status=status)
        halves.lena.get(f"{ALL}/{automation}/runs", status=status)
    assert names(halves.lena.get(f"{ALL}?uses={halves.hosts['bank'].id}")) == []


def test_a_host_that_gets_the_tag_or_the_name_takes_it_away(halves):
    tagged, named = halves.make("by tag", tag="web"), halves.make("by name", hostname="shop-1")
    for host in ("shop", "bank"):
        halves.service.ada.put_json(f"/api/agents/{halves.hosts[host].id}", {"tags": [host, "web"]})
    halves.lena.get(f"{ALL}/{tagged}", status=404)
    halves.lena.get(f"{ALL}/{named}")
    halves.service.ada.put_json(f"/api/agents/{halves.hosts['bank'].id}", {"label": "shop-1"})
    halves.lena.get(f"{ALL}/{named}", status=404)


def test_one_is_started_where_the_team_may_act_on_every_host(halves):
    own, shared = halves.on("shop"), halves.on("shared")
    mixed = halves.make("both", "composite", automations=[own, shared])
    for automation in (shared, mixed):
        refused = halves.lena.post(f"{ALL}/{automation}/run", status=403)
        assert refused.json["code"] == "team_right_missing"
    for automation in (own, halves.make("by tag", tag="shop")):
        run = halves.run(automation, halves.lena)
        halves.take_up()
        record = halves.lena.get(f"{RUNS}/{run}").json
        assert (record["status"], record["requested_by"]) == ("running", "lena")
    assert halves.run(halves.on("bank")) != ""
    halves.lena.post(f"{ALL}/{halves.on('bank', 'another')}/run", status=404)


def test_definitions_are_not_changed_by_who_is_in_a_team(halves):
    own = halves.on("shop")
    body = {"name": "mine", "type": "agent_command", "params": {"command": "true", "agent_id": halves.hosts["shop"].id}}
    for ask in (
        lambda: halves.lena.post_json(ALL, body, status=403),
        lambda: halves.lena.put_json(f"{ALL}/{own}", {"name": "other"}, status=403),
        lambda: halves.lena.delete(f"{ALL}/{own}", status=403),
        lambda: halves.lena.post(f"{ALL}/{own}/webhook-token", status=403),
        lambda: halves.lena.get(f"{ALL}/export", status=403),
        lambda: halves.lena.post_json(f"{ALL}/import", [body], status=403),
    ):
        assert ask().json["code"] == "not_for_teams"


def test_a_run_is_seen_by_who_sees_every_host_that_it_was_sent_to(halves):
    """Whatever its automation is by now."""
    automation = halves.on("bank", "moved")
    before = halves.run(automation)
    halves.take_up()
    halves.service.ada.post(f"{RUNS}/{before}/cancel")
    params = {"command": "true", "agent_id": halves.hosts["shop"].id}
    halves.service.ada.put_json(f"{ALL}/{automation}", {"params": params, "concurrency": "replace"})
    after = halves.run(automation)
    halves.lena.get(f"{RUNS}/{before}", status=404)
    halves.lena.get(f"{RUNS}/{before}/stream", status=404)
    assert [row["run_id"] for row in halves.lena.get(RUNS).json] == [after]
    of_it = halves.lena.get(f"{ALL}/{automation}/runs")
    assert ([row["run_id"] for row in of_it.json], of_it.headers["X-Total-Count"]) == ([after], "1")
    assert halves.lena.get(f"{ALL}/{automation}").json["running"] != before


def test_what_a_run_was_sent_to_and_is_gone_hides_it(halves):
    run = halves.run(halves.on("shop"))
    halves.take_up()
    halves.lena.get(f"{RUNS}/{run}")
    halves.service.ada.delete(f"/api/agents/{halves.hosts['shop'].id}")
    halves.lena.get(f"{RUNS}/{run}", status=404)
    assert halves.lena.get(RUNS).json == []


def test_a_run_is_cancelled_where_the_team_may_act(halves):
    own, shared = halves.run(halves.on("shop")), halves.run(halves.on("shared"))
    assert halves.lena.post(f"{RUNS}/{shared}/cancel", status=403).json["code"] == "team_right_missing"
    halves.lena.post(f"{RUNS}/{own}/cancel")


def test_a_run_of_several_is_seen_with_all_of_them(halves):
    own, shared = halves.on("shop"), halves.on("shared")
    both = halves.make("both", "composite", automations=[own, shared])
    run = halves.run(both)
    halves.take_up()
    record = halves.lena.get(f"{RUNS}/{run}").json
    part = record["parts"][0]["run_id"]
    told = halves.lena.get(f"{RUNS}/{part}").json
    assert (told["parent"], told["origin"]) == (run, "run")
    halves.service.ada.put_json(f"/api/agents/{halves.hosts['shared'].id}", {"tags": ["bank"]})
    halves.lena.get(f"{RUNS}/{run}", status=404)
    assert halves.lena.get(f"{RUNS}/{part}").json["parent"] is None


def test_what_a_run_came_from_is_told_in_a_word(halves):
    body = {"name": "the bank is on fire"}
    incident = halves.service.ada.post_json("/api/monitoring/incidents", body).json["id"]
    asked = {"automation_id": halves.on("shop")}
    run = halves.service.ada.post_json(f"/api/monitoring/incidents/{incident}/runs", asked).json["run_id"]
    assert halves.lena.get(f"{RUNS}/{run}").json["origin"] == "incident"
    assert incident not in halves.lena.get(RUNS).text


def test_what_cannot_be_read_is_not_told(tmp_path, monkeypatch):
    monkeypatch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
    halves = Halves(Service(tmp_path))
    automation, run = halves.on("shop"), halves.run(halves.on("shop", "another"))
    assert [row["run_id"] for row in halves.lena.get(RUNS).json] == [run]
    oids = (
        oid_of(halves.service, lambda root: automations_of(root)[automation].definition),
        oid_of(halves.service, lambda root: runs_of(root)[run].definition),
    )
    halves.service.close()
    for oid in oids:
        overwrite(tmp_path / "main.fs", oid, 0.5)
    service = Service(tmp_path)
    try:
        lena = service.client("lena")
        assert (lena.get(RUNS).json, lena.get(ALL).json) == ([], [])
        lena.get(f"{RUNS}/{run}", status=404)
        lena.get(f"{ALL}/{automation}", status=404)
        assert len(service.ada.get(ALL).json) == 2, "others are told that there is something"
    finally:
        service.close()


def test_events_tell_of_the_end_of_runs_on_hosts_that_are_seen(halves):
    service, events = halves.service, []
    service.node.events.listen(events.append)
    runs = {tag: halves.run(halves.on(tag)) for tag in ("shop", "bank", "shared")}
    incident = halves.service.ada.post_json("/api/monitoring/incidents", {"name": "of the bank"}).json["id"]
    asked = {"automation_id": halves.on("shop", "from an incident")}
    runs["incident"] = halves.service.ada.post_json(f"/api/monitoring/incidents/{incident}/runs", asked).json["run_id"]
    halves.take_up()
    for run_id in runs.values():
        service.transact(lambda root, run_id: flow.end(root, runs_of(root)[run_id], "done", 0.0), run_id)
    service.node.events.step()
    sight = service.read(lambda root: sight_for(root, "lena"))
    sent = [event._replace(text=json.dumps(event.data)) for event in events if event.kind == "run"]
    texts = [told(service.app.registry, service.node, sight, event) for event in sent]
    heard = {row["run_id"]: row["origin"] for row in (json.loads(text) for text in texts if text is not None)}
    assert set(heard) == {runs["shop"], runs["shared"], runs["incident"]}
    assert heard[runs["incident"]] == "incident"


def test_pages_show_and_start_them(halves):
    own, other = halves.on("shop", "clear the till"), halves.on("bank", "clear the vault")
    run = halves.run(own)
    halves.run(other)
    browser = halves.service.browser("lena")
    page = browser.get("/automations")
    assert "clear the till" in page.text
    assert "clear the vault" not in page.text
    assert "New automation" not in page.text
    assert "/automations" in {link["href"] for link in page.html.select("nav a")}
    one = browser.get(f"/automations/{own}")
    assert one.html.find("button", string="Run now")
    assert {"Delete", "Edit", "Clone"}.isdisjoint(one.html.get_text(" ", strip=True).split())
    assert "No automation runs on hosts of your team alone" in browser.get("/automations?sort=name&offset=50").text
    assert "Run of clear the till" in browser.get(f"/automations/runs/{run}").text
    assert "clear the vault" not in browser.get("/find?q=clear").text


def test_a_list_for_a_team_looks_into_a_bounded_number(halves, monkeypatch):
    monkeypatch.setattr("opsapp.automations.engine.records.LOOKED_AT", 400)
    own, other = halves.on("shop"), halves.on("bank")

    def fill(root):
        now = halves.service.clock.now()
        for number in range(MANY):
            automation = automations_of(root)[own if number % 2 else other]
            outline = automation.settings.outline
            run = Run(automation.id, automation.definition, outline, by="ada", origin="manual", now=now)
            host = halves.hosts["shop" if number % 2 else "bank"].id
            run.status, run.commands = "done", ((host, "box", f"c{number}", "done"),)
            runs_of(root).add(run, now, "")
            runs_of(root).end(run, "done")

    halves.service.transact(fill)
    rows, loaded = loads_of(halves.service, monkeypatch, halves.lena, f"{RUNS}?limit=20")
    assert len(rows) == 20
    assert {row["automation_id"] for row in rows} == {own}
    assert loaded["Run"] == 400
    assert loaded.total() < 2 * 400
    assert loaded["Agent"] == 0


def test_runs_that_are_made_of_others_are_bounded_too(halves, monkeypatch):
    monkeypatch.setattr(reach, "MOST", 1)
    both = halves.run(halves.make("both", "composite", automations=[halves.on("shop"), halves.on("shared")]))
    halves.take_up()
    halves.lena.get(f"{RUNS}/{both}", status=404)
