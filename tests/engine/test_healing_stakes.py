"""Less is done by itself while more is at stake: error budget, release window, hands off, somebody here, a pause."""

import pytest

from opsapp.agents.resources import Agent, agents_of
from opsapp.healing.config import HealingSettings
from opsapp.healing.engine import world
from opsapp.healing.engine.inventory import Inventory, Member
from opsapp.healing.engine.pipeline import world_now
from opsapp.healing.engine.trace import trace
from opsapp.healing.logic.stakes import RuleBudget
from opsapp.healing.resources import healing_of
from opsapp.healing.stages import alone
from opsapp.notify.resources import inbox
from opsapp.runtime.secrets.chainkey import chain_key
from tests.support.hosts import place
from tests.support.monitoring import BLIND, DOWN, UP, Lookout

FAILED, ACTIVE = {"service__nginx__state": "failed"}, {"service__nginx__state": "active"}
MEDIUM = {
    "id": "nginx",
    "condition": 'service.nginx.state == "failed"',
    "action": {"type": "service_dependency_restart"},
}
HOUR = 3600


def broken(here):
    return here.report(**FAILED).turn().turn(5)


def decision(here):
    """What the newest case came to: its level, and the kinds of the reasons why that is lower than the rule's."""
    case = max(here.cases, key=lambda case: case["opened_at"])
    lowered = case["lowered"]
    return case["level"], [reason["kind"] for reason in lowered["reasons"]] if lowered else []


def released(here, target="box-1"):
    body = {"target": target, "duration": "2h", "reason": "shop 4.2", "action": "release"}
    here.service.otto.post_json("/api/healing/maintenance", body, status=201)


def host(here):
    """The agent of the host at the wire, as the API knows it."""

    def add(root):
        agents_of(root)["a1"] = Agent("box-1", [], "", here.clock.now())

    here.node.transact(add)
    return "a1"


def messages(here):
    return [(row.kind, row.title, row.text) for row in here.node.transact(inbox.take, 10_000) if row.title]


def test_in_a_release_window_people_are_asked(ward):
    here = ward().at("execute")
    released(here)
    broken(here)
    assert decision(here) == ("approve", ["release"])
    (entry,) = here.ledger
    assert (entry["outcome"], entry["trust_level"]) == ("awaiting_approval", "execute")
    assert (entry["lowered"]["level"], entry["lowered"]["instead_of"]) == ("approve", "execute")
    (approval,) = here.service.vera.get("/api/approvals").json
    assert "approve instead of execute: release window by otto until" in approval["reason"]
    (told,) = messages(here)
    assert told[0] == "heal.approval"
    assert "approve instead of execute: release window by otto until" in told[2]
    assert "(shop 4.2)" in told[2]


def test_nowhere_else(ward):
    here = ward().at("execute")
    released(here, "box-2")
    assert decision(broken(here)) == ("execute", [])
    assert "lowered" not in here.ledger[0], "an entry of an ordinary decision is as it always was"


def test_why_and_the_dry_run_say_so(ward):
    here = ward().at("execute")
    released(here)
    broken(here)
    story = here.service.vera.get(f"/api/healing/cases/{here.cases[0]['id']}").json
    (gate,) = [gate for gate in story["gates"] if gate["gate"] == "stake"]
    assert (gate["stage"], gate["result"], gate["subject"]) == ("planning", "lowered", "approve")
    assert gate["detail"].startswith("release window by otto until")
    assert story["lowered"]["reasons"][0]["by"] == "otto"
    assert here.service.vera.get("/api/healing/ledger").json[0]["lowered"] == story["lowered"]
    event = {"event": {"rule_id": "nginx", "target": "box-1/nginx", "metrics": {"service.nginx.state": "failed"}}}
    here.service.otto.delete(
        f"/api/healing/maintenance/{here.service.vera.get('/api/healing/maintenance').json[0]['id']}"
    )
    here.report(**ACTIVE).turn().turn(120)
    released(here)
    trust = here.service.otto.post_json("/api/healing/dry-run", event).json["trust"]
    assert (trust["level"], trust["effective_level"]) == ("execute", "approve")
    assert trust["reasons"][0].startswith("approve instead of execute: release window by otto until")


