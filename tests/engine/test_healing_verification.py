"""Verification waits: from the settle time to the deadline, by what is stored, until one look proves the heal."""

import pytest

from opsapp.healing.resources import healing_of
from opsapp.notify.resources import inbox
from tests.engine.healing import NGINX
from tests.support.hosts import place

FAILED, ACTIVE = {"service__nginx__state": "failed"}, {"service__nginx__state": "active"}
RULE = {**NGINX, "settle_s": 5, "verify_timeout_s": 60, "cooldown_s": 3600}
CHAIN = {**RULE, "action": None, "escalation_chain": [
    {"action": "service_reset_failed", "params": {}}, {"action": "restart_service", "params": {}}]}  # fmt: skip
PAUSE = {**RULE, "action": {"type": "container_pause", "params": {"container": "web"}}}  # it can be undone
DISK = {"id": "disk", "condition": "disk_percent > 90", "action": {"type": "clear_cache"}}
DOWN = {"id": "down", "condition": "down == 1", "action": {"type": "clear_cache"}}


def acted(here, **more):
    """An alert, and its action is done: the settle time begins."""
    here.at("execute").report(**FAILED, **more).turn().turn(5)
    return done(here)


def done(here):
    here.hosts.finish("snapshot", snapshot={"kind": "container", "state": {}})
    here.turn(1)
    here.hosts.finish("execute", handler="systemctl")
    return here.turn(1)


def outcomes(here):
    return [(entry["action_type"], entry["outcome"], entry["reason"]) for entry in here.ledger]


def actions(here):
    return [command["params"]["action_type"] for command in here.hosts.sent if command["params"]["phase"] == "execute"]


def told(here):
    return [(row.kind, row.text) for row in here.node.transact(inbox.take, 10_000)]


# -- from the settle time to the deadline -----------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [RULE, CHAIN], ids=["one action", "a chain"])
def test_a_service_that_needs_20_s_is_verified_at_the_first_look_that_finds_it_well(ward, rule):
    here = acted(ward(rule))
    here.pass_time(20, **FAILED)
    assert [entry["outcome"] for entry in here.ledger] == [None]
    here.pass_time(2, **ACTIVE)
    assert [(entry["outcome"], entry["metrics_after"]) for entry in here.ledger] == [
        ("verified", {"service.nginx.state": "active"})
    ]
    assert len(actions(here)) == 1
    trust = here.trust()
    assert (trust.verified, trust.failed, trust.current_level) == (1, 0, "execute")


def test_what_does_not_help_has_failed_at_the_deadline_and_not_before(ward):
    here = acted(ward(RULE))
    here.pass_time(64, **FAILED)
    assert [entry["outcome"] for entry in here.ledger] == [None]
    here.pass_time(1, **FAILED)
    assert outcomes(here) == [("restart_service", "failed", "the condition still holds")]


def test_the_next_step_begins_only_then(ward):
    here = acted(ward(CHAIN))
    here.pass_time(64, **FAILED)
    assert here.hosts.phases().count("snapshot") == 1
    here.pass_time(1, **FAILED)
    assert here.hosts.phases()[-1] == "snapshot"
    done(here).pass_time(10, **ACTIVE)
    assert [entry["outcome"] for entry in here.ledger] == ["failed", "verified"]
    assert actions(here) == ["service_reset_failed", "restart_service"]


def test_what_is_well_before_the_settle_time_is_over_is_not_verified_by_that(ward):
    here = acted(ward(RULE)).report(**ACTIVE).pass_time(64)
    assert [entry["outcome"] for entry in here.ledger] == [None]
    here.pass_time(1)
    assert [entry["outcome"] for entry in here.ledger] == ["inconclusive"]


def test_a_host_that_says_nothing_is_asked_again_and_stays_unknown(ward):
    here = acted(ward(RULE)).pass_time(66)
    assert outcomes(here) == [("restart_service", "inconclusive", "stale: nothing fresh was reported")]
    assert here.hosts.phases().count("measure") > 3
    assert here.hosts.phases().count("execute") == 1
    assert (here.trust().verified, here.trust().failed) == (0, 0)


