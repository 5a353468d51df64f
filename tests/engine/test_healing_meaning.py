"""What a heal counts as: one case is one attempt, one host is not another, and nothing ends silently."""

import pytest

from opsapp.healing.config import DAY, HealingSettings, HoldoutSettings
from opsapp.healing.engine import default_rules
from opsapp.healing.engine.default_rules import DEFAULT_RULES
from opsapp.healing.resources import healing_of
from opsapp.healing.stages import trust as governor
from opsapp.notify.resources import inbox
from opsapp.wire.records import plain
from tests.support.hosts import place

FAILED, ACTIVE = {"service__nginx__state": "failed"}, {"service__nginx__state": "active"}
ONE = {"id": "nginx", "condition": "down == 1", "escalation_chain": [{"action": "clear_cache"}]}
CHAIN = {**ONE, "escalation_chain": [{"action": name} for name in (
    "flush_dns", "log_rotate", "journal_vacuum", "clear_cache")]}  # fmt: skip

ABLE = [place(usable=None)]


def told(here):
    return [(row.kind, row.title, row.text) for row in here.node.transact(inbox.take, 10_000)]


def suggestions(here, category):
    active = here.node.transact(lambda root: [*map(plain, healing_of(root)["suggestions"].active())])
    return [one["message"] for one in active if one["category"] == category]


def try_step(here, subject="agent:a1", **after):
    """One step of a case: the host does as it is told, and reports this afterwards."""
    here.hosts.finish("snapshot", snapshot={"kind": "none", "state": {}})
    here.turn(1)
    here.hosts.finish("execute", handler="sh")
    here.turn(1).turn(30)
    here.clock.advance(0.5)
    here.report(subject, **after).turn(0.5)
    here.until_judged(subject, **after)


def attempt(here, helps, subject="agent:a1", steps=1):
    """A case from alert to end, its last step with or without success; and then all is well."""
    here.report(subject, down=1).turn().turn(5)
    for position in range(steps):
        try_step(here, subject, down=int(not (helps and position == steps - 1)))
    return here.report(subject, down=0).turn(1).turn(60)


# -- one case is one heal attempt -----------------------------------------------------------------


def test_the_fourth_step_of_the_disk_chain_is_reached_and_the_case_counts_once(ward):
    rule = {"id": "nginx", **plain(DEFAULT_RULES["default-disk"]), "for": 0, "initial_level": "notify"}
    here = ward(rule, places=ABLE).at("execute").report(**{"disk__/data__percent": 95}).turn().turn(5)
    for left in (95, 95, 95, 60):
        try_step(here, **{"disk__/data__percent": left})
    assert [entry["outcome"] for entry in here.ledger] == ["failed"] * 3 + ["verified"]
    trust = here.trust()
    assert (trust.current_level, trust.executions, trust.verified, trust.failed) == ("execute", 1, 1, 0)


def test_one_unlucky_case_of_four_steps_demotes_nothing(ward):
    here = attempt(ward(CHAIN, places=ABLE).at("execute"), False, steps=4)
    trust = here.trust()
    assert (trust.current_level, trust.executions, trust.verified, trust.failed) == ("execute", 1, 0, 1)
    assert len(trust.streak) == 1


def test_three_failed_cases_within_an_hour_trip_the_breaker(ward):
    brake = {"max_heals_per_hour": {"fleet": 60, "site": 60, "rule": 60}, "max_unhealthy_percent": 40}
    here = ward(CHAIN, places=ABLE, brake=brake).at("execute")
    for _ in range(3):
        attempt(here, False, steps=4)
    assert here.trust().current_level == "notify"


def test_a_chain_with_useless_first_steps_needs_as_many_cases_as_any_other():
    needed = next(
        n
        for n in range(100)
        if not governor.needs(_approved(verified=n), 0.0, HealingSettings(holdout=HoldoutSettings(share=0)))
    )
    assert needed == 22


def _approved(**evidence):
    return governor.Trust("r", "approve", "execute", "d", 0.0, **evidence)


def test_steps_count_in_effectiveness(ward):
    here = attempt(ward(CHAIN, places=ABLE).at("execute"), True, steps=4)
    ask = here.service.vera.get
    for action, verified in (("flush_dns", 0), ("clear_cache", 1)):
        found = ask("/api/healing/effectiveness", {"action_type": action, "condition": "down == 1"}).json
        assert (found["total"], found["verified"]) == (1, verified)


