"""What a heal counts as: one case is one attempt, one host is not another, and nothing ends silently."""

import pytest

from opsapp.healing.engine.declared import DEFAULT_RULES
from opsapp.healing.logic.thresholds import DAY, Promotion
from opsapp.healing.resources import healing_of
from opsapp.healing.stages import trust as governor
from opsapp.notify.resources import inbox
from tests.support.hosts import place

FAILED, ACTIVE = {"service__nginx__state": "failed"}, {"service__nginx__state": "active"}
ONE = {"id": "nginx", "condition": "down == 1", "escalation_chain": [{"action": "clear_cache"}]}
CHAIN = {**ONE, "escalation_chain": [{"action": name} for name in (
    "flush_dns", "log_rotate", "journal_vacuum", "clear_cache")]}  # fmt: skip

ABLE = [place(usable=None)]


def told(here):
    return [(row["kind"], row["title"], row["text"]) for row in here.node.transact(inbox.take, 10_000)]


def suggestions(here, category):
    active = here.node.transact(lambda root: healing_of(root)["suggestions"].active())
    return [one["message"] for one in active if one["category"] == category]


def try_step(here, subject="agent:a1", **after):
    """One step of a case: the host does as it is told, and reports this afterwards."""
    here.hosts.finish("snapshot", snapshot={"kind": "none", "state": {}})
    here.turn(1)
    here.hosts.finish("execute", handler="sh")
    here.turn(1).turn(30)
    here.clock.advance(0.5)
    here.report(subject, **after).turn(0.5)


def attempt(here, helps, subject="agent:a1", steps=1):
    """A case from alert to end, its last step with or without success; and then all is well."""
    here.report(subject, down=1).turn().turn(5)
    for position in range(steps):
        try_step(here, subject, down=int(not (helps and position == steps - 1)))
    return here.report(subject, down=0).turn(1).turn(60)


# -- one case is one heal attempt -----------------------------------------------------------------


def test_the_fourth_step_of_the_disk_chain_is_reached_and_the_case_counts_once(ward):
    rule = {"id": "nginx", **DEFAULT_RULES["default-disk"], "for": 0, "initial_level": "notify"}
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
    needed = next(n for n in range(100) if not governor.needs(_approved(verified=n), 0.0, Promotion()))
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
    here = ward({**ONE, "cooldown_s": 60}).at("execute")
    for _ in range(2):
        attempt(here, False)
        here.turn(7200)
    [shown] = here.service.vera.get("/api/healing/trust").json
    assert shown["evidence"]["cusum"] == pytest.approx(3.22)
    assert shown["evidence"]["cusum_threshold"] == 4.5
    told(here)
    attempt(here, False)
    assert here.trust().current_level == "approve"
    assert here.events("trust")[-1]["cause"] == "cusum"
    assert [title for kind, title, _ in told(here) if kind == "heal.breaker"] == ["Rule nginx asks for approval now"]
    assert len(suggestions(here, "circuit_breaker")) == 1


# -- what is skipped, and for how long -----------------------------------------------------------------


HOSTS = [place(f"box-{n}", f"a{n}") for n in range(1, 6)]
LIMITS = {"breaker": {"failures": 100, "window_s": 3600}, "cusum": {"good": 0.92, "bad": 0.6, "threshold": 1000}}


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
