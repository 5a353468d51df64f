"""The pipeline from an event to its terminal outcome: fake clock, hosts at the wire, real store."""

import pytest

from opsapp.healing.resources import healing_of
from opsapp.wire.records import plain
from tests.engine.healing import NGINX
from tests.support.hosts import place

FAILED, ACTIVE = {"service__nginx__state": "failed"}, {"service__nginx__state": "active"}
CHAIN = {
    "id": "nginx",
    "condition": 'service.nginx.state == "failed"',
    "escalation_chain": [{"action": "service_reset_failed"}, {"action": "restart_service"}],
}
PAUSE = {
    "id": "nginx",
    "condition": 'container.web.state == "wild"',
    "escalation_chain": [{"action": "container_pause"}],
    "verify_timeout_s": 10,
}


def outcomes(here):
    return [(entry["outcome"], entry["events"]) for entry in here.ledger]


def broken(ward, *rules, level="execute", **healing):
    """nginx has failed, the hold is over."""
    return ward(*rules, **healing).at(level).report(**FAILED).turn().turn(5)


def test_a_failed_service_is_restarted_and_verified(ward):
    here = ward().at("execute").report(**FAILED).turn()
    assert [case["state"] for case in here.cases] == ["correlating"]
    assert here.hosts.sent == []
    here.turn(5)
    assert here.hosts.phases() == ["snapshot"]
    assert (here.ledger[0]["state"], here.ledger[0]["outcome"]) == ("executing", None)
    here.heal(**ACTIVE)
    [entry] = here.ledger
    assert (entry["outcome"], entry["verified"], entry["action_success"], entry["events"]) == ("verified", 1, 1, 1)
    assert (entry["target"], entry["action_params"]) == ("box-1/nginx", '{"service": "nginx"}')
    assert entry["metrics_before"] == {"service.nginx.state": "failed"}
    assert entry["metrics_after"] == {"service.nginx.state": "active"}
    assert here.hosts.phases() == ["snapshot", "execute", "measure"]
    assert {command["agent_id"] for command in here.hosts.sent} == {"a1"}
    assert here.verdict().valid
    [case] = here.cases
    assert (case["state"], case["outcome"]) == ("closed", "verified")
    assert "would execute" in case["why"]


@pytest.mark.parametrize(
    ("level", "outcome"), [("observation", "observed"), ("dry-run", "simulated"), ("notify", "notified")]
)
def test_below_approve_nothing_is_touched(ward, level, outcome):
    here = broken(ward, level=level)
    assert outcomes(here) == [(outcome, 1)]
    assert here.hosts.sent == []
    assert here.ledger[0]["action_type"] == ("" if level == "observation" else "restart_service")


def test_a_metric_that_is_missing_never_verifies(ward):
    here = broken(ward)
    here.hosts.finish("snapshot", snapshot={})
    here.turn(1)
    here.hosts.finish("execute")
    here.turn(1)
    here.pass_time(80, step=5)
    assert outcomes(here) == [("inconclusive", 1)]
    assert here.ledger[0]["verified"] == 0
    assert (here.trust().verified, here.trust().failed, here.trust().executions) == (0, 0, 1)


def test_a_report_from_before_the_settle_time_does_not_count(ward):
    here = broken(ward)
    here.hosts.finish("snapshot", snapshot={})
    here.turn(1)
    here.hosts.finish("execute")
    here.turn(1)
    here.report(**ACTIVE).turn(5)  # the service is up before the settle time is over
    here.turn(1)
    assert [entry["outcome"] for entry in here.ledger] == [None]
    here.report(**FAILED).turn(1)  # a second onset, which the open case stands for
    here.until_judged(**FAILED)
    assert outcomes(here) == [("failed", 2)]


def test_a_condition_that_goes_away_during_the_hold_is_left_alone(ward):
    here = ward().at("execute").report(**FAILED).turn(1).report(**ACTIVE).turn(5)
    assert outcomes(here) == [("withdrawn", 1)]
    assert (here.ledger[0]["reason"], here.hosts.sent) == ("condition_gone", [])


def test_a_second_failure_after_a_verified_heal_is_healed_at_once(ward):
    here = broken(ward).heal(**ACTIVE)
    here.report(**FAILED).turn(1).turn(5).heal(**ACTIVE)
    assert outcomes(here) == [("verified", 1), ("verified", 1)]


