"""What holds a heal that is under way, what waits for people and blocks nobody, what is no alert yet."""

from dataclasses import replace

import pytest

from opsapp.healing.records import RuleAction
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.rules import drop_rule, put_rule

from .healing import NGINX
from .test_healing_pipeline import ACTIVE, CHAIN, FAILED, PAUSE, approve, broken, outcomes, switch, window

LOUD = {"id": "loud", "condition": 'service.nginx.state != "active"', "action": {"type": "service_reload"}}


def reasons(here):
    return [(entry["action_type"], entry["outcome"], entry["reason"]) for entry in here.ledger]


# -- the kill switch and windows, in the middle of a heal -------------------------------------------------------------


def test_after_a_pause_nothing_more_is_begun(ward):
    here = switch(broken(ward), True)
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    assert here.hosts.phases() == ["snapshot"]
    assert reasons(here) == [("restart_service", "suppressed", "paused")]
    assert [case["state"] for case in here.cases] == ["closed"]
    assert (here.trust().executions, here.trust().failed) == (0, 0)
    switch(here, False).pass_time(12, step=3, **FAILED)
    assert here.hosts.phases() == ["snapshot", "snapshot"]  # what still holds fires once


def test_a_pause_during_the_hold_absorbs_nothing_of_what_fires_after_the_resume(ward):
    here = ward().at("execute").report(**FAILED).turn()
    switch(here, True).turn(5)
    assert reasons(here) == [("", "suppressed", "paused")]
    switch(here, False).pass_time(12, step=3, **FAILED)
    assert here.hosts.phases() == ["snapshot"]


def test_a_pause_while_a_step_is_verified_ends_the_chain_there(ward):
    here = broken(ward, CHAIN)
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    here.hosts.finish("execute", handler="systemctl")
    switch(here, True).turn(1).turn(6)
    here.clock.advance(0.5)
    here.report(**FAILED).turn(0.5).until_judged(step=60, **FAILED)
    assert here.hosts.phases() == ["snapshot", "execute", "measure"]
    assert [(entry["outcome"], entry["events"]) for entry in here.ledger] == [("failed", 0), ("suppressed", 1)]
    assert here.ledger[1]["reason"] == "paused"


@pytest.mark.parametrize("action", ["suppress", "queue"])
def test_a_window_that_opens_in_the_middle_lets_nothing_more_begin(ward, action):
    here = window(broken(ward), action)
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    assert here.hosts.phases() == ["snapshot"]
    assert (here.ledger[0]["outcome"], here.ledger[0]["reason"][:9]) == ("suppressed", "window w1")


# -- what waits for people --------------------------------------------------------------------------------------------


def drop(here):
    here.node.transact(drop_rule, "nginx")


def disable(here):
    def write(root):
        rule = healing_of(root)["rules"]["nginx"]
        put_rule(root, "nginx", replace(rule.record, enabled=False), source="api", now=here.clock.now())

    here.node.transact(write)


def edit(here, **changes):
    def write(root):
        rule = healing_of(root)["rules"]["nginx"]
        put_rule(root, "nginx", replace(rule.record, **changes), source="api", now=here.clock.now())

    here.node.transact(write)


def reload(here):
    edit(here, action=RuleAction("service_reload"))


def reload_with_leave(here):
    reload(here)
    here.at("execute")


def demote(here):
    here.service.ada.post_json("/api/healing/trust/nginx/demote", {"level": "notify"})


@pytest.mark.parametrize("change", [drop, disable, reload, reload_with_leave, demote])
def test_a_request_whose_rule_is_gone_or_another_is_withdrawn_at_once(ward, change):
    here = broken(ward, level="approve")
    change(here)
    here.turn(1)
    assert here.service.otto.get("/api/approvals").json == []
    assert outcomes(here) == [("withdrawn", 1)]
    assert here.events("approval")[-1]["status"] == "withdrawn"
    assert here.node.transact(lambda root: (len(healing_of(root).book.open_on), len(healing_of(root).book.waiting_for))
                              ) == (0, 0)  # fmt: skip


