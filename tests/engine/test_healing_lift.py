"""What is learned of cases that nobody acts on: trials, lift, the hold-out and the learned wait, in the pipeline."""

import pytest

from opsapp.healing.engine import lift as worth
from opsapp.healing.logic.lift import Arm
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.rules import put_rule
from opsapp.wire.actions import ACTIONS
from tests.engine.healing import NGINX

FAILED, ACTIVE = {"service__nginx__state": "failed"}, {"service__nginx__state": "active"}
QUICK = {**NGINX, "settle_s": 5, "verify_timeout_s": 55, "cooldown_s": 60}  # a window of a minute
ALL = {"share": 0.5}


def arms(here):
    trust = here.trust()
    return trust.treated, trust.control


def failing(here, seconds=5):
    return here.report(**FAILED).turn().turn(seconds)


def coin(here, side):
    """Every coin falls like this."""
    from opsapp.healing.engine import world

    here.monkeypatch.setattr(world, "_coin", lambda root, case_id: side)
    return here


@pytest.fixture
def held(ward, monkeypatch):
    """A rule of which half of the cases are left alone: this one."""

    def make(level, side=0.0, rule=QUICK, **healing):
        here = ward(rule, holdout=healing.pop("holdout", ALL), **healing).at(level)
        here.monkeypatch = monkeypatch
        return coin(here, side)

    return make


def test_what_recovers_by_itself_at_notify_is_a_control(ward):
    here = failing(ward(QUICK).at("notify"))
    here.pass_time(30, step=10, **FAILED)
    here.report(**ACTIVE).turn()
    assert arms(here) == (Arm(), Arm(1, 1))
    assert here.cases[0]["recovered_at"] == here.clock.now()


def test_what_does_not_recover_in_its_window_counts_against(ward):
    here = failing(ward(QUICK).at("notify"))
    here.pass_time(80, step=10, **FAILED)
    assert arms(here) == (Arm(), Arm(1, 0))
    here.pass_time(20, step=10, **FAILED)
    here.report(**ACTIVE).turn()
    assert arms(here) == (Arm(), Arm(1, 0))
    [duration] = here.node.transact(lambda root: healing_of(root).trials.alone("nginx", here.clock.now()))
    assert duration.recovered
    assert duration.seconds == pytest.approx(105, abs=10)


def test_later_cases_of_one_outage_are_no_further_controls(ward):
    here = failing(ward(QUICK).at("notify"))
    here.pass_time(600, step=10, **FAILED)
    assert arms(here) == (Arm(), Arm(1, 0))


def test_what_a_person_mended_within_the_window_is_no_control(ward):
    here = failing(ward(QUICK).at("notify"))
    here.pass_time(20, step=10, **FAILED)
    here.hosts.interventions.append(("agent:a1", here.clock.now()))
    here.pass_time(10, step=10, **FAILED)
    here.report(**ACTIVE).turn()
    assert arms(here) == (Arm(), Arm())
    [duration] = here.node.transact(lambda root: healing_of(root).trials.alone("nginx", here.clock.now()))
    assert not duration.recovered
    assert duration.seconds == pytest.approx(25, abs=6)


def test_what_a_person_worked_on_in_vain_is_no_control_either(ward):
    here = failing(ward(QUICK).at("notify"))
    here.hosts.interventions.append(("agent:a1", here.clock.now()))
    here.pass_time(80, step=10, **FAILED)
    assert arms(here) == (Arm(), Arm())
    assert not here.node.transact(lambda root: len(healing_of(root).trials.open))


def test_what_a_person_mended_long_after_the_window_did_not_recover_by_itself(ward):
    here = failing(ward(QUICK).at("notify"))
    here.pass_time(80, step=10, **FAILED)
    assert arms(here) == (Arm(), Arm(1, 0))
    here.hosts.interventions.append(("agent:a1", here.clock.now()))
    here.pass_time(600, step=60, **FAILED)
    here.report(**ACTIVE).turn()
    [duration] = here.node.transact(lambda root: healing_of(root).trials.alone("nginx", here.clock.now()))
    assert not duration.recovered
    assert duration.seconds == pytest.approx(85, abs=6)