# -- failures and escalation ------------------------------------------------------------------------------------------


def test_a_step_that_does_not_resolve_escalates_to_the_next(ward):
    here = broken(ward, CHAIN)
    here.heal(**FAILED)
    assert outcomes(here) == [("failed", 0), (None, 0)]
    here.heal(**ACTIVE)
    assert outcomes(here) == [("failed", 0), ("verified", 1)]
    assert [entry["escalation_step"] for entry in here.ledger] == [0, 1]
    assert [entry["action_type"] for entry in here.ledger] == ["service_reset_failed", "restart_service"]


def test_the_end_of_the_chain(ward):
    here = broken(ward, CHAIN).heal(**FAILED).heal(**FAILED)
    assert outcomes(here) == [("failed", 0), ("failed", 1)]
    assert [case["state"] for case in here.cases] == ["closed"]


def test_an_action_that_fails_is_no_heal_and_escalates(ward):
    here = broken(ward, CHAIN)
    here.hosts.finish("snapshot", snapshot={})
    here.turn(1)
    here.hosts.finish("execute", status="failed", exit_code=5, reason="no such unit")
    here.turn(1)
    assert [(entry["outcome"], entry["reason"]) for entry in here.ledger] == [("failed", "no such unit"), (None, "")]
    assert here.trust().failed == 0  # the case goes on


def test_a_lost_action_is_lost_and_not_repeated(ward):
    here = broken(ward, CHAIN)
    here.hosts.finish("snapshot", snapshot={})
    here.turn(1)
    here.hosts.finish("execute", status="lost")
    here.turn(1)
    assert outcomes(here) == [("lost", 1)]
    assert here.hosts.phases() == ["snapshot", "execute"]


@pytest.mark.parametrize("restarted", [False, True])
def test_after_a_lost_action_nothing_is_done_on_what_was_measured_before_its_end(ward, restarted):
    """The service may run again since: the next act is the answer to what was seen after this one had time to work."""
    here = broken(ward, {**NGINX, "cooldown_s": 1, "settle_s": 3})
    here.hosts.finish("snapshot", snapshot={})
    here.turn(1)
    here.hosts.finish("execute", status="lost")
    here.turn(1)
    if restarted:
        here.restart()
    here.turn(2.5)
    here.report(**FAILED)  # the act may still be working
    for _ in range(5):
        here.turn(1)
    assert len(here.ledger) == 1
    here.report(**FAILED)
    here.turn(1)
    here.turn(1)
    assert [entry["outcome"] for entry in here.ledger] == ["lost", None]


def test_no_capable_handler_fails_before_anything_is_sent(ward):
    here = broken(ward, places=[place(usable=frozenset({"docker"}))])
    assert outcomes(here) == [("failed", 1)]
    assert here.ledger[0]["reason"].startswith("no_capable_handler: looked for systemctl")
    assert here.hosts.sent == []
    assert here.trust().executions == 0


def test_the_agent_may_say_that_it_cannot(ward):
    here = broken(ward, places=[place(usable=None)])
    here.hosts.finish("snapshot", snapshot={})
    here.turn(1)
    here.hosts.finish("execute", status="failed", reason="no_capable_handler: systemctl")
    here.turn(1)
    assert outcomes(here) == [("failed", 1)]
    assert (here.trust().executions, here.trust().failed) == (0, 0)


def test_a_bad_history_skips_the_step(ward):
    here = ward(CHAIN, brake={"max_heals_per_hour": {"fleet": 99, "site": 99, "rule": 99}, "max_unhealthy_percent": 99})
    here.at("execute")
    for _ in range(5):
        here.report(**FAILED).turn().turn(5).heal(**FAILED).heal(**ACTIVE)
        here.at("execute")
    here.report(**FAILED).turn().turn(5)
    assert here.hosts.waiting("snapshot")["params"]["action_type"] == "restart_service"
    suggestions = here.node.transact(lambda root: [*map(plain, healing_of(root)["suggestions"].active())])
    assert "low_effectiveness" in [one["category"] for one in suggestions]