def test_the_overview_tells_the_latest_moment_and_stands_still_until_then(ward):
    """The next look is a second away, always: a page that told it would change each second."""
    here = acted(ward(RULE))
    here.pass_time(6, **FAILED)
    [work] = here.service.vera.get("/api/overview").json["cases"]
    assert work["due"] - here.cases[0]["acted_at"] == pytest.approx(65, abs=1)
    here.pass_time(10, **FAILED)
    assert here.service.vera.get("/api/overview").json["cases"] == [work]


# -- a condition that comes and goes ----------------------------------------------------------------------------------


def test_what_was_well_for_a_moment_after_the_act_has_to_stay_well(ward):
    here = acted(ward(RULE))
    here.pass_time(2, **ACTIVE).pass_time(2, **FAILED)  # the service manager has started it twice by now
    here.pass_time(4, step=4, **ACTIVE)
    assert [entry["outcome"] for entry in here.ledger] == [None]
    here.pass_time(2, **FAILED).pass_time(10, step=5, **ACTIVE)
    assert [entry["outcome"] for entry in here.ledger] == ["verified"]
    assert len(actions(here)) == 1


def test_what_comes_back_after_each_heal_has_to_stay_well(ward):
    here = acted(ward({**RULE, "cooldown_s": 1}))
    here.pass_time(7, **ACTIVE)
    here.report(**FAILED).turn(1).turn(5)
    done(here).turn(5)
    here.report(**ACTIVE).turn(1)
    assert [entry["outcome"] for entry in here.ledger] == ["verified", None]
    here.pass_time(3, **ACTIVE)
    assert [entry["outcome"] for entry in here.ledger] == ["verified", "verified"]


# -- worse than before ------------------------------------------------------------------------------------------------

SAID = "worse: box-1: fullest disk is above 90 % (rule disk)"
HARM = {"rule_id": "disk", "target": "box-1", "condition": "disk_percent > 90"}


def test_a_heal_that_makes_something_else_worse_is_rolled_back_at_once_and_says_so(ward):
    here = acted(ward(PAUSE, DISK), disk_percent=50)
    here.pass_time(7, **ACTIVE, disk_percent=95)
    assert here.hosts.phases()[-1] == "rollback"
    here.hosts.finish("rollback", restored=True)
    here.turn(1)
    [entry] = [entry for entry in here.service.vera.get("/api/healing/ledger?rule_id=nginx").json]
    assert (entry["outcome"], entry["verified"], entry["worse"]) == ("rolled_back", 0, [HARM])
    assert entry["reason"] == f"{SAID}; restored"
    assert here.trust().failed == 1
    [message] = [text for kind, text in told(here) if kind == "heal.unresolved"]
    assert SAID in message
    assert here.verdict().valid
    assert here.node.transact(lambda root: list(healing_of(root).book.calm)) == []


def test_what_cannot_be_undone_has_failed_and_the_next_step_begins(ward):
    here = acted(ward(CHAIN, DISK), disk_percent=50)
    here.pass_time(7, **FAILED, disk_percent=95)
    assert outcomes(here)[0] == ("service_reset_failed", "failed", SAID)
    assert here.hosts.phases()[-1] == "snapshot"
    assert any(SAID in text for kind, text in told(here) if kind == "heal.unresolved")
    done(here).pass_time(7, **ACTIVE, disk_percent=95)  # that was so before this step
    nginx = [entry["outcome"] for entry in here.ledger if entry["rule_id"] == "nginx"]
    assert nginx == ["failed", "verified"]
    assert [kind for kind, text in told(here) if "No longer true" in text and "box-1/nginx" in text] == [
        "heal.resolved"
    ]


