"""What may go wrong around it: agents that go, cases that cannot be worked, heals done elsewhere, rollback."""

import threading

import pytest

from opsapp.agents.resources import Agent, Policies, agents_of, keep_outcome
from opsapp.healing.config import HealingSettings
from opsapp.healing.engine import arrivals, rollback
from opsapp.healing.engine.warroom import section
from opsapp.healing.records import RuleSettings
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.rules import put_rule
from opsapp.healing.stages import trust as governor
from opsapp.lib.problems import Conflict, NotFound
from opsapp.monitoring.resources import incidents_of, monitors_of
from opsapp.wire.records import made, plain
from opsapp.wire.reports import LocalOutcome
from tests.engine.healing import NGINX
from tests.engine.test_healing_pipeline import ACTIVE, FAILED, PAUSE, WILD, broken, outcomes
from tests.support.hosts import place
from tests.support.incidents import open_incident
from tests.support.loglines import written
from tests.support.waiting import until


def gone(*_, **__):
    raise NotFound("There is no agent a1.")


def test_an_agent_that_is_deleted_ends_the_step_and_not_the_pipeline(ward):
    here = broken(ward)
    here.hosts.finish("snapshot", snapshot={})
    here.hosts.send = gone
    here.turn(1)
    assert [(entry["outcome"], entry["reason"]) for entry in here.ledger] == [
        ("failed", "execute not possible: There is no agent a1.")
    ]


def test_a_rule_that_is_deleted_ends_its_cases(ward):
    here = ward().at("execute").report(**FAILED).turn()
    here.service.ada.delete("/api/healing/rules/nginx")
    here.turn(6)
    assert [(entry["outcome"], entry["reason"]) for entry in here.ledger] == [("suppressed", "rule_disabled")]


def test_one_case_that_cannot_be_worked_does_not_stop_the_others(ward, monkeypatch, caplog):
    here = (
        ward(places=[place(), place("box-2", "a2")]).at("notify").report(**FAILED).report("agent:a2", **FAILED).turn()
    )
    correlate = arrivals.correlation.correlate

    def poisoned(case, world):
        if case.target.startswith("box-2"):
            raise RuntimeError("boom")
        return correlate(case, world)

    monkeypatch.setattr(arrivals.correlation, "correlate", poisoned)
    with written() as lines:
        here.turn(6)
    (dropped,) = [line for line in lines.kept if line["message"].startswith("dropped: ") and "case" in line]
    assert dropped["message"] == f"dropped: ('{dropped['case']}',)"
    found = {entry["target"]: (entry["outcome"], entry["reason"]) for entry in here.ledger}
    assert found["box-1/nginx"] == ("notified", "level notify")
    assert found["box-2/nginx"] == ("lost", "internal_error: RuntimeError: boom")
    assert "boom" in caplog.text


def test_an_event_that_cannot_be_received_still_has_its_outcome(ward, monkeypatch):
    here = ward().at("notify")

    def poisoned(*_):
        raise RuntimeError("boom")

    monkeypatch.setattr(arrivals.correlation, "receive", poisoned)
    here.report(**FAILED).turn()
    assert [(entry["outcome"], entry["reason"]) for entry in here.ledger] == [
        ("suppressed", "internal_error: RuntimeError: boom")
    ]


CLAIM = {
    "outcome_id": "o1",
    "rule_id": "nginx",
    "condition": 'service.nginx.state == "failed"',
    "target": "box-1/nginx",
    "action_type": "restart_service",
    "action_params": {"service": "nginx"},
    "escalation_step": 0,
    "action_success": 1,
    "verified": 1,
    "outcome": "verified",
    "reason": None,
    "duration_s": 3.0,
    "policy_version": 1,
    "metrics_before": {},
    "metrics_after": {},
}


def local(here, **changes):
    outcome = {**CLAIM, "created_at": here.clock.now() - 60, **changes}
    here.node.transact(lambda root: healing_of(root).given.update({"a1": ("nginx", "gone")}))
    here.node.transact(enrol, ((0.0, here.clock.now()),), 100)
    here.node.transact(keep_outcome, "a1", made(LocalOutcome, outcome))
    return here.turn()