def test_three_failures_in_a_row_trip_the_breaker(ward):
    here = ward().at("execute")
    for _ in range(3):
        here.report(**FAILED).turn().turn(5).heal(**FAILED)
        here.report(**ACTIVE).turn(1).turn(120)
    assert here.trust().current_level == "notify"
    assert [event["cause"] for event in here.events("trust")][-1] == "circuit_breaker"
    suggestions = here.node.transact(lambda root: [*map(plain, healing_of(root)["suggestions"].active())])
    assert [one["category"] for one in suggestions] == ["circuit_breaker"]
    before = len(here.hosts.sent)
    here.report(**FAILED).turn(1).turn(5)
    assert len(here.hosts.sent) == before


# -- rollback ---------------------------------------------------------------------------------------------------------

WILD, CALM = {"container__web__state": "wild"}, {"container__web__state": "running"}


def paused(ward):
    return ward(PAUSE).at("execute").report(**WILD).turn().turn(5)


def test_what_fails_and_can_be_reversed_is_rolled_back_at_once(ward):
    here = paused(ward).heal(**WILD)
    command = here.hosts.waiting("rollback")
    assert command["params"]["snapshot"] == {"kind": "unit", "state": {}}
    here.hosts.finish("rollback", restored=True, state={})
    here.turn(1)
    [entry] = here.ledger
    assert (entry["outcome"], entry["rollback_status"], entry["verified"]) == ("rolled_back", "rolled_back", 0)
    assert here.trust().failed == 1


def test_a_rollback_that_fails_is_said(ward):
    here = paused(ward).heal(**WILD)
    here.hosts.finish("rollback", status="failed", reason="gone", restored=False)
    here.turn(1)
    [entry] = here.ledger
    assert (entry["outcome"], entry["rollback_status"]) == ("failed", "failed")
    assert "gone" in entry["reason"]


def test_what_nobody_can_tell_is_not_rolled_back(ward):
    here = paused(ward)
    here.hosts.finish("snapshot", snapshot={"kind": "container", "state": {}})
    here.turn(1)
    here.hosts.finish("execute")
    here.turn(1).pass_time(30)
    assert outcomes(here) == [("inconclusive", 1)]
    assert "rollback" not in here.hosts.phases()


def test_a_reversible_action_does_not_start_without_its_snapshot(ward):
    here = paused(ward)
    here.hosts.finish("snapshot", status="failed", reason="no podman")
    here.turn(1)
    assert outcomes(here) == [("failed", 1)]
    assert here.ledger[0]["reason"] == "no_snapshot: no podman"
    assert here.hosts.phases() == ["snapshot"]


def test_another_action_says_that_the_snapshot_is_missing_and_starts(ward):
    here = broken(ward).heal(snapshot=False, **ACTIVE)
    assert outcomes(here) == [("verified", 1)]
    assert any(line.startswith("snapshot missing") for line in here.cases[0]["why"])


# -- correlation ------------------------------------------------------------------------------------------------------

LOUD = {"id": "cpu", "condition": "cpu_percent > 90", "action": {"type": "clear_cache"}}
FULL = {"id": "mem", "condition": "mem_percent > 90", "action": {"type": "clear_cache"}, "severity": "critical"}


def test_alerts_of_one_target_are_one_case_and_each_has_its_entry(ward):
    here = ward(LOUD, FULL).report(cpu_percent=95, mem_percent=95).turn().turn(5)
    assert len(here.cases) == 1
    assert {(entry["rule_id"], entry["outcome"], entry["events"]) for entry in here.ledger} == {
        ("mem", "notified", 1),
        ("cpu", "absorbed", 1),
    }
    assert {entry["case_id"] for entry in here.ledger} == {here.cases[0]["id"]}


def test_two_failed_services_are_two_cases(ward):
    rule = {"id": "any", "condition": "service.*.failed == 1", "action": {"type": "restart_service"}}
    here = ward(rule).report(service__nginx__state="failed", service__php__state="failed").turn().turn(5)
    assert sorted(entry["target"] for entry in here.ledger) == ["box-1/nginx", "box-1/php"]
    assert sorted(entry["condition"] for entry in here.ledger) == [
        "service.nginx.failed == 1",
        "service.php.failed == 1",
    ]