def test_a_rule_that_goes_bad_slowly_is_put_back_to_approve_and_people_are_told(ward):
    here = ward({**ONE, "cooldown_s": 60}, skip={"rate": 0}).at("execute")
    for _ in range(5):
        attempt(here, False)
        here.turn(7200)
    [shown] = here.service.vera.get("/api/healing/trust").json
    assert 100 < shown["evidence"]["bad"] < shown["evidence"]["alarm"] == 500
    told(here)
    attempt(here, False)
    assert here.trust().current_level == "approve"
    assert here.events("trust")[-1]["cause"] == "bad"
    assert [title for kind, title, _ in told(here) if kind == "heal.breaker"] == ["Rule nginx helps too seldom"]
    assert len(suggestions(here, "circuit_breaker")) == 1


# -- what is skipped, and for how long -----------------------------------------------------------------


HOSTS = [place(f"box-{n}", f"a{n}") for n in range(1, 6)]
LIMITS = {"breaker": {"failures": 100, "window_s": 3600}, "change": {"threshold": 1e9}}


def tried_on(here, subject):
    """What becomes of a new failure on a host."""
    before = len(here.hosts.sent)
    here.report(subject, down=1).turn().turn(5)
    began = len(here.hosts.sent) > before
    if began:
        try_step(here, subject, down=0)
    here.report(subject, down=0).turn(1).turn(60)
    return began


def test_five_failures_on_one_host_disable_the_action_there_and_nowhere_else(ward):
    here = ward(ONE, places=HOSTS, **LIMITS).at("execute")
    for _ in range(5):
        attempt(here, False)
    assert not tried_on(here, "agent:a1")
    assert here.ledger[-1]["outcome"] == "skipped"
    assert here.ledger[-1]["reason"].startswith("low_effectiveness: 0% verified on this host")
    assert tried_on(here, "agent:a2")
    assert len(suggestions(here, "low_effectiveness")) == 1


def test_failures_on_three_hosts_speak_for_a_fourth(ward):
    here = ward(ONE, places=HOSTS, **LIMITS).at("execute")
    for n in (1, 2, 3, 1, 2):
        attempt(here, False, f"agent:a{n}")
    assert not tried_on(here, "agent:a4")
    assert "0% verified on 3 hosts" in here.ledger[-1]["reason"]
    [case] = [case for case in here.cases if case["outcome"] == "skipped"]
    assert any("0% verified on 3 hosts, the limit is 30%" in why for why in case["why"])


DOWN = {"id": "nginx", "condition": 'monitor.status == "down"', "escalation_chain": [{"action": "clear_cache"}]}
SITES = [place(f"site-{n}", subject=f"monitor:m{n}", names=(f"site-{n}",)) for n in range(1, 6)]


def heal_of_monitor_fails(here, subject):
    """A monitor is down, its host does as it is told, and the check afterwards finds it down again."""
    here.report(subject, status="down").turn().turn(5)
    here.hosts.finish("snapshot", snapshot={"kind": "none", "state": {}})
    here.turn(1)
    here.hosts.finish("execute", handler="sh")
    here.turn(1).turn(30)
    while any(case["state"] == "verifying" for case in here.cases):
        began = here.clock.now()
        here.clock.advance(10)
        here.report(subject, status="down")
        here.hosts.rechecked[-1][1](began)
        here.turn()
    here.report(subject, status="up").turn(1).turn(60)


def test_failures_of_three_monitors_of_one_host_are_those_of_one_host(ward):
    here = ward(DOWN, places=[*HOSTS, *SITES], **LIMITS).at("execute")
    for n in (1, 2, 3, 1, 2):
        heal_of_monitor_fails(here, f"monitor:m{n}")
    assert [entry["outcome"] for entry in here.ledger] == ["failed"] * 5
    here.report("monitor:m4", status="down").turn().turn(5)
    assert here.hosts.phases()[-1] == "snapshot"