def enrol(root, silences, budget):
    """The agent behind the host, which was not heard in these times, and may do so much alone."""
    agents = agents_of(root)
    if "a1" not in agents:
        agents["a1"] = Agent("box-1", [], "", 0.0)
    bundle = {"version": 1, "budget": budget, "budget_window_s": 3600.0, "offline_after_s": 45.0}
    agents["a1"].policies = Policies(bundle)
    agents["a1"].state.silences = silences


def own(here, outcome, at=None):
    """A case that the service saw itself."""

    def count(root):
        state = healing_of(root)["trust"]["nginx"]
        trust, _ = governor.recorded(state.trust, outcome, at or here.clock.now(), HealingSettings())
        state.become(root, trust, cause="test", now=here.clock.now())

    here.node.transact(count)


def test_a_heal_that_an_agent_did_alone_is_written_down_once(ward):
    here = ward().turn()
    local(local(here))
    [entry] = here.ledger
    assert (entry["source"], entry["outcome"], entry["verified"], entry["events"]) == ("agent", "verified", 1, 1)
    assert (entry["risk"], entry["case_id"], entry["snapshot_id"]) == ("low", "o1", "alone.o1")


def test_what_a_lonely_heal_made_worse_stands_in_its_entry(ward):
    harm = {"rule_id": "disk", "target": "box-1", "condition": "disk_percent > 90"}
    here = local(ward().turn(), outcome="failed", verified=0, reason="worse: disk", worse=[harm])
    [entry] = here.service.vera.get("/api/healing/ledger").json
    assert (entry["outcome"], entry["worse"]) == ("failed", [harm])


def test_lonely_heals_count_together_with_one_that_the_service_saw(ward):
    here = ward().turn()
    local(here)
    local(here, outcome_id="o2", outcome="failed", verified=0)
    assert (here.trust().verified, here.trust().failed) == (0, 0)
    own(here, "verified")
    assert (here.trust().verified, here.trust().failed) == (2, 1)
    local(here, outcome_id="o3")
    assert here.trust().verified == 3


def test_they_put_no_brake_on_other_hosts(ward):
    here = ward().turn()
    for number in range(20):
        local(here, outcome_id=f"o{number}")
    assert here.node.transact(lambda root: healing_of(root).begun) == ()


def test_what_an_agent_claims_beyond_its_budget_or_while_it_was_heard_is_recorded_and_not_believed(ward):
    here = ward().turn()
    here.node.transact(enrol, (), 1)

    def told(name, silences, budget, **changes):
        def said(root):
            enrol(root, silences, budget)
            at = here.clock.now() - 60
            told = {**CLAIM, "created_at": at, "outcome_id": name, **changes}
            keep_outcome(root, "a1", made(LocalOutcome, told))

        here.node.transact(said)
        here.turn()
        return here.ledger[-1]["outcome"], here.ledger[-1]["reason"].partition(":")[0]

    here.node.transact(lambda root: healing_of(root).given.update({"a1": ("nginx",)}))
    away = ((here.clock.now() - 100, here.clock.now()),)
    assert told("c1", (), 100) == ("suppressed", "beyond_budget")
    assert told("c2", away, 1) == ("verified", "healed by the agent alone")
    assert told("c3", away, 1) == ("suppressed", "beyond_budget")
    assert told("c4", away, 1, escalation_step=1) == ("suppressed", "beyond_budget")
    assert told("c5", away, 2, outcome="failed", escalated=True) == ("failed", "healed by the agent alone")
    assert told("c6", away, 2, escalation_step=1) == ("verified", "healed by the agent alone")
    assert here.trust().executions == 0


def test_steps_of_one_lonely_heal_stand_for_one_event(ward):
    here = local(ward().turn(), outcome="failed", verified=0, escalated=True)
    local(here, outcome_id="o2", escalation_step=1)
    assert [(entry["outcome"], entry["events"]) for entry in here.ledger] == [("failed", 0), ("verified", 1)]


def test_a_host_whose_clock_is_ahead_heals_nothing_in_the_future(ward):
    here = local(ward().turn(), created_at=4e9)
    assert here.ledger[0]["created_at"] <= here.ledger[0]["finished_at"] == int(here.clock.now())