def test_what_was_done_there_before_or_afterwards_or_elsewhere_does_not_matter(ward):
    here = ward(QUICK).at("notify")
    here.hosts.interventions += [("agent:a1", here.clock.now() - 1), ("agent:a2", here.clock.now() + 10)]
    failing(here).pass_time(20, step=10, **FAILED)
    here.report(**ACTIVE)
    here.hosts.interventions.append(("agent:a1", here.clock.now() + 1))
    here.clock.advance(2)
    here.turn()
    assert arms(here) == (Arm(), Arm(1, 1))


def test_a_heal_of_something_else_on_the_host_within_the_window_is_meddling(ward):
    other = {**QUICK, "id": "redis", "condition": 'service.redis.state == "failed"'}
    here = ward(QUICK, other).at("notify").at("execute", "redis")
    failing(here)
    here.report(**FAILED, service__redis__state="failed").turn().turn(6)
    here.heal(**FAILED, service__redis__state="active")
    here.report(**ACTIVE, service__redis__state="active").turn()
    assert here.trust("redis").treated == Arm(1, 1)
    assert arms(here) == (Arm(), Arm())


def test_a_window_that_somebody_opens_on_the_target_is_a_decision(ward):
    here = failing(ward(QUICK).at("notify"))
    body = {"target": "box-1", "duration": "1h", "reason": "disk swap", "action": "notify_only"}
    here.service.otto.post_json("/api/healing/maintenance", body)
    here.pass_time(20, step=10, **FAILED)
    here.report(**ACTIVE).turn()
    assert arms(here) == (Arm(), Arm())


def test_a_host_that_falls_silent_says_nothing(ward):
    here = failing(ward(QUICK).at("notify"))
    here.pass_time(1000, step=20)
    assert arms(here) == (Arm(), Arm())
    assert not here.node.transact(lambda root: len(healing_of(root).trials.open))


def test_a_heal_is_treated(ward):
    here = failing(ward(QUICK).at("execute"))
    here.heal(**ACTIVE)
    assert arms(here) == (Arm(1, 1), Arm())
    assert here.node.transact(lambda root: len(healing_of(root).trials.durations["nginx"].healed)) == 1


def test_a_heal_that_fails_is_treated_too(ward):
    here = failing(ward(QUICK).at("execute"))
    here.heal(**FAILED)
    assert arms(here) == (Arm(1, 0), Arm())


# -- both arms are judged alike: the same window, the same looks ------------------------------------------------------

SLOW = {**QUICK, "settle_s": 20, "verify_timeout_s": 40}


@pytest.mark.parametrize(("stays", "recovered"), [(True, 1), (False, 0)])
def test_what_is_well_before_the_settle_time_counts_by_what_is_measured_after_it(ward, stays, recovered):
    """As a heal is not verified by that either."""
    here = failing(ward(SLOW).at("notify"))
    here.report(**ACTIVE).turn(1)
    assert arms(here) == (Arm(), Arm())
    here.pass_time(70, **(ACTIVE if stays else FAILED))
    assert arms(here) == (Arm(), Arm(1, recovered))


def test_a_control_that_comes_and_goes_has_to_stay_well_too(ward):
    here = failing(ward(SLOW).at("notify"))
    here.report(**ACTIVE).turn(1).pass_time(20, **FAILED)
    here.pass_time(1, **ACTIVE)
    assert arms(here) == (Arm(), Arm())
    here.pass_time(40, **FAILED)
    assert arms(here) == (Arm(), Arm(1, 0))