def test_what_an_edited_rule_finds_is_not_stood_for_by_the_request_from_before(ward):
    here = broken(ward, level="approve")
    reload_with_leave(here)
    here.turn(1)
    here.report(**ACTIVE).turn(1)
    here.report(**FAILED).turn().turn(5)
    assert here.hosts.waiting("snapshot")["params"]["action_type"] == "service_reload"


def test_an_edit_of_what_the_rule_does_not_do_and_a_promotion_leave_the_request(ward):
    here = broken(ward, level="approve")
    edit(here, description="about nginx", cooldown_s=60)
    here.service.ada.post_json("/api/healing/trust/nginx/promote", {"level": "execute"})
    here.turn(1).turn(61)
    assert len(here.service.otto.get("/api/approvals").json) == 1


@pytest.mark.parametrize("level", ["approve", "execute"])
def test_a_heal_that_waits_for_people_keeps_no_other_rule_from_acting(ward, level):
    """One that may do more at once, and any other when the window is over."""
    here = ward(NGINX, {**LOUD, "for": 20 if level == "execute" else 90}).at("approve").at(level, "loud")
    here.report(**FAILED).turn().turn(5).pass_time(100, step=5, **FAILED)
    first, second = here.ledger
    assert (first["rule_id"], first["outcome"]) == ("nginx", "awaiting_approval")
    assert (second["rule_id"], second["action_type"], second["state"]) == (
        "loud", "service_reload", "executing" if level == "execute" else "awaiting_approval")  # fmt: skip


def test_within_the_window_a_waiting_heal_stands_for_rules_that_may_do_no_more(ward):
    here = ward(NGINX, {**LOUD, "for": 20}).at("approve").at("approve", "loud").report(**FAILED).turn().turn(5)
    here.pass_time(50, step=5, **FAILED)
    assert [(entry["rule_id"], entry["outcome"], entry["events"]) for entry in here.ledger] == [
        ("nginx", "awaiting_approval", 0), ("loud", "absorbed", 1)]  # fmt: skip
    assert here.cases[0]["events"] == {"nginx": 1}


def test_a_rule_whose_event_was_in_a_heal_that_came_to_wait_for_people_acts_after_its_own_cooldown(ward):
    risky = {**NGINX, "action": {"type": "run", "params": {"command": "true"}}}  # leads, and asks whatever its level
    here = ward(risky, {**LOUD, "cooldown_s": 120}).at("execute").at("execute", "loud").report(**FAILED).turn().turn(5)
    assert [(entry["rule_id"], entry["outcome"]) for entry in here.ledger] == [
        ("nginx", "awaiting_approval"), ("loud", "absorbed")]  # fmt: skip
    here.pass_time(140, step=5, **FAILED)
    assert here.hosts.waiting("snapshot")["params"]["action_type"] == "service_reload"
    assert {entry["rule_id"]: entry["state"] for entry in here.ledger} == {"nginx": "awaiting_approval",
                                                                         "loud": "executing"}  # fmt: skip


def test_two_heals_of_one_target_are_done_one_after_the_other(ward):
    here = ward(NGINX, {**LOUD, "for": 20}).at("approve").at("execute", "loud").report(**FAILED).turn().turn(5)
    here.pass_time(30, step=5, **FAILED)
    assert [one["params"]["action_type"] for one in here.hosts.sent] == ["service_reload"]
    approve(here)
    here.turn(1)
    assert [one["params"]["action_type"] for one in here.hosts.sent] == ["service_reload"]
    here.heal(**FAILED)  # the reload did not help
    here.turn(1).turn(1)  # what has waited is looked at again before it is done
    assert here.hosts.waiting("snapshot")["params"]["action_type"] == "restart_service"
    here.heal(**ACTIVE)
    assert {entry["rule_id"]: entry["outcome"] for entry in here.ledger} == {"nginx": "verified", "loud": "failed"}
    assert {case["state"] for case in here.cases} == {"closed"}