def test_hands_off_a_host_is_told_and_ends_by_itself(ward):
    here = ward().at("execute")
    agent_id = host(here)
    window = here.service.otto.post_json(f"/api/agents/{agent_id}/hands-off", {"for": "1h", "reason": "disk"}).json
    assert window["expires_at"] - window["created_at"] == HOUR
    (told,) = messages(here)
    assert told[:2] == ("agent.hands_off", "box-1: hands off by otto")
    (hold,) = here.service.vera.get("/api/healing/health").json["holds"]
    assert (hold["kind"], hold["target"], hold["by"], hold["until"]) == (
        "hands_off", agent_id, "otto", window["expires_at"])  # fmt: skip
    assert here.service.vera.get("/api/overview").json["holds"] == [hold]
    assert here.service.vera.get("/api/healing/health").json["status"] == "Active"
    here.restart()
    assert decision(broken(here)) == ("approve", ["hands_off"])
    (approval,) = here.service.vera.get("/api/approvals").json
    here.service.ada.post_json(f"/api/approvals/{approval['request_id']}/reject", {})
    here.pass_time(HOUR, step=60, **ACTIVE)
    assert here.service.vera.get("/api/overview").json["holds"] == []
    assert about_hands(here) == [("box-1: hands off is over", "That of otto has ended. Rules act there as before.")]
    assert decision(broken(here)) == ("execute", [])


def test_an_end_of_hands_off_is_told_once_whoever_else_still_says_it(ward):
    here = ward().at("execute")
    agent_id = host(here)
    here.service.otto.post_json(f"/api/agents/{agent_id}/hands-off", {"for": "1h"})
    here.service.ada.post_json(f"/api/agents/{agent_id}/hands-off", {"for": "2h"})
    here.pass_time(HOUR + 60, step=300, **ACTIVE)
    assert about_hands(here)[2:] == [("box-1: hands off by otto is over", "That of ada goes on.")]
    here.restart()
    windows = here.service.otto.get("/api/healing/maintenance").json
    (window,) = [window for window in windows if window["active"]]
    here.service.otto.delete(f"/api/healing/maintenance/{window['id']}")
    here.pass_time(2 * HOUR, step=300, **ACTIVE)
    assert [title for title, _ in about_hands(here)] == ["box-1: hands off is over"]


def about_hands(here):
    """What was told since the last look."""
    return [told[1:] for told in messages(here) if told[0] == "agent.hands_off"]


def test_hands_off_may_end_early_and_needs_an_end(ward):
    here = ward().at("execute")
    agent_id = host(here)
    otto, path = here.service.otto, f"/api/agents/{agent_id}/hands-off"
    for wrong in ({}, {"reason": "x"}, {"for": "1h", "until": 9}, {"until": 9}, {"for": "0s"}, {"for": "soon"}):
        otto.post_json(path, wrong, status=422)
    otto.post_json(path, {"until": int(here.clock.now()) + HOUR})
    otto.post_json(path, {"for": "3h"})
    assert len(otto.get("/api/overview").json["holds"]) == 1, "a later word takes the place of the one before"
    here.service.ada.delete(path)
    assert decision(broken(here)) == ("execute", [])
    otto.delete(path, status=409)
    assert messages(here)[-1][1] == "box-1: hands off is over"


def test_hands_off_holds_for_what_a_monitor_would_have_done_there(ward):
    rule = {"id": "shop", "condition": "monitor.up == 0", "action": {"type": "restart_service", "target": "box-1",
            "params": {"service": "nginx"}}}  # fmt: skip
    here = ward(rule).at("execute", "shop")
    agent_id = host(here)
    here.hosts.here.append(place("shop", None, subject="monitor:m1", names=("shop", "m1")))
    here.service.otto.post_json(f"/api/agents/{agent_id}/hands-off", {"for": "1h"})
    here.report("monitor:m1", monitor__up=0.0).turn().turn(5)
    assert decision(here) == ("approve", ["hands_off"])


def test_two_reasons_lower_by_one_level(ward):
    here = ward().at("execute")
    agent_id = host(here)
    released(here)
    here.service.otto.post_json(f"/api/agents/{agent_id}/hands-off", {"for": "1h"})
    assert decision(broken(here)) == ("approve", ["release", "hands_off"])


@pytest.mark.parametrize(("level", "less"), [("approve", "notify"), ("notify", "notify"), ("dry-run", "dry-run")])
def test_nobody_is_told_less_because_of_it(ward, level, less):
    here = ward().at(level)
    released(here)
    assert decision(broken(here))[0] == less
    if level == "approve":
        assert "approve instead" not in here.ledger[0]["reason"]
        assert here.ledger[0]["reason"].startswith("notify instead of approve: release window")


def test_a_window_that_only_notifies_is_stricter_still(ward):
    here = ward().at("execute")
    released(here)
    body = {"target": "box-1", "duration": "1h", "action": "notify_only"}
    here.service.otto.post_json("/api/healing/maintenance", body, status=201)
    assert decision(broken(here)) == ("notify", [])


def test_while_somebody_is_here_a_medium_risk_asks(ward):
    here = ward(MEDIUM).at("execute")
    here.service.otto.post_json("/api/healing/here", {"for": "2h"})
    here.restart()
    assert decision(broken(here)) == ("approve", ["here"])
    here.service.otto.delete("/api/healing/here")
    here.service.otto.delete("/api/healing/here", status=409)