def test_a_heal_that_takes_most_of_the_window_has_helped(ward):
    here = failing(ward(QUICK).at("execute"))
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    here.hosts.finish("execute", handler="systemctl")
    here.turn(1).pass_time(50, step=5, **FAILED).pass_time(5, **ACTIVE)
    assert arms(here) == (Arm(1, 1), Arm())


def test_a_later_step_that_helps_after_the_window_is_no_recovery_within_it(ward):
    chain = [{"action": "service_reset_failed", "params": {}}, {"action": "restart_service", "params": {}}]
    here = failing(ward({**QUICK, "escalation_chain": chain}).at("execute"))
    here.heal(**FAILED).heal(**ACTIVE)
    assert (here.trust().verified, here.trust().failed) == (1, 0)
    assert arms(here) == (Arm(1, 0), Arm())


def test_a_heal_that_was_looked_at_only_after_its_window_says_nothing(ward):
    """Whether it helped within the window, nobody knows: as of a case that was left alone."""
    here = failing(ward(QUICK).at("execute"))
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    here.hosts.finish("execute", handler="systemctl")
    here.turn(1).pass_time(10, step=5, **FAILED).restart().turn(120)
    here.report(**ACTIVE).turn(1)
    assert here.trust().verified == 1
    assert arms(here) == (Arm(), Arm())


def test_a_case_that_is_held_out_and_recovers_is_a_control_and_nothing_is_done(held):
    here = failing(held("execute"))
    assert here.hosts.sent == []
    here.pass_time(20, step=10, **FAILED)
    here.report(**ACTIVE).turn()
    assert here.hosts.sent == []
    assert arms(here) == (Arm(), Arm(1, 1))
    [case] = here.cases
    assert (case["state"], case["outcome"]) == ("closed", "withdrawn")
    assert any("held out" in line for line in case["why"])


def test_a_case_that_is_held_out_and_does_not_recover_is_healed_after_its_window(held):
    here = failing(held("execute"))
    here.pass_time(50, step=10, **FAILED)
    assert here.hosts.sent == []
    here.pass_time(15, step=1, **FAILED)
    assert here.hosts.phases() == ["snapshot"]
    assert arms(here) == (Arm(), Arm(1, 0))
    here.heal(**ACTIVE)
    assert arms(here) == (Arm(), Arm(1, 0))  # one case is one trial
    assert here.trust().verified == 1


def test_the_coin_decides_who_is_held_out(held):
    here = failing(held("execute", side=0.6))
    assert here.hosts.phases() == ["snapshot"]


def test_the_coin_is_the_same_each_time_and_not_foreseeable(ward):
    from opsapp.healing.engine.world import _coin

    here = ward(QUICK)
    drawn = here.node.transact(lambda root: [[_coin(root, f"c{n}") for n in range(200)] for _ in range(2)])
    assert drawn[0] == drawn[1]
    assert all(0 <= side < 1 for side in drawn[0])
    assert 60 < sum(side < 0.5 for side in drawn[0]) < 140


def test_the_wait_survives_a_restart(held):
    here = failing(held("execute"))
    here.restart()
    here.pass_time(30, step=10, **FAILED)
    assert here.hosts.sent == []
    here.pass_time(40, step=1, **FAILED)
    assert here.hosts.phases() == ["snapshot"]


@pytest.mark.parametrize(("share", "own"), [(0, None), (0.5, 0)])
def test_without_a_share_nothing_is_held_out(held, share, own):
    here = held("execute", holdout={"share": share})
    if own is not None:
        rule = {**QUICK, "initial_level": "notify", "holdout": {"share": own}}
        here.node.transact(write, rule, here.clock.now())
        here.at("execute")
    assert failing(here).hosts.phases() == ["snapshot"]


def write(root, rule, now):
    from opsapp.healing.engine.default_rules import complete

    put_rule(root, rule["id"], complete(rule), source="api", now=now)


def test_high_and_medium_risks_are_not_held_out_by_default(held):
    risky = {**QUICK, "action": {"type": "service_dependency_restart"}}
    assert ACTIONS["service_dependency_restart"].risk == "medium"
    assert failing(held("execute", rule=risky)).hosts.phases() == ["snapshot"]


