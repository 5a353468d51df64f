"""What is learned of cases by a coin: trials, lift, the share that is left alone, and the learned wait."""

import pytest

from opsapp.healing.engine import lift as worth
from opsapp.healing.logic.lift import Arm, Bets
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.rules import put_rule
from opsapp.wire.actions import ACTIONS
from opsapp.wire.records import plain
from tests.engine.healing import ALL, QUICK
from tests.support.hosts import place

FAILED, ACTIVE = {"service__nginx__state": "failed"}, {"service__nginx__state": "active"}
CHAIN = [{"action": "service_reset_failed", "params": {}}, {"action": "restart_service", "params": {}}]
NOBODY = Arm(), Arm()


def arms(here, rule_id="nginx"):
    trust = here.trust(rule_id)
    return trust.treated, trust.control


def alone(here):
    """How long the cases lasted that nobody acted on."""
    return here.node.transact(lambda root: healing_of(root).trials.alone("nginx", here.clock.now()))


def opened(here):
    return here.node.transact(lambda root: len(healing_of(root).trials.open))


def failing(here, seconds=5):
    return here.report(**FAILED).turn().turn(seconds)


def draws(here):
    """What was committed of the coins that are not counted yet."""
    return here.node.transact(lambda root: [coin.draw for coin in healing_of(root).trials.coins_of("nginx").tossed])


def approve(here, who="otto"):
    [pending] = here.service.vera.get("/api/approvals").json
    here.service.client(who).post_json(f"/api/approvals/{pending['request_id']}/approve", {"comment": "go"})
    return here


def begun(here):
    """The heal has taken its snapshot and acted."""
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    here.hosts.finish("execute", handler="systemctl")
    return here.turn(1)


# -- what no coin has drawn only shows how long cases last ------------------------------------------------------------


def test_what_recovers_by_itself_at_notify_is_no_trial_but_its_duration_is_known(held):
    here = failing(held("notify"))
    here.pass_time(30, step=10, **FAILED)
    here.report(**ACTIVE).turn()
    assert arms(here) == NOBODY
    assert here.cases[0]["recovered_at"] == here.clock.now()
    [duration] = alone(here)
    assert duration.recovered
    assert duration.seconds == pytest.approx(35, abs=6)


def test_what_recovers_at_notify_long_after_the_window_is_followed_too(held):
    here = failing(held("notify"))
    here.pass_time(100, step=10, **FAILED)
    here.report(**ACTIVE).turn()
    assert arms(here) == NOBODY
    [duration] = alone(here)
    assert duration.recovered
    assert duration.seconds == pytest.approx(105, abs=10)


def test_later_cases_of_one_outage_are_no_further_durations(held):
    here = failing(held("notify"))
    here.pass_time(600, step=10, **FAILED)
    assert len(alone(here)) == opened(here) == 1


def test_while_nobody_decides_nothing_counts(held):
    here = failing(held("approve", 0.9))
    assert here.cases[0]["state"] == "awaiting_approval"
    here.pass_time(70, step=10, **FAILED)
    assert arms(here) == NOBODY
    assert draws(here) == []
    here.report(**ACTIVE).turn()
    assert arms(here) == NOBODY
    assert alone(here)[0].recovered


@pytest.mark.parametrize("before_s", [25, 85])
def test_how_long_what_a_person_mended_would_have_lasted_nobody_knows(held, before_s):
    here = failing(held("notify"))
    here.pass_time(before_s - 5, step=10, **FAILED)
    here.hosts.interventions.append(("agent:a1", here.clock.now()))
    here.pass_time(600, step=60, **FAILED)
    here.report(**ACTIVE).turn()
    [duration] = alone(here)
    assert not duration.recovered
    assert duration.seconds == pytest.approx(before_s, abs=6)


def test_a_host_that_falls_silent_at_notify_is_followed_for_a_day(held):
    here = failing(held("notify"))
    here.pass_time(86400, step=3600)
    assert not opened(here)
    assert [duration.recovered for duration in alone(here)] == [False]


# -- the coin, at the decision to act ----------------------------------------------------------------------------------


def test_a_heal_that_the_coin_lets_go_is_treated(held):
    here = failing(held("execute", 0.9))
    assert here.hosts.phases() == ["snapshot"]
    [draw] = draws(here)
    assert (draw.share, draw.guess, draw.treated) == (0.5, 0.5, True)
    here.heal(**ACTIVE)
    assert arms(here) == (Arm(1, 1), Arm())
    assert here.node.transact(lambda root: len(healing_of(root).trials.durations["nginx"].healed)) == 1