@pytest.mark.parametrize("before", [{"disk_percent": 95}, {}], ids=["it held before", "nobody knows"])
def test_what_was_not_known_to_be_well_before_is_not_worse(ward, before):
    here = ward(RULE, {**DISK, "for": 3600}).at("execute").report(**FAILED, **before).turn().turn(5)
    done(here).pass_time(7, **ACTIVE, disk_percent=95)
    assert [entry["outcome"] for entry in here.ledger if entry["rule_id"] == "nginx"] == ["verified"]


def test_what_hangs_on_the_host_is_measured_before_it_counts_as_worse(ward):
    graph = [{"target": "box-1", "type": "host"}, {"target": "box-2", "depends_on": ["box-1"]}]
    here = ward(RULE, DOWN, places=[place(), place("box-2", "a2")])
    here.service.ada.put_json("/api/healing/dependencies", {"dependencies": graph})
    here.at("execute").report(**FAILED).report("agent:a2", down=0).turn().turn(5)
    done(here)
    here.report("agent:a2", down=1).pass_time(7, **FAILED)
    assert [entry["outcome"] for entry in here.ledger if entry["rule_id"] == "nginx"] == [None]
    asked, heard = here.hosts.rechecked[-1]
    assert asked == "agent:a2"
    began = here.clock.now()
    here.report("agent:a2", down=1)
    heard(began)
    here.pass_time(2, **FAILED)
    [entry] = [entry for entry in here.ledger if entry["rule_id"] == "nginx"]
    assert (entry["outcome"], entry["worse"]) == (
        "failed",
        ({"rule_id": "down", "target": "box-2", "condition": "down == 1"},),
    )


def test_a_monitor_of_the_host_that_goes_down_is_worse_without_a_rule(ward):
    shop = place("shop", "a1", subject="monitor:m1", names=("shop", "m1"))
    here = ward(RULE, places=[place(), shop]).at("execute").report(**FAILED).report("monitor:m1", status="up")
    here.turn().turn(5)
    done(here).pass_time(6, **FAILED)
    began = here.clock.now()
    here.report("monitor:m1", status="down").turn(1)
    [heard] = [heard for subject, heard in here.hosts.rechecked if subject == "monitor:m1"]
    heard(began)
    here.report(**FAILED).turn(1)
    assert outcomes(here) == [("restart_service", "failed", "worse: shop: monitor state is down")]


# -- a kill in the waiting --------------------------------------------------------------------------------------------


def test_a_kill_between_two_looks_doubles_nothing_and_the_deadline_stands(ward):
    here = acted(ward(CHAIN))
    for _ in range(3):
        here.pass_time(10, **FAILED).restart()
    here.pass_time(34, **FAILED)
    assert [entry["outcome"] for entry in here.ledger] == [None]
    assert len(actions(here)) == 1
    here.pass_time(1, **FAILED)
    assert outcomes(here)[0][1] == "failed"


def test_after_a_kill_it_is_verified_by_what_is_measured_then(ward):
    here = acted(ward(RULE))
    here.pass_time(10, **FAILED).restart().turn(120)
    assert [entry["outcome"] for entry in here.ledger] == [None], "nobody was there to look"
    here.report(**ACTIVE).turn(1)
    assert [entry["outcome"] for entry in here.ledger] == ["verified"]
    assert len(actions(here)) == 1


def test_what_was_well_before_the_act_is_known_after_a_kill(ward):
    here = acted(ward(RULE, DISK), disk_percent=50)
    here.pass_time(6, **FAILED, disk_percent=50).restart()
    here.pass_time(2, **FAILED, disk_percent=95)
    assert outcomes(here)[0] == ("restart_service", "failed", SAID)


def test_an_alert_that_is_over_does_not_cut_the_settle_time_of_a_heal_short(ward, monkeypatch):
    """The case had been left alone before it was healed."""
    from opsapp.healing.engine import world

    monkeypatch.setattr(world, "_coin", lambda root, case_id: 0.0)
    here = ward({**RULE, "settle_s": 20}, holdout={"share": 0.5}).at("execute").report(**FAILED).turn()
    here.pass_time(90, **FAILED)
    done(here).report(**ACTIVE).turn(1)
    assert here.cases[0]["state"] == "settling"