def test_a_restart_forgets_no_case_that_waits_beside_another(ward):
    here = ward(NGINX, {**LOUD, "for": 20}).at("approve").at("execute", "loud").report(**FAILED).turn().turn(5)
    here.pass_time(30, step=5, **FAILED)
    here.restart().report(**FAILED).turn(1).turn(6)
    assert sorted(entry["rule_id"] for entry in here.ledger) == ["loud", "nginx"]
    here.hosts.finish("snapshot", snapshot=None, reason="x")
    here.pass_time(400, step=5, **FAILED)
    asked = [one for one in here.service.otto.get("/api/approvals").json if one["plan"]["rule_id"] == "nginx"]
    assert len(asked) == 1


# -- what is no alert yet ---------------------------------------------------------------------------------------------


def test_in_a_window_the_same_onset_is_one_event_until_its_cooldown_is_over(ward):
    here = window(ward().at("execute"), "suppress", seconds=900).report(**FAILED).turn()
    here.pass_time(290, step=10, **FAILED)
    assert outcomes(here) == [("suppressed", 1)]
    assert len(here.trust().triggers) == 1
    here.pass_time(100, step=10, **FAILED)
    assert outcomes(here) == [("suppressed", 1)] * 2


def test_what_a_window_suppressed_and_still_holds_is_healed_soon_after_it(ward):
    here = window(ward().at("execute"), "suppress", seconds=100).report(**FAILED).turn()
    here.pass_time(190, step=10, **FAILED)
    assert here.hosts.phases() == ["snapshot"]
    assert len(here.ledger) == 2


# -- what the host refuses --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("reason", "data", "said"), [
    ("protected: service nginx", {}, "protected: service nginx"),
    ("no_capable_handler", {"looked_for": ["certbot", "openssl"], "unfit": ["openssl"]},
     "no_capable_handler: looked for certbot, openssl; not for this: openssl"),
    ("no_capable_handler", {}, "no_capable_handler"),
    ("stale_token", {"newest": 9}, "stale_token"),
])  # fmt: skip
def test_what_the_host_refuses_is_said_and_is_no_evidence_about_the_action(ward, reason, data, said):
    here = broken(ward)
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    here.hosts.finish("execute", status="failed", reason=reason, **data)
    here.turn(1)
    [entry] = here.ledger
    assert (entry["outcome"], entry["reason"], entry["action_success"]) == ("failed", said, 0)
    assert (here.trust().failed, here.trust().executions, here.trust().streak) == (0, 0, ())


# -- what the host never answers --------------------------------------------------------------------------------------


def test_an_answer_that_never_comes_is_waited_for_and_then_the_heal_is_lost(ward):
    """The host has died, or its agent hangs: no case stays open for ever, and nothing is done twice."""
    here = broken(ward, CHAIN, answer_wait_s=100)
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    here.pass_time(200, step=10, **FAILED)
    assert here.ledger[0]["state"] == "executing"  # time-out, expiry and the wait are not over: 60 + 60 + 100
    here.pass_time(40, step=10, **FAILED)
    assert (here.ledger[0]["outcome"], here.ledger[0]["reason"][:22]) == ("lost", "no answer of the host:")
    assert here.hosts.phases()[:2] == ["snapshot", "execute"]
    assert (here.cases[0]["state"], here.trust().failed) == ("closed", 0)


def test_a_snapshot_that_never_comes_lets_nothing_reversible_begin(ward):
    here = ward({**PAUSE, "id": "nginx"}, answer_wait_s=10).at("execute")
    here.report(container__web__state="wild").turn().turn(5)
    here.pass_time(150, step=10, container__web__state="wild")
    assert here.hosts.phases() == ["snapshot"]
    assert (here.ledger[0]["outcome"], here.ledger[0]["reason"][:12]) == ("failed", "no_snapshot:")