@pytest.mark.parametrize(("apart", "level"), [(1000.0, "notify"), (2000.0, "execute")])
def test_the_breaker_counts_when_lonely_heals_failed_and_not_when_it_is_told(ward, apart, level):
    """Together with a failure that the service saw itself."""
    here = ward().turn().at("execute")
    own(here, "failed", at=here.clock.now() - 100 - 2 * apart)
    for number in (1, 0):  # both told at once
        failed = {"outcome": "failed", "verified": 0, "created_at": here.clock.now() - 100 - number * apart}
        local(here, outcome_id=f"o{number}", **failed)
    assert here.trust().current_level == level


def test_lonely_failures_alone_demote_nothing(ward):
    here = ward().turn().at("execute")
    own(here, "verified")
    for number in range(10):
        local(here, outcome_id=f"o{number}", outcome="failed", verified=0)
    assert (here.trust().current_level, here.trust().failed) == ("execute", 10)


@pytest.mark.parametrize("change", [{"target": "box-9"}, {"target": "box-9/nginx"}, {"rule_id": "gone"}])
def test_an_agent_speaks_of_its_own_host_and_known_rules_only(ward, change):
    here = local(ward().turn(), **change)
    [entry] = here.ledger
    assert (entry["outcome"], entry["target"].split("/")[0]) == ("suppressed", "box-1")
    assert here.trust().executions == 0


def test_an_agent_speaks_of_rules_only_that_it_was_given(ward):
    here = ward({**PAUSE, "id": "other"}, PAUSE).turn()
    local(here, rule_id="other")
    assert (here.ledger[0]["outcome"], here.ledger[0]["reason"]) == (
        "suppressed", "reported by a1: a rule that it was not given",
    )  # fmt: skip


# -- rollback by hand -------------------------------------------------------------------------------------------------

CALM = {"container__web__state": "running"}


def healed(ward):
    return ward(PAUSE).at("execute").report(**WILD).turn().turn(5).heal(**CALM)


def pump(here, answer):
    """The pipeline at work in another thread, and a host that answers, while the view waits."""
    ending = threading.Event()

    def run():
        while not ending.wait(0.01):
            here.engine.work()
            if any(one["answer"] is None and one["params"].get("phase") == "rollback" for one in here.hosts.sent):
                here.hosts.finish("rollback", **answer)

    thread = threading.Thread(target=run)
    thread.start()
    return lambda: (ending.set(), thread.join())


def test_an_admin_undoes_a_heal_once(ward):
    here = healed(ward)
    stop = pump(here, {"restored": True})
    try:
        answer = here.service.ada.post("/api/healing/rollback/1").json
    finally:
        stop()
    assert (answer["outcome"], answer["rolls_back"], answer["ledger_id"]) == ("rolled_back", 1, 2)
    first, second = sorted(here.service.vera.get("/api/healing/ledger").json, key=lambda row: row["id"])
    assert (first["outcome"], first["rollback_status"]) == ("verified", "rolled_back")
    assert (second["action_type"], second["rolls_back"], second["events"]) == ("rollback", 1, 0)
    assert here.service.vera.get("/api/healing/ledger/verify").json["valid"]
    assert here.service.ada.post("/api/healing/rollback/1", status=409).json["code"] == "already_rolled_back"


def test_a_rollback_by_hand_that_fails_says_so(ward):
    here = healed(ward)
    stop = pump(here, {"status": "failed", "reason": "gone"})
    try:
        answer = here.service.ada.post("/api/healing/rollback/1").json
    finally:
        stop()
    assert (answer["outcome"], answer["reason"]) == ("failed", "not restored: gone")


def test_what_cannot_be_undone_is_409(ward):
    here = broken(ward)
    assert here.service.ada.post("/api/healing/rollback/1", status=409).json["code"] == "not_final"
    here.heal(**ACTIVE)
    assert outcomes(here) == [("verified", 1)]
    assert here.service.ada.post("/api/healing/rollback/1", status=409).json["code"] == "not_reversible"