@pytest.mark.parametrize("order", [("db", "web"), ("web", "db")])
def test_dependants_of_a_failed_target_are_suppressed_whatever_came_first(ward, order):
    here = ward(
        {"id": "down", "condition": "down == 1", "action": {"type": "clear_cache"}},
        places=[place("db", "d"), place("web", "w")],
        dependencies=[{"target": "db"}, {"target": "web", "depends_on": ["db"]}],
    )
    for name in order:
        here.report(f"agent:{name[0]}", down=1).turn(1)
    here.turn(5).turn(1)
    assert {entry["target"]: entry["outcome"] for entry in here.ledger} == {"db": "notified", "web": "suppressed"}
    [entry] = [entry for entry in here.ledger if entry["target"] == "web"]
    assert entry["reason"] == "root cause db: depends on db"


def test_an_external_target_takes_its_site_along_and_only_notifies(ward):
    here = ward(
        {"id": "down", "condition": "down == 1", "action": {"type": "journal_vacuum"}},
        places=[place("isp", "i"), place("till", "t"), place("far", "f")],
        dependencies=[
            {"target": "isp", "type": "external", "site": "berlin"},
            {"target": "till", "site": "berlin"},
            {"target": "far", "site": "paris"},
        ],
    ).at("execute", "down")
    for agent in "tif":
        here.report(f"agent:{agent}", down=1)
    here.turn().turn(5)
    found = {entry["target"]: (entry["outcome"], entry["reason"]) for entry in here.ledger}
    assert found["isp"] == ("notified", "external")
    assert found["till"][0] == "suppressed"
    assert found["far"][0] is None
    assert {command["agent_id"] for command in here.hosts.sent} == {"f"}


def test_the_same_onset_fires_again_after_the_cooldown_only(ward):
    here = broken(ward, level="notify")
    here.pass_time(290, step=10, **FAILED)
    assert len(here.ledger) == 1
    here.pass_time(20, step=10, **FAILED).turn(5)
    assert outcomes(here) == [("notified", 1)] * 2


# -- pause, windows, brake --------------------------------------------------------------------------------------------


def switch(here, paused):
    def write(root):
        healing_of(root).switch = {"paused": paused, "by": "ada", "at": 0}

    here.node.transact(write)
    return here


@pytest.mark.parametrize("seen", [0, 3])
def test_while_paused_events_are_suppressed_and_after_resume_what_holds_fires_once(ward, seen):
    """Also when the alerts have not heard of the pause yet as they fire."""
    here = switch(ward().turn(1).at("execute"), True).turn(seen).report(**FAILED).turn(0.1).turn(3)
    assert [(entry["outcome"], entry["reason"]) for entry in here.ledger] == [("suppressed", "paused")]
    here.pass_time(400, step=10, **FAILED)
    assert len(here.ledger) == 1
    switch(here, False).pass_time(12, step=3, **FAILED)
    assert here.hosts.phases() == ["snapshot"]
    assert len(here.ledger) == 2


def window(here, action, target="box-1", seconds=600):
    from opsapp.maintenance.resources import HealingWindow, windows_of

    def write(root):
        now = here.clock.now()
        windows_of(root)["w1"] = HealingWindow(
            {
                "target": target,
                "duration": "10m",
                "reason": "disk",
                "action": action,
                "created_by": "otto",
                "created_at": now,
                "expires_at": now + seconds,
            }
        )

    here.node.transact(write)
    return here


def test_windows_suppress_or_hold_down(ward):
    here = window(ward().at("execute"), "suppress").report(**FAILED).turn()
    assert outcomes(here) == [("suppressed", 1)]
    assert "window w1" in here.ledger[0]["reason"]


def test_a_notify_only_window_caps_the_level(ward):
    here = window(ward().at("execute"), "notify_only").report(**FAILED).turn().turn(5)
    assert outcomes(here) == [("notified", 1)]
    assert here.hosts.sent == []


def test_a_queue_window_keeps_one_event_and_looks_again_when_it_ends(ward):
    here = window(ward().at("execute"), "queue").report(**FAILED).turn().turn(5)
    here.pass_time(500, step=10, **FAILED)
    assert here.ledger == []
    assert here.hosts.sent == []
    here.pass_time(160, step=5, **FAILED)
    assert here.hosts.phases() == ["snapshot"]