def test_a_heal_that_fails_is_treated_too(held):
    here = failing(held("execute", 0.9))
    here.heal(**FAILED)
    assert arms(here) == (Arm(1, 0), Arm())


def test_a_case_that_is_left_alone_and_recovers_is_a_control_and_nothing_is_done(held):
    here = failing(held("execute"))
    assert here.hosts.sent == []
    [draw] = draws(here)
    assert (draw.share, draw.treated) == (0.5, False)
    here.pass_time(20, step=10, **FAILED)
    here.report(**ACTIVE).turn()
    assert here.hosts.sent == []
    assert arms(here) == (Arm(), Arm(1, 1))
    assert draws(here) == []
    [case] = here.cases
    assert (case["state"], case["outcome"]) == ("closed", "withdrawn")
    assert (
        "left alone for 60 s, to learn whether the heal is needed: if it does not recover, it is healed then"
        in case["why"]
    )


def test_a_case_that_is_left_alone_and_does_not_recover_is_healed_after_its_window(held):
    here = failing(held("execute"))
    here.pass_time(50, step=10, **FAILED)
    assert here.hosts.sent == []
    assert arms(here) == NOBODY
    here.pass_time(15, step=1, **FAILED)
    assert here.hosts.phases() == ["snapshot"]
    assert arms(here) == (Arm(), Arm(1, 0))
    here.heal(**ACTIVE)
    assert arms(here) == (Arm(), Arm(1, 0))  # one case is one trial
    assert here.trust().verified == 1


def test_what_is_left_alone_is_looked_at_again_before_it_is_healed(held):
    """A look from before the wait says nothing after it."""
    here = failing(held("approve", 0.0)).pass_time(600, step=60, **FAILED).turn(30)
    approve(here).turn().turn(1)
    assert here.cases[0]["left_until"]
    assert here.hosts.sent == []
    here.hosts.looks_back = False
    here.turn(61)
    assert "snapshot" not in here.hosts.phases()
    here.report(**FAILED).turn(1)
    assert "snapshot" in here.hosts.phases()


def test_the_page_of_a_case_says_until_when_it_is_left_alone_and_why(held):
    here = failing(held("execute"))
    [case] = here.cases
    page = here.service.browser("vera").get(f"/healing/cases/{case['id']}").html.select_one("#next")
    assert "It is left alone until then, to learn whether the heal is needed." in page.text
    assert "in 1 min" in page.text
    story = here.service.vera.get(f"/api/healing/cases/{case['id']}").json
    assert (story["left_until"], story["arm"]) == (int(here.clock.now()) + 60, "control")


@pytest.mark.parametrize(
    ("level", "helps", "share"), [("approve", False, 0.25), ("approve", True, 0.1), ("execute", False, 0.1)]
)
def test_a_rule_that_is_learned_about_is_left_alone_more_often(held, level, helps, share):
    here = held(level, trial={"share": 0.25}, holdout={"share": 0.1})
    if helps:
        here.node.transact(know, {"low": 0.1})
    assert here.service.vera.get("/api/healing/lift?rule_id=nginx").json["share"] == share
    failing(here)
    if level == "approve":
        approve(here).turn(1)
    assert [draw.share for draw in draws(here)] == [share]


def know(root, bets):
    state = healing_of(root)["trust"]["nginx"]
    state.trust = state.trust._replace(treated=Arm(40, 36), control=Arm(40, 36), bets=Bets()._replace(**bets))


def test_the_coin_is_the_same_each_time_and_not_foreseeable(ward):
    from opsapp.healing.engine.world import _coin

    here = ward(QUICK)
    drawn = here.node.transact(lambda root: [[_coin(root, f"c{n}") for n in range(200)] for _ in range(2)])
    assert drawn[0] == drawn[1]
    assert all(0 <= side < 1 for side in drawn[0])
    assert 60 < sum(side < 0.5 for side in drawn[0]) < 140


def test_the_coin_its_arm_and_its_window_survive_a_restart(held):
    here = failing(held("execute", 0.0, 0.9))
    before = draws(here)
    here.restart().pass_time(30, step=10, **FAILED)
    assert here.hosts.sent == []
    assert draws(here) == before
    here.restart().pass_time(40, step=1, **FAILED)
    assert here.hosts.phases() == ["snapshot"]
    assert arms(here) == (Arm(), Arm(1, 0))