def test_nothing_is_asked_of_a_host_that_is_away_or_gone(ward):
    """It would be undone whenever it comes back, within an hour, and the answer would take two minutes."""
    here = healed(ward)
    sent = len(here.hosts.sent)
    here.hosts.here = [here.hosts.here[0]._replace(online=False)]
    answer = here.service.ada.post("/api/healing/rollback/1", status=503)
    assert (answer.json["code"], answer.headers["Retry-After"]) == ("host_offline", "30")
    here.hosts.here = []
    assert here.service.ada.post("/api/healing/rollback/1", status=409).json["code"] == "no_host"
    assert len(here.hosts.sent) == sent
    assert len(here.ledger) == 1


def test_a_rollback_by_hand_that_cannot_be_asked_for_takes_no_other_step(ward):
    """The agent is deleted in the moment of the click."""
    here = healed(ward)
    chain = [{"action": "container_pause"}, {"action": "restart_container"}]

    def longer(root):
        rule = healing_of(root)["rules"]["nginx"]
        rule.fields = {**rule.fields, "escalation_chain": chain}

    here.node.transact(longer)
    here.node.transact(rollback._ask, 1, "r1")
    here.hosts.send = gone
    here.turn(1)
    assert [(entry["action_type"], entry["outcome"]) for entry in here.ledger] == [
        ("container_pause", "verified"),
        ("rollback", "failed"),
    ]
    assert here.ledger[1]["reason"] == "rollback not possible: There is no agent a1."
    assert {case["state"] for case in here.cases} == {"closed"}


def test_two_rollbacks_at_once_are_one(ward):
    here = healed(ward)
    stop, results = pump(here, {"restored": True}), []

    def ask():
        try:
            results.append(rollback.perform(here.node, 1).outcome)
        except Conflict as refusal:
            results.append(refusal.code)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    until(lambda: len(results) == 2, 20)
    stop()
    assert sorted(results) == ["already_rolled_back", "rolled_back"]


# -- the war room -----------------------------------------------------------------------------------------------------


def test_the_war_room_shows_heals_of_the_incidents_host(ward):
    here = broken(ward).heal(**ACTIVE)
    incident = open_incident("none", "box-1", here.clock.now() - 30)
    found = here.node.transact(section, incident, here.clock.now())
    assert [row["outcome"] for row in found.heals] == ["verified"]
    assert [event.kind for event in found.events] == ["alert", "plan", "action", "verification"]
    assert found.events[-1].text.startswith("restart service, box-1/nginx: verified")
    assert found.suggested_automations[0].success_rate == 100.0


def test_what_helped_before_counts_outages_that_a_heal_ended_and_not_heals_that_ended_well(ward):
    here = broken(ward)
    monitor = {"name": "box-1", "type": "http", "url": "http://shop.example/"}
    monitor_id = here.service.otto.post_json("/api/monitoring/endpoints", monitor).json["id"]
    now = here.clock.now

    def down(root):
        return incidents_of(root).start(monitors_of(root)[monitor_id], "HTTP 500", now()).id

    def counted():
        incident = open_incident(monitor_id, "box-1", now())
        (row,) = here.node.transact(section, incident, now()).suggested_automations
        return row.verified, row.tried_here, row.helped_here

    first = here.node.transact(down)
    here.heal(**ACTIVE)
    here.clock.advance(3600)
    assert counted() == (1, 1, 0), "it went well, and the outage went on"
    here.node.transact(lambda root: incidents_of(root).end(first, now(), "").id)
    here.report(**FAILED).turn().turn(5)
    second = here.node.transact(down)
    here.heal(**ACTIVE)
    here.node.transact(lambda root: incidents_of(root).end(second, now(), "").id)
    assert counted() == (2, 2, 1)


def test_the_war_room_has_no_case_of_an_earlier_incident(ward):
    here = broken(ward).heal(**ACTIVE)
    here.clock.advance(900)
    incident = open_incident("none", "box-1", here.clock.now())
    here.clock.advance(60)
    assert here.node.transact(section, incident, here.clock.now()).heals == []