def test_a_queued_event_whose_condition_is_gone_is_withdrawn(ward):
    here = window(ward().at("execute"), "queue").report(**FAILED).turn().turn(5)
    here.pass_time(700, step=10, **ACTIVE)
    assert outcomes(here) == [("withdrawn", 1)]


def test_the_brake_turns_execute_into_notify(ward):
    limits = {"max_heals_per_hour": {"fleet": 1, "site": 9, "rule": 9}, "max_unhealthy_percent": 40}
    here = broken(ward, brake=limits).heal(**ACTIVE)
    here.report(**FAILED).turn(1).turn(5)
    assert outcomes(here) == [("verified", 1), ("notified", 1)]
    assert here.ledger[1]["reason"].startswith("brake: 1 heals within an hour")


def test_protected_processes_are_never_acted_upon(ward):
    here = ward({**CHAIN, "condition": 'service.sshd.state == "failed"'}).at("execute")
    here.report(service__sshd__state="failed").turn().turn(5)
    assert [(entry["outcome"], entry["reason"]) for entry in here.ledger] == [("skipped", "protected: service sshd")]


# -- what others see --------------------------------------------------------------------------------------------------


def test_each_step_is_told_as_it_is_committed(ward):
    here = broken(ward).heal(**ACTIVE)
    told = [(event["state"], event["outcome"]) for event in here.events("heal")]
    states = list(dict.fromkeys(told))
    assert states == [("executing", None), ("settling", None), ("verifying", None), ("final", "verified")]


def test_the_chain_is_in_the_order_of_becoming_final_and_ids_have_no_gaps(ward):
    here = ward(CHAIN, LOUD, places=[place(), place("box-2", "a2")]).at("execute")
    here.report(**FAILED).report("agent:a2", cpu_percent=99).turn().turn(5)
    here.heal(**ACTIVE)
    assert [entry["id"] for entry in here.ledger] == [1, 2]
    assert (here.verdict().valid, here.verdict().entries) == (True, 2)


def test_ten_triggers_at_notify_and_forty_verified_heals_lead_to_execute(ward):
    limits = {"max_heals_per_hour": {"fleet": 999, "site": 999, "rule": 999}, "max_unhealthy_percent": 99}
    here = ward(brake=limits)
    for _ in range(10):
        here.report(**FAILED).turn().turn(5).report(**ACTIVE).turn(1).turn(120)
    assert here.trust().current_level == "approve"
    runs = 0
    while here.trust().current_level == "approve":
        here.report(**FAILED).turn().turn(5)
        approve(here)
        here.turn(1).turn(1).heal(**ACTIVE)  # what has waited is looked at again before it is done
        runs += 1
        assert runs <= 40
    assert here.trust().current_level == "execute"
    assert runs == 22


def approve(here, who="otto", vote="approve", **options):
    [pending] = here.service.vera.get("/api/approvals").json
    client = here.service.client(who)
    return client.post_json(f"/api/approvals/{pending['request_id']}/{vote}", {"comment": "go"}, **options).json


def test_at_approve_a_person_decides_and_the_heal_is_verified_like_any_other(ward):
    here = broken(ward, level="approve")
    [pending] = here.service.vera.get("/api/approvals").json
    assert (pending["kind"], pending["subject"], pending["risk"]) == ("heal", "box-1/nginx", "low")
    assert pending["plan"]["action"] == "restart_service"
    assert [(entry["state"], entry["outcome"]) for entry in here.ledger] == [("awaiting_approval", "awaiting_approval")]
    assert here.hosts.sent == []
    answer = approve(here)
    assert (answer["status"], answer["ledger_id"]) == ("approved", here.ledger[0]["id"])
    here.turn().heal(**ACTIVE)
    assert outcomes(here) == [("verified", 1)]
    assert here.ledger[0]["approval_id"] == pending["request_id"]
    assert here.trust().verified == 1
    assert [event["status"] for event in here.events("approval")] == ["pending", "approved"]


def test_a_request_says_who_may_decide_it_and_how_often_it_helped(ward):
    here = broken(ward, level="approve")
    for who, refusal in (("otto", None), ("vera", None)):
        [pending] = here.service.client(who).get("/api/approvals").json
        assert (pending["record"], pending["refusal"]) == ({"total": 0, "helped": 0}, refusal)
    assert len(pending["digest"]) == 64
    approve(here)
    here.turn().heal(**ACTIVE)
    [decided] = here.service.vera.get("/api/approvals?status=decided&order=newest").json
    assert (decided["status"], decided["record"], decided["refusal"]) == ("approved", None, None)
    here.clock.advance(400)
    here.report(**FAILED).turn().turn(5)
    [again] = here.service.otto.get("/api/approvals").json
    assert again["record"] == {"total": 1, "helped": 1}