@pytest.mark.parametrize(
    ("trial", "holdout", "own"), [(ALL, {"share": 0}, None), ({"share": 0}, ALL, None), (ALL, ALL, 0)]
)
@pytest.mark.parametrize("level", ["approve", "execute"])
def test_without_a_share_nothing_is_left_alone_and_nothing_counts(held, level, trial, holdout, own):
    here = held(level, trial=trial, holdout=holdout)
    if own is not None:
        here.node.transact(write, {**QUICK, "initial_level": "notify", "holdout": {"share": own}}, here.clock.now())
        here.at(level)
    failing(here)
    if level == "approve":
        approve(here).turn(1)
    assert here.hosts.phases() == ["snapshot"]
    here.heal(**ACTIVE)
    assert arms(here) == NOBODY


def write(root, rule, now):
    from opsapp.healing.records import RuleSettings
    from opsapp.wire.records import made

    put_rule(root, rule["id"], made(RuleSettings, rule), source="api", now=now)


def doing(action, risk):
    assert ACTIONS[action].risk == risk
    return {**QUICK, "action": {"type": action}}


CAN_STOP = place(usable=frozenset({"systemctl", "shutdown"}))
MEDIUM = doing("service_dependency_restart", "medium")


def test_medium_risks_are_not_left_alone_by_default(held):
    here = failing(held("execute", rule=MEDIUM))
    assert here.hosts.phases() == ["snapshot"]
    assert draws(here) == []


def test_a_medium_risk_may_be_left_alone_where_the_settings_say_so(held):
    medium = {"share": 0.5, "risk": "medium"}
    assert failing(held("execute", rule=MEDIUM, holdout=medium)).hosts.sent == []


def test_high_risks_are_never_left_alone(held):
    medium = {"share": 0.5, "risk": "medium"}
    here = failing(held("execute", rule=doing("host_reboot", "high"), places=[CAN_STOP], holdout=medium, trial=medium))
    approve(here, "ada").turn(1)
    assert here.hosts.phases() == ["snapshot"]
    assert draws(here) == []


# -- an approval that a person grants ----------------------------------------------------------------------------------


@pytest.fixture
def granted(held):
    """Ten minutes after it was asked for."""

    def make(*sides, **more):
        here = failing(held("approve", *sides, **more)).pass_time(600, step=60, **FAILED)
        assert draws(here) == []
        return approve(here).turn(1).turn(1)

    return make


def test_an_approval_is_tossed_when_it_is_granted_and_healed_after_its_window(granted):
    here = granted(0.0)
    assert here.hosts.sent == []
    [draw] = draws(here)
    assert not draw.treated
    approved, left = here.cases[0]["why"][-2:]
    assert approved == "approval approved by otto"
    assert left.startswith("left alone for 60 s")
    assert here.ledger[0]["reason"] == left, "nobody is asked any more"
    here.pass_time(50, step=5, **FAILED)
    assert here.hosts.sent == []
    here.pass_time(15, step=1, **FAILED)
    assert here.hosts.phases() == ["snapshot"]
    assert arms(here) == (Arm(), Arm(1, 0))
    assert here.cases[0]["why"].count("approval approved by otto") == 1
    assert here.ledger[0]["reason"] == ""
    here.heal(**ACTIVE)
    assert (here.trust().verified, arms(here)) == (1, (Arm(), Arm(1, 0)))


def test_an_approved_case_that_recovers_while_it_is_left_alone_ends_as_a_control(granted):
    here = granted(0.0).pass_time(20, step=5, **FAILED)
    here.report(**ACTIVE).turn()
    assert arms(here) == (Arm(), Arm(1, 1))
    assert here.hosts.sent == []
    assert here.cases[0]["outcome"] == "withdrawn"


def test_an_approval_that_the_coin_lets_go_is_treated_however_late_it_was_granted(granted):
    here = granted(0.9)
    here.heal(**ACTIVE)
    assert arms(here) == (Arm(1, 1), Arm())


def test_a_restart_keeps_the_coin_of_an_approval(granted):
    here = granted(0.0, 0.9)
    before = draws(here)
    here.restart().pass_time(30, step=5, **FAILED)
    assert (here.hosts.sent, draws(here)) == ([], before)
    here.restart().pass_time(35, step=1, **FAILED)
    assert here.hosts.phases() == ["snapshot"]
    assert arms(here) == (Arm(), Arm(1, 0))