def test_a_medium_risk_may_be_held_out_where_the_settings_say_so(held):
    risky = {**QUICK, "action": {"type": "service_dependency_restart"}}
    assert failing(held("execute", rule=risky, holdout={"share": 0.5, "risk": "medium"})).hosts.sent == []


def test_a_rule_that_asks_with_few_controls_leaves_one_in_five_alone_first(held):
    here = failing(held("approve"))
    assert here.cases[0]["state"] == "planning"
    here.pass_time(70, step=5, **FAILED)
    assert here.cases[0]["state"] == "awaiting_approval"
    assert arms(here) == (Arm(), Arm(1, 0))


def test_an_undecided_approval_is_a_control(held):
    here = failing(held("approve", side=0.9))
    assert here.cases[0]["state"] == "awaiting_approval"
    here.pass_time(70, step=10, **FAILED)
    assert arms(here) == (Arm(), Arm(1, 0))


def test_promotion_asks_for_proof_that_it_helps(ward):
    here = ward(QUICK, holdout={"share": 0.1}).at("approve")
    missing = here.node.transact(needs)
    assert any(line.startswith("proof that it helps: 0 of 0") for line in missing)


def needs(root):
    from opsapp.healing.config import HealingSettings
    from opsapp.runtime.node import node_of

    state = healing_of(root)["trust"]["nginx"]
    return state.plain(0.0, node_of(root).config[HealingSettings])["needs"]


def test_a_rule_that_is_known_to_help_nothing_asks_people_again(held):
    here = held("execute")

    def known(root):
        state = healing_of(root)["trust"]["nginx"]
        state.trust = state.trust._replace(treated=Arm(4000, 3600), control=Arm(4000, 3600))

    here.node.transact(known)
    failing(here).pass_time(20, step=10, **FAILED)
    here.report(**ACTIVE).turn()
    assert here.trust().current_level == "approve"
    [suggestion] = here.node.transact(lambda root: healing_of(root)["suggestions"].active())
    assert "hardly helps" in suggestion["message"]


def test_the_learned_wait_is_waited(ward):
    rule = {**QUICK, "wait": "learned"}
    here = ward(rule).at("execute")

    def learned(root):
        from opsapp.healing.resources.trials import Healed

        healing = healing_of(root)
        durations = healing.trials.durations_of("nginx", healing["trust"]["nginx"].trust.definition)
        for _ in range(9):
            durations.lasted(30.0, True)
        durations.lasted(600.0, False)
        durations.took(Healed(110, 100))

    here.node.transact(learned)
    failing(here).pass_time(20, step=5, **FAILED)
    assert here.hosts.sent == []
    here.pass_time(10, step=1, **FAILED)
    assert here.hosts.phases() == ["snapshot"]
    answer = here.node.transact(worth.wait, "nginx", here.clock.now())
    assert (answer["wait_s"], answer["heals"]) == (30, 1)


def test_the_api_answers_what_is_known(ward):
    here = failing(ward(QUICK).at("notify"))
    here.report(**ACTIVE).turn(1)
    answer = here.service.vera.get("/api/healing/lift?rule_id=nginx").json
    assert answer["control"] == {"n": 1, "recovered": 1}
    assert (answer["treated"], answer["lift"], answer["verdict"]) == ({"n": 0, "recovered": 0}, None, "unknown")
    assert (answer["low"], answer["high"], answer["saved_minutes"]) == (-1, 1, None)
    waits = here.service.vera.get("/api/healing/wait?rule_id=nginx").json
    assert (waits["cases"], waits["recovered"], waits["wait_s"]) == (1, 1, None)
    for path in ("lift", "wait"):
        here.service.vera.get(f"/api/healing/{path}?rule_id=nobody", status=404)
        here.service.vera.get(f"/api/healing/{path}", status=422)