def test_a_high_risk_needs_a_person_even_at_execute(ward):
    here = broken(ward, {**CHAIN, "escalation_chain": [{"action": "run", "params": {"command": "true"}}]})
    assert len(here.service.vera.get("/api/approvals").json) == 1
    assert here.hosts.sent == []


@pytest.mark.parametrize("vote", ["reject", "expire"])
def test_a_heal_that_nobody_wants_ends(ward, vote):
    here = broken(ward, level="approve")
    if vote == "reject":
        assert approve(here, vote="reject")["status"] == "rejected"
    else:
        from opsapp.approvals.engine import expire

        here.clock.advance(3601)
        assert here.node.transact(expire, here.clock.now())
    here.turn(1)
    assert outcomes(here) == [("rejected" if vote == "reject" else "expired", 1)]
    assert here.hosts.sent == []


def test_an_approval_whose_condition_is_gone_is_withdrawn_at_the_click(ward):
    here = broken(ward, level="approve").report(**ACTIVE)
    assert approve(here, status=409)["code"] == "withdrawn"
    here.turn(1)
    assert outcomes(here) == [("withdrawn", 1)]
    assert here.service.vera.get("/api/approvals").json == []
    [approval] = here.service.vera.get("/api/approvals?status=withdrawn").json
    here.service.otto.post(f"/api/approvals/{approval['request_id']}/approve", status=409)
    assert here.hosts.sent == []


def test_an_approval_is_bound_to_its_plan(ward):
    here = broken(ward, level="approve")
    here.service.ada.put_json("/api/healing/rules/nginx", {"action": {"type": "service_reload"}})
    assert "plan has changed" in approve(here, status=409)["error"]


def test_a_second_decision_is_refused(ward):
    here = broken(ward, level="approve")
    [pending] = here.service.vera.get("/api/approvals").json
    approve(here)
    answer = here.service.ada.post(f"/api/approvals/{pending['request_id']}/reject", status=409).json
    assert answer["code"] == "already_decided"


# -- crashes ----------------------------------------------------------------------------------------------------------


def test_a_restart_between_any_two_steps_repeats_nothing(ward):
    here = broken(ward).restart().turn(1)
    here.hosts.finish("snapshot", snapshot={})
    here.restart().turn(1)
    here.restart().report(**FAILED).turn(1)
    here.hosts.finish("execute")
    here.restart().turn(1)
    here.restart().turn(6)
    here.clock.advance(0.5)
    here.restart().report(**ACTIVE).turn(1)
    here.restart().turn(1)
    assert here.hosts.phases() == ["snapshot", "execute", "measure"]
    assert outcomes(here) == [("verified", 1)]


def test_a_restart_does_not_repeat_a_notification(ward):
    here = broken(ward, level="notify")
    here.restart().report(**FAILED).turn(1).turn(6)
    assert outcomes(here) == [("notified", 1)]


BESIDE = {**NGINX, "action": {"type": "restart_service", "target": "box-2"}}  # what is wrong here is mended there
AWAY = place("box-2", "a2", online=False)


def test_a_silent_host_is_waited_for_and_then_given_up(ward):
    here = broken(ward, BESIDE, places=[place(), AWAY])
    here.pass_time(30, step=5, **FAILED)
    assert (here.ledger, here.hosts.sent) == ([], [])
    here.pass_time(40, step=5, **FAILED)
    assert [(entry["outcome"], entry["reason"]) for entry in here.ledger] == [("failed", "host_offline: box-2")]
    assert here.trust().executions == 0


def test_a_host_that_comes_back_in_time_is_healed(ward):
    here = broken(ward, BESIDE, places=[place(), AWAY])
    here.pass_time(20, step=5, **FAILED)
    here.hosts.here = [place(), AWAY._replace(online=True)]
    here.pass_time(5, **FAILED)
    assert here.hosts.phases() == ["snapshot"]