def test_what_was_done_there_before_the_coin_does_not_matter(held):
    here = failing(held("approve", 0.0)).pass_time(600, step=60, **FAILED)
    here.hosts.interventions.append(("agent:a1", here.clock.now() - 300))
    approve(here).turn(1).turn(1).pass_time(65, step=1, **FAILED)
    assert arms(here) == (Arm(), Arm(1, 0))


# -- one outage is one trial -------------------------------------------------------------------------------------------


TWO = (place(), place("box-2", "a2"))


@pytest.mark.parametrize(("side", "sent"), [(0.0, 0), (0.9, 2)])
def test_two_cases_of_one_outage_share_a_coin_and_count_once(held, side, sent):
    here = held("execute", side, 1 - side, places=TWO, waves="off")
    for seconds in (0, 20):
        here.clock.advance(seconds)
        for subject in ("agent:a1", "agent:a2")[: 1 + bool(seconds)]:
            here.report(subject, **FAILED)
        here.turn().turn(5)
    assert len(here.cases) == 2
    assert len(here.hosts.sent) == sent
    assert len(draws(here)) == 1
    for phase in ("snapshot", "execute"):
        for command in [command for command in here.hosts.sent if command["params"]["phase"] == phase]:
            here.hosts.finish(phase, among=command, snapshot={"kind": "unit", "state": {}})
        here.turn(1)
    here.turn(6)
    for subject in ("agent:a1", "agent:a2"):
        here.report(subject, **ACTIVE)
    here.turn(1)
    assert arms(here) == ((Arm(1, 1), Arm()) if sent else (Arm(), Arm(1, 1)))


def test_another_outage_has_a_coin_of_its_own(held):
    here = failing(held("execute", 0.0, 0.9))
    here.report(**ACTIVE).turn(1).pass_time(180, step=30, **ACTIVE)
    failing(here)
    assert here.hosts.phases() == ["snapshot"]
    here.heal(**ACTIVE)
    assert arms(here) == (Arm(1, 1), Arm(1, 1))


def test_a_later_trial_that_ends_first_is_counted_after_the_earlier_one(held):
    here = failing(held("execute", 0.0, 0.9, rule={**QUICK, "verify_timeout_s": 250}, places=TWO))
    here.pass_time(130, step=10, **FAILED)
    here.report("agent:a2", **FAILED).turn().turn(5)
    begun(here).turn(6)
    here.report("agent:a2", **ACTIVE).turn(2)
    assert here.trust().verified == 1
    assert [(draw.treated, draw.guess) for draw in draws(here)] == [(False, 0.5), (True, 0.5)]
    assert arms(here) == NOBODY
    here.pass_time(120, step=5, **FAILED)
    assert (arms(here), draws(here)) == ((Arm(1, 1), Arm(1, 0)), [])


def test_the_coins_of_a_rule_that_was_edited_do_not_count(held):
    here = failing(held("execute"))
    edited = {**QUICK, "initial_level": "notify", "action": {"type": "service_reset_failed"}}
    here.node.transact(write, edited, here.clock.now())
    here.at("execute").pass_time(20, step=10, **FAILED)
    here.report(**ACTIVE).turn()
    assert (arms(here), draws(here)) == (NOBODY, [])


# -- what nobody can tell ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mended", [True, False])
def test_what_a_person_worked_on_within_the_window_counts_for_neither(held, mended):
    here = failing(held("execute"))
    here.pass_time(20, step=10, **FAILED)
    here.hosts.interventions.append(("agent:a1", here.clock.now()))
    here.pass_time(10, step=10, **FAILED)
    here.pass_time(50, step=5, **ACTIVE if mended else FAILED)
    assert (arms(here), draws(here)) == (NOBODY, [])


def test_a_heal_beside_which_a_person_worked_counts_for_neither(held):
    here = failing(held("execute", 0.9))
    here.hosts.interventions.append(("agent:a1", here.clock.now() + 1))
    here.heal(**ACTIVE)
    assert here.trust().verified == 1
    assert (arms(here), draws(here)) == (NOBODY, [])