def test_what_is_skipped_is_tried_again_after_a_week_and_is_no_longer_skipped_when_it_helps(ward):
    here = ward(ONE, places=HOSTS, **LIMITS).at("execute")
    for _ in range(5):
        attempt(here, False)
    here.turn(6 * DAY)
    assert not tried_on(here, "agent:a1")
    here.turn(DAY)
    assert tried_on(here, "agent:a1")
    assert not tried_on(here, "agent:a1")  # one success of six is not enough
    for _ in range(2):
        here.turn(7 * DAY)
        assert tried_on(here, "agent:a1")
    assert tried_on(here, "agent:a1")


# -- nothing ends silently -----------------------------------------------------------------


def kinds(here):
    return [kind for kind, _, _ in told(here)]


def test_a_case_that_ends_skipped_is_told(ward):
    here = ward(ONE, places=HOSTS, **LIMITS).at("execute")
    for _ in range(5):
        attempt(here, False)
    told(here)
    here.report(down=1).turn().turn(5)
    assert here.ledger[-1]["outcome"] == "skipped"
    [(kind, title, text)] = told(here)
    assert (kind, title) == ("heal.unresolved", "box-1: down is 1, not healed (skipped)")
    assert "it has helped too rarely here (0% verified on this host" in text


def test_a_request_that_expires_is_told_and_one_that_is_rejected_is_not(ward):
    from opsapp.approvals.engine import expire

    here = ward(ONE).at("approve").report(down=1).turn().turn(5)
    told(here)
    here.clock.advance(3601)
    here.report(down=1)
    here.node.transact(expire, here.clock.now())
    here.turn(1)
    assert here.ledger[0]["outcome"] == "expired"
    assert "heal.unresolved" in kinds(here)


def test_a_request_that_a_person_rejects_tells_nobody(ward):
    here = ward(ONE).at("approve").report(down=1).turn().turn(5)
    told(here)
    [pending] = here.service.vera.get("/api/approvals").json
    here.service.client("otto").post_json(f"/api/approvals/{pending['request_id']}/reject", {"comment": "not now"})
    here.turn(1)
    assert here.ledger[0]["outcome"] == "rejected"
    assert "heal.unresolved" not in kinds(here)


def test_what_an_agent_could_not_heal_alone_is_told(ward):
    from .test_healing_edges import local, own

    here = ward().turn().at("execute")
    own(here, "verified")  # what agents claim counts beside what the service saw itself
    local(here, outcome="failed", verified=0, escalated=True)
    assert kinds(here) == []
    local(here, outcome_id="o2", outcome="failed", verified=0, escalation_step=1)
    assert kinds(here) == ["heal.unresolved"]
    assert (here.trust().verified, here.trust().failed, here.trust().executions) == (1, 1, 2)


def test_what_an_agent_refused_to_begin_alone_is_no_evidence_about_the_action(ward):
    from .test_healing_edges import local

    here = ward().turn().at("execute")
    local(here, outcome="failed", verified=0, action_success=0, executed=False, reason="protected: service nginx")
    assert (here.ledger[0]["outcome"], here.ledger[0]["executed"]) == ("failed", False)
    assert (here.trust().verified, here.trust().failed) == (0, 0)


def test_every_step_of_the_default_rules_can_run():
    """As far as an event of the rule fills what is missing."""
    from opsapp.healing.logic.soundness import incomplete
    from opsapp.wire.actions import ACTIONS
    from opsapp.wire.conditions import parse

    for rule_id, rule in DEFAULT_RULES.items():
        assert incomplete(rule.stored()) == {}, rule_id
        part = "name" if parse(rule.condition).family else None
        for step in rule.steps:
            action = ACTIONS[step.action]
            action.check(action.complete(step.params, part))


def test_a_default_rule_with_a_wrong_action_fails_at_import():
    with pytest.raises(KeyError, match="restart_servce"):
        default_rules._chain("restart_servce")
    with pytest.raises(ValueError, match="restart_service has no such parameter"):
        default_rules._chain(("restart_service", {"servce": "nginx"}))


def test_a_case_has_a_reason_whatever_it_comes_to(ward):
    here = ward(ONE)
    for level in ("observation", "dry-run", "notify", "execute"):
        here.at(level)
        attempt(here, True) if level == "execute" else here.report(down=1).turn().turn(5)
        here.report(down=0).turn(1).turn(90)
    assert [entry["outcome"] for entry in here.ledger] == ["observed", "simulated", "notified", "verified"]
    assert all(entry["reason"] for entry in here.ledger)