def test_recurring_heals_are_pointed_out_once(ward):
    limits = {"max_heals_per_hour": {"fleet": 999, "site": 999, "rule": 999}, "max_unhealthy_percent": 99}
    here = ward(brake=limits).at("execute")
    for _ in range(11):
        here.report(**FAILED).turn().turn(5).heal(**ACTIVE)
    found = here.node.transact(lambda root: [*map(plain, healing_of(root)["suggestions"].active())])
    assert [one["category"] for one in found] == ["recurring_issue"]
    here.service.otto.post(f"/api/healing/suggestions/{found[0]['id']}/dismiss")
    here.report(**FAILED).turn().turn(5).heal(**ACTIVE)
    assert here.service.vera.get("/api/healing/suggestions").json == []


def test_the_time_that_the_server_was_away_does_not_count_against_a_heal(ward):
    """Another process has the lease, so the token is another: it asks anew, with all the patience of the rule."""

    def taken_over(root):
        root.system["leases"]["healing"].token += 1

    here = broken(ward)
    here.hosts.finish("snapshot", snapshot={})
    here.turn(1)
    here.hosts.finish("execute")
    here.turn(1).turn(6)
    here.node.transact(taken_over)
    here.clock.advance(500)
    here.restart().turn(0.1).turn(1)
    here.report(**ACTIVE).turn(1)
    assert outcomes(here) == [("verified", 1)]
    assert here.hosts.phases().count("execute") == 1
    assert here.hosts.phases().count("measure") == 2


def test_rapid_alerts_after_the_case_has_closed_are_one_entry_that_counts_them(ward):
    """At `notify` a case closes at once; what flaps for the rest of the window is absorbed, one entry a rule."""
    here = ward()
    for _ in range(6):
        here.report(service__nginx__state="failed").turn()
        here.turn(5.5)
        here.report(service__nginx__state="active").turn()
    told, late = here.ledger
    assert (told["outcome"], told["events"], late["state"], late["events"]) == ("notified", 1, "planned", 5)
    here.turn(60)
    entries = here.ledger
    assert [(one["outcome"], one["events"]) for one in entries] == [("notified", 1), ("absorbed", 5)]
    assert {one["case_id"] for one in entries} == {here.cases[0]["id"]}
    assert here.cases[0]["events"] == {"nginx": 6}
    assert here.verdict().valid
    here.report(service__nginx__state="failed").turn()
    here.turn(5.5)
    assert [one["outcome"] for one in here.ledger] == ["notified", "absorbed", "notified"]


def test_at_observation_no_event_is_told(ward):
    here = ward({**NGINX, "initial_level": "observation"})
    here.report(service__nginx__state="failed").turn()
    assert [one["outcome"] for one in here.ledger] == ["observed"]
    assert here.events("heal") == []


def test_a_new_rule_and_a_new_host_count_at_once(ward):
    """Not from the next round look on: the clock stands still but for a quarter of a second."""
    here = ward(places=[place("box-1", "a1")])
    here.report(cpu_percent=95).turn()
    cpu = {"condition": "cpu_percent > 90", "initial_level": "notify", "action": {"type": "clear_cache"}}

    def add(root):
        put_rule(root, "cpu", made(RuleSettings, cpu), source="api", now=here.clock.now())

    here.node.transact(add)
    here.turn(0.25)
    assert [case["target"] for case in here.cases] == ["box-1"]
    here.hosts.here.append(place("box-2", "a2"))
    here.report("agent:a2", cpu_percent=95).turn(0.25)
    assert sorted(case["target"] for case in here.cases) == ["box-1", "box-2"]


# -- what only watches ------------------------------------------------------------------------------------------------


def test_a_rule_that_watches_and_would_fire_often_is_suggested_for_promotion_and_not_again_once_it_was_put_back(ward):
    here = ward().at("observation")
    for _ in range(10):
        here.report(**FAILED).turn(1).report(service__nginx__state="active").turn(400)  # an outage of its own
    api = here.service.ada

    def suggested():
        here.engine.govern()
        return [one["category"] for one in api.get("/api/healing/suggestions").json]

    assert suggested() == ["trust_promotion"]
    assert [entry["outcome"] for entry in here.ledger] == ["observed"] * 10
    api.post_json("/api/healing/trust/nginx/promote", {"level": "notify"})
    here.clock.advance(60)
    api.post_json("/api/healing/trust/nginx/demote", {"level": "observation"})
    here.clock.advance(60)
    assert suggested() == ["trust_promotion"]