def test_what_was_done_afterwards_or_elsewhere_does_not_matter(held):
    here = held("execute")
    here.hosts.interventions += [("agent:a1", here.clock.now() - 1), ("agent:a2", here.clock.now() + 10)]
    failing(here).pass_time(20, step=10, **FAILED)
    here.report(**ACTIVE)
    here.hosts.interventions.append(("agent:a1", here.clock.now() + 1))
    here.clock.advance(2)
    here.turn()
    assert arms(here) == (Arm(), Arm(1, 1))


def test_how_long_a_case_beside_a_heal_of_something_else_on_the_host_would_have_lasted_nobody_knows(held):
    here = failing(held("execute"))
    other = {**QUICK, "id": "redis", "condition": 'service.redis.state == "failed"', "holdout": {"share": 0}}
    here.node.transact(write, {**other, "initial_level": "notify"}, here.clock.now())
    here.at("execute", "redis")
    here.report(**FAILED, service__redis__state="failed").turn().turn(6).turn(6)
    here.heal(**FAILED, service__redis__state="active")
    here.report(**ACTIVE, service__redis__state="active").turn()
    assert here.trust("redis").verified == 1
    assert [duration.recovered for duration in alone(here)] == [False]


def test_a_window_that_somebody_opens_on_the_target_is_a_decision(held):
    here = failing(held("execute"))
    body = {"target": "box-1", "duration": "1h", "reason": "disk swap", "action": "notify_only"}
    here.service.otto.post_json("/api/healing/maintenance", body)
    here.pass_time(20, step=10, **FAILED)
    here.report(**ACTIVE).turn()
    assert arms(here) == NOBODY


def test_a_host_that_falls_silent_while_it_is_left_alone_says_nothing(held):
    here = failing(held("execute"))
    here.hosts.looks_back = False
    here.pass_time(1000, step=20)
    assert (arms(here), draws(here)) == (NOBODY, [])
    assert not opened(here)


# -- both arms are judged alike: the same window, the same looks ------------------------------------------------------

SLOW = {**QUICK, "settle_s": 20, "verify_timeout_s": 40}


@pytest.mark.parametrize(("stays", "recovered"), [(True, 1), (False, 0)])
def test_what_is_well_before_the_settle_time_counts_by_what_is_measured_after_it(held, stays, recovered):
    """As a heal is not verified by that either."""
    here = failing(held("execute", rule=SLOW))
    here.report(**ACTIVE).turn(1)
    assert arms(here) == NOBODY
    here.pass_time(70, **(ACTIVE if stays else FAILED))
    assert arms(here) == (Arm(), Arm(1, recovered))


@pytest.mark.parametrize("settle_s", [20, 21, 22, 23, 24])
def test_a_window_that_is_short_is_looked_at_in_time(held, settle_s):
    """Else those that recover early would count for nothing, and those that do not would count."""
    here = failing(held("execute", rule={**QUICK, "settle_s": settle_s, "verify_timeout_s": 2}))
    here.report(**ACTIVE).turn(1).pass_time(40, step=0.5, **ACTIVE)
    assert arms(here) == (Arm(), Arm(1, 1))


def test_a_control_that_comes_and_goes_has_to_stay_well_too(held):
    here = failing(held("execute", rule=SLOW))
    here.report(**ACTIVE).turn(1).pass_time(20, **FAILED)
    here.pass_time(1, **ACTIVE)
    assert arms(here) == NOBODY
    here.pass_time(40, **FAILED)
    assert arms(here) == (Arm(), Arm(1, 0))


def test_a_case_that_comes_again_within_a_long_window_is_the_same_trial(held):
    """Else what comes again would count as healed, and never as left alone."""
    here = failing(held("execute", 0.0, 0.9, rule={**QUICK, "settle_s": 300, "cooldown_s": 5}))
    here.report(**ACTIVE).turn(1).pass_time(150, step=10, **ACTIVE).pass_time(120, step=10, **FAILED)
    assert len(here.cases) == 2
    assert here.hosts.sent == []
    here.pass_time(100, step=5, **FAILED)
    assert arms(here) == (Arm(), Arm(1, 0))


def test_a_heal_that_takes_most_of_the_window_has_helped(held):
    here = begun(failing(held("execute", 0.9)))
    here.pass_time(50, step=5, **FAILED).pass_time(5, **ACTIVE)
    assert arms(here) == (Arm(1, 1), Arm())


def test_a_later_step_that_helps_after_the_window_is_no_recovery_within_it(held):
    here = failing(held("execute", 0.9, rule={**QUICK, "escalation_chain": CHAIN}))
    here.heal(**FAILED).heal(**ACTIVE)
    assert (here.trust().verified, here.trust().failed) == (1, 0)
    assert arms(here) == (Arm(1, 0), Arm())