def test_and_a_low_one_acts(ward):
    here = ward().at("execute")
    here.service.otto.post_json("/api/healing/here", {"for": "2h"})
    assert decision(broken(here)) == ("execute", [])


def test_nobody_is_here_for_longer_than_they_said(ward):
    here = ward(MEDIUM).at("execute")
    here.service.otto.post_json("/api/healing/here", {"for": "2h"})
    here.turn(2 * HOUR)
    assert decision(broken(here)) == ("execute", [])


def test_hands_off_between_the_plan_and_the_act_stops_it(ward):
    here = ward().at("execute")
    agent_id = host(here)
    broken(here)
    assert here.cases[0]["phase"] == "snapshot"
    here.service.otto.post_json(f"/api/agents/{agent_id}/hands-off", {"for": "1h"})
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    (entry,) = here.ledger
    assert (entry["outcome"], entry["executed"]) == ("withdrawn", False)
    assert entry["reason"].startswith("approve instead of execute: hands off by otto until")


def test_a_pause_with_an_end_is_told_and_ends_by_itself(ward):
    here = ward().at("execute")
    here.service.ada.post_json("/api/healing/pause", {"for": "1h", "reason": "audit"})
    assert [told[:2] for told in messages(here)] == [("heal.paused", "All healing is paused")]
    health = here.service.vera.get("/api/healing/health").json
    assert health["status"] == "Paused"
    assert health["reasons"][0].startswith("paused by ada until")
    assert health["reasons"][0].endswith("(audit)")
    broken(here)
    assert here.ledger[0]["reason"].startswith("paused: by ada until")
    here.restart()
    here.pass_time(HOUR - 10, step=300, **FAILED)
    assert here.service.vera.get("/api/healing/health").json["status"] == "Paused"
    here.pass_time(30, step=5, **FAILED)
    assert here.service.vera.get("/api/healing/health").json["status"] == "Active"
    assert messages(here)[-1][:2] == ("heal.resumed", "Healing goes on")
    assert [entry["state"] for entry in here.ledger][-1] == "executing"


@pytest.mark.parametrize("by", [-2 * HOUR, 2 * HOUR])
def test_a_step_of_the_clock_changes_no_end(ward, by):
    here = ward(MEDIUM).at("execute")
    here.service.ada.post_json("/api/healing/pause", {"for": "1h"})
    here.service.otto.post_json("/api/healing/here", {"for": "90m"})
    here.service.clock.set_by(by)
    here.service.node.clock_steps.step()
    here.service.tokens.clear()
    here.turn(HOUR - 60)
    assert here.service.vera.get("/api/healing/health").json["status"] == "Paused"
    here.turn(120)
    assert here.service.vera.get("/api/healing/health").json["status"] == "Active"
    assert decision(broken(here)) == ("approve", ["here"])
    here.turn(HOUR)
    assert here.service.vera.get("/api/overview").json["holds"] == []


def watched(here, *phases):
    """A monitor of the host, and what it has seen."""
    lookout = Lookout(here.service)
    monitor_id = lookout.watch_through(*phases, step=30, interval=60)
    here.hosts.here.append(place("shop", "a1", subject=f"monitor:{monitor_id}", names=("shop", monitor_id)))


@pytest.mark.parametrize(
    ("phases", "slo", "level"),
    [
        ([(UP, 6 * HOUR)], 99.0, "execute"),
        ([(UP, 6 * HOUR), (DOWN, 600)], 90.0, "execute"),
        ([(UP, 6 * HOUR), (DOWN, 600)], 97.4, "approve"),  # under a tenth is left
        ([(UP, 6 * HOUR), (DOWN, 600)], 99.9, "approve"),
        ([(BLIND, 6 * HOUR), (UP, HOUR)], 99.0, "approve"),  # most of it is unknown
    ],
)
def test_with_little_error_budget_left_people_are_asked(ward, phases, slo, level):
    rule = {**MEDIUM, "action": {"type": "restart_service"}, "budget": {"slo": slo, "window": "1d"}}
    here = ward(rule).at("execute")
    watched(here, *phases)
    broken(here)
    assert decision(here) == (level, [] if level == "execute" else ["budget"])


def test_a_budget_that_nothing_measures_is_not_enough(ward):
    here = ward({**MEDIUM, "budget": {"slo": 99.0, "window": "1d"}}).at("execute")
    broken(here)
    assert decision(here) == ("approve", ["budget"])
    assert here.cases[0]["lowered"]["reasons"][0]["said"] == "error budget unknown (99 % over 1d)"