# -- under a cap -----------------------------------------------------------------


def flap(here, times):
    for _ in range(times):
        here.report(down=1).turn().turn(5)
        here.report(down=0).turn().turn(1)


@pytest.mark.parametrize("cap", ["brake", "window"])
def test_under_a_cap_rapid_alerts_are_one_case_and_one_trigger(ward, cap):
    brake = {"max_heals_per_hour": {"fleet": 0 if cap == "brake" else 60, "site": 30, "rule": 10},
             "max_unhealthy_percent": 40}  # fmt: skip
    here = ward({**ONE, "cooldown_s": 1}, brake=brake).at("execute")
    if cap == "window":
        body = {"target": "box-1", "duration": "1h", "reason": "x", "action": "notify_only"}
        here.service.otto.post_json("/api/healing/maintenance", body)
    flap(here, 8)
    here.turn(60)
    assert [entry["outcome"] for entry in here.ledger] == ["notified", "absorbed"]
    assert len(here.trust().triggers) == 1


def test_one_flapping_target_leaves_its_rule_to_the_others(ward):
    here = ward({**ONE, "cooldown_s": 1}, places=HOSTS, **LIMITS).at("execute")
    done = [tried_on(here, "agent:a1") for _ in range(7)]
    assert done == [True] * 6 + [False]
    ends = {(entry["outcome"], entry["reason"]) for entry in here.ledger}
    assert ("notified", "brake: 6 heals within an hour, the limit for one target is 6") in ends
    health = here.service.vera.get("/api/healing/health").json
    assert "brake of target box-1: 6 heals within an hour, the limit for one target is 6" in health["reasons"]
    assert tried_on(here, "agent:a2")


def test_health_is_degraded_while_the_brake_of_a_rule_is_on(ward):
    brake = {"max_heals_per_hour": {"fleet": 60, "site": 30, "rule": 2}, "max_unhealthy_percent": 40}
    here = ward(ONE, places=HOSTS, brake=brake).at("execute")
    assert here.service.vera.get("/api/healing/health").json["status"] == "Active"
    for n in (1, 2):
        tried_on(here, f"agent:a{n}")
    health = here.service.vera.get("/api/healing/health").json
    assert health["status"] == "Degraded"
    assert "brake of rule nginx: 2 heals within an hour, the limit for one rule is 2" in health["reasons"]


def test_an_actions_own_settle_time_is_the_least(ward):
    here = ward({**ONE, "settle_s": 1, "escalation_chain": [{"action": "host_reboot"}]}, places=ABLE).at("approve")
    here.report(down=1).turn().turn(5)
    [pending] = here.service.vera.get("/api/approvals").json
    here.service.client("otto").post_json(f"/api/approvals/{pending['request_id']}/approve", {})
    here.turn(1)
    here.hosts.finish("snapshot", snapshot={"kind": "host", "state": {}})
    here.turn(1)
    here.hosts.finish("execute", handler="systemctl")
    here.turn(1)
    here.report(down=0).turn(170)
    assert here.ledger[0]["state"] == "settling"
    here.turn(15).report(down=0).turn(1)
    assert here.ledger[0]["outcome"] == "verified"


# -- what was deleted -----------------------------------------------------------------


def test_deleted_hosts_are_neither_sick_nor_a_root_cause(ward):
    hosts = [place(f"box-{n}", f"a{n}") for n in range(1, 15)]
    graph = [{"target": "box-1"}, {"target": "box-9", "depends_on": ["box-1"]}]
    here = ward(ONE, places=hosts, dependencies=graph).at("notify")
    for n in range(1, 9):
        here.report(f"agent:a{n}", down=1)
    here.turn().turn(5)
    here.at("execute")
    assert here.service.vera.get("/api/healing/health").json["status"] == "Degraded"
    here.hosts.here = hosts[8:]
    here.turn(3)
    assert here.service.vera.get("/api/healing/health").json["status"] == "Active"
    assert tried_on(here, "agent:a9")
    assert here.ledger[-1]["outcome"] == "verified"