def test_a_heal_that_was_looked_at_only_after_its_window_says_nothing(held):
    """Whether it helped within the window, nobody knows: as of a case that was left alone."""
    here = begun(failing(held("execute", 0.9)))
    here.pass_time(10, step=5, **FAILED).restart().turn(120)
    here.report(**ACTIVE).turn(1)
    assert here.trust().verified == 1
    assert (arms(here), draws(here)) == (NOBODY, [])


# -- what follows from it ----------------------------------------------------------------------------------------------


def test_promotion_asks_for_proof_that_it_helps(held):
    missing = held("approve").node.transact(needs)
    assert any(line.startswith("proof that it helps: 0 of 0") for line in missing)


def needs(root):
    from opsapp.healing.config import HealingSettings
    from opsapp.runtime.node import node_of

    state = healing_of(root)["trust"]["nginx"]
    return state.shown(0.0, node_of(root).config[HealingSettings]).needs


@pytest.mark.parametrize(
    ("known", "words", "why"),
    [
        ({"high": 0.02}, "hardly helps", "Its cases recover about as often by themselves."),
        (
            {"needless": (1e9, 1e9, 1e9)},
            "may have become needless",
            "More of its cases recover by themselves than used to.",
        ),
    ],
)
def test_a_rule_that_is_known_to_help_nothing_or_no_more_asks_people_again(held, known, words, why):
    here = held("execute")
    here.node.transact(know, known)
    failing(here).pass_time(20, step=10, **FAILED)
    here.report(**ACTIVE).turn()
    assert here.trust().current_level == "approve"
    [suggestion] = here.node.transact(lambda root: [*map(plain, healing_of(root)["suggestions"].active())])
    said = "36 of 40 recovered with the heal, 37 of 41 by themselves"
    assert words in suggestion["message"]
    assert said in suggestion["message"]
    assert here.trust().control == (Arm(41, 37) if "high" in known else Arm()), "what changed is learned anew"


def learned(root):
    from opsapp.healing.resources.trials import Healed

    healing = healing_of(root)
    durations = healing.trials.durations_of("nginx", healing["trust"]["nginx"].trust.definition)
    for _ in range(9):
        durations.lasted(30.0, True)
    durations.lasted(600.0, False)
    durations.took(Healed(110, 100))


def test_no_step_but_the_first_is_put_off(ward):
    here = failing(ward({**QUICK, "wait": "learned", "escalation_chain": CHAIN}).at("execute"))
    here.node.transact(learned)
    here.heal(**FAILED)
    assert [phase for phase in here.hosts.phases() if phase != "measure"] == ["snapshot", "execute", "snapshot"]


def test_the_learned_wait_is_waited(ward):
    here = ward({**QUICK, "wait": "learned"}).at("execute")
    here.node.transact(learned)
    failing(here).pass_time(20, step=5, **FAILED)
    assert here.hosts.sent == []
    page = here.service.browser("vera").get(f"/healing/cases/{here.cases[0]['id']}").html.select_one("#next")
    assert "because waiting costs the least downtime" in page.text
    here.pass_time(10, step=1, **FAILED)
    assert here.hosts.phases() == ["snapshot"]
    answer = here.node.transact(worth.wait, "nginx", here.clock.now())
    assert (answer.wait_s, answer.heals) == (30, 1)


def test_the_api_answers_what_is_known(held):
    here = failing(held("execute"))
    here.report(**ACTIVE).turn(1).pass_time(6, **ACTIVE)
    answer = here.service.vera.get("/api/healing/lift?rule_id=nginx").json
    assert answer["control"] == {"n": 1, "recovered": 1}
    assert (answer["treated"], answer["lift"], answer["verdict"]) == ({"n": 0, "recovered": 0}, None, "unknown")
    assert (answer["low"], answer["high"], answer["usual"], answer["saved_minutes"]) == (-1, 1, None, None)
    waits = here.service.vera.get("/api/healing/wait?rule_id=nginx").json
    assert (waits["cases"], waits["recovered"], waits["wait_s"]) == (1, 1, None)
    for path in ("lift", "wait"):
        here.service.vera.get(f"/api/healing/{path}?rule_id=nobody", status=404)
        here.service.vera.get(f"/api/healing/{path}", status=422)