def test_what_is_left_for_a_thousand_hosts_is_reckoned_at_once(ward, monkeypatch):
    """Each host read the hours of its own monitors, and looked through all monitors for them: 2,000 each."""
    here, asked = ward(MEDIUM), []
    monitors = [Member(f"monitor:m{n}", f"m{n}", f"a{n // 2}", (f"m{n}",)) for n in range(2000)]
    inventory, budget = Inventory(monitors), RuleBudget(99.0, "1d")

    def noting(node, root, ids, slo, window_s):
        asked.append(len(ids))
        return {monitor_id: int(monitor_id[1:]) / 2000 for monitor_id in ids}

    monkeypatch.setattr(world, "budgets_left", noting)

    def left(root):
        measuring = world.MeasuringMonitors(inventory, healing_of(root).dependencies.graph())
        budgets = world.ErrorBudgets(root, measuring)
        return [budgets.left(budget, f"agent:a{n}", frozenset({f"a{n}"})) for n in range(1000)]

    found = here.node.transact(left)
    assert asked == [2, 2000]
    names = [[each.monitor for each in of_host] for of_host in found]
    assert names == [[f"m{2 * n}", f"m{2 * n + 1}"] for n in range(1000)]
    assert [each.share for each in found[7]] == [14 / 2000, 15 / 2000]


def test_what_a_host_may_do_alone_goes_by_it(ward):
    here = ward(MEDIUM).at("execute")

    def policies():
        def read(root):
            world = world_now(root)
            return [policy.rule_id for policy in alone.policies(world.hosts["a1"], ("box-1", "a1"), (), world)]

        return here.node.transact(read)

    assert policies() == ["nginx"]
    here.service.otto.post_json("/api/healing/here", {"for": "1h"})
    assert policies() == [], "a medium risk is asked about"
    here.service.otto.delete("/api/healing/here")
    assert policies() == ["nginx"]
    released(here)
    assert policies() == []


def test_the_trace_finds_an_act_that_its_lowered_level_forbids(ward):
    here = ward().at("execute")
    released(here)
    broken(here)

    def tamper(root):
        entry = healing_of(root)["ledger"].entries[1]
        entry.fields = {**entry.fields, "executed": True, "approval_id": None}
        return [broken.what for broken in trace(root, chain_key(root), here.node.config[HealingSettings])]

    assert "it was executed without the approval that it needs" in here.node.transact(tamper)


def pressed(page, act):
    chosen = next(form for form in page.forms.values() if "act" in form.fields and form["act"].value == act)
    return chosen.submit(status=303)


def notices(page):
    return [" ".join(notice.text.split()) for notice in page.html.select("p.notice")]


def test_the_overview_has_a_button_for_who_is_here(ward):
    here = ward()
    host(here)
    otto = here.service.browser("otto")
    pressed(otto.get("/"), "overview.here")
    assert any(words.startswith("otto is here.") for words in notices(otto.get("/")))
    assert "overview.here" not in [form["act"].value for form in otto.get("/").forms.values() if "act" in form.fields]
    pressed(otto.get("/"), "overview.leave")
    assert not any(words.startswith("otto is here.") for words in notices(otto.get("/")))
    assert not here.service.browser("vera").get("/").html.select("input[value='overview.here']")


def test_the_page_of_a_host_says_hands_off(ward):
    here = ward()
    page = f"/agents/{host(here)}"
    otto = here.service.browser("otto")
    pressed(otto.get(page), "agent.hands_off")
    (words,) = notices(otto.get(page))[-1:]
    assert words.startswith("Hands off this host, says otto. Rules act one level lower there. It ends at")
    assert "box-1: hands off" in otto.get("/healing").html.text
    pressed(otto.get(page), "agent.hands_on")
    assert not any("Hands off" in words for words in notices(otto.get(page)))
    sentences = here.service.browser("ada").get("/audit").html.text
    assert "turned healing off (hands off) for the host" in sentences


def test_a_rule_says_its_budget_in_the_form_and_as_code(ward):
    here = ward()
    ada = here.service.browser("ada")
    form = next(form for form in ada.get("/healing/rules/nginx").forms.values() if "budget_slo" in form.fields)
    form["budget_slo"], form["budget_window"] = "99.5", "7 d"
    form.submit("do", value="save")
    assert here.service.vera.get("/api/healing/rules/nginx").json["budget"] == {"slo": 99.5, "window": "7d"}
    kept = here.service.ada.get("/api/export").text
    assert '"budget":{"slo":99.5,"window":"7d"}' in kept
    path = "/api/healing/rules/nginx"
    for wrong in ({"slo": 100}, {"window": "7d"}, {"slo": 99, "window": "5m"}, {"slo": 99, "window": "90d"}):
        here.service.ada.put_json(path, {"budget": wrong}, status=422)
    here.service.ada.put_json(path, {"budget": None})
    assert here.service.vera.get(path).json["budget"] is None
