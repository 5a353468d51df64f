"""Both arms of a trial are judged alike: whatever becomes of the heal, the condition is measured within the window."""

import pytest

from opsapp.healing.logic.changes import hour_of
from opsapp.healing.logic.lift import Arm
from opsapp.healing.resources.rules import put_rule
from tests.engine.healing import QUICK
from tests.engine.test_healing_lift import ACTIVE, CHAIN, FAILED, NOBODY, TWO, approve, arms, draws, failing, opened
from tests.support.dependencies import depend
from tests.support.hosts import place

TREATED, CONTROL = 0.9, 0.0  # what the coin says


def asked(here):
    """The host has been asked for the action, after a snapshot."""
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    return here.turn(1)


def counted(side, recovered):
    return (Arm(1, recovered), Arm()) if side == TREATED else (Arm(), Arm(1, recovered))


@pytest.fixture
def under_way(held):
    """A case by the side on which its coin fell; of a treated one the action runs."""

    def make(side, rule=QUICK, level="execute"):
        here = failing(held(level, side, rule=rule))
        if level == "approve":
            approve(here).turn(1)
        return asked(here) if side == TREATED else here

    return make


# -- ends of a heal after its coin -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("well", "recovered"), [(ACTIVE, 1), (FAILED, 0)])
@pytest.mark.parametrize("status", ["lost", "failed", "expired"])
def test_a_heal_of_which_nobody_can_tell_whether_it_was_done_is_judged_by_what_is_measured(
    under_way, status, well, recovered
):
    """To drop it would be a choice after the coin: what went wrong would never count against the heal."""
    here = under_way(TREATED)
    here.hosts.finish("execute", status=status, reason="the agent died")
    here.turn(1)
    assert here.cases[0]["state"] == "closed"
    assert (arms(here), len(draws(here))) == (NOBODY, 1)
    here.pass_time(65, step=1, **well)
    assert (arms(here), draws(here)) == (counted(TREATED, recovered), [])
    here.pass_time(65, step=5, **ACTIVE)
    assert not opened(here)


def test_a_case_that_is_left_alone_counts_at_the_hour_of_its_coin(under_way):
    """By the store: the hour is committed with the coin."""
    here = under_way(CONTROL)
    hour = hour_of(here.service.clock.now())
    here.pass_time(70, step=5, **FAILED)
    hours = here.trust().bets.hours
    assert (arms(here), sum(hours.n), hours.n[hour]) == (counted(CONTROL, 0), 1, 1)


def test_a_heal_that_does_not_answer_is_judged_at_the_end_of_the_window(under_way):
    here = under_way(TREATED)
    here.pass_time(70, step=5, **FAILED)
    assert here.cases[0]["state"] == "executing"
    assert arms(here) == counted(TREATED, 0)


def test_a_heal_that_nobody_could_verify_is_judged_when_its_host_is_heard_again(under_way):
    here = under_way(TREATED)
    here.hosts.finish("execute", handler="systemctl")
    here.turn(1).turn(10).turn(60).turn(60)
    assert here.cases[0]["outcome"] == "inconclusive"
    assert (arms(here), len(draws(here))) == (NOBODY, 1)
    here.clock.advance(5)
    here.report(**FAILED).turn()
    assert (arms(here), draws(here)) == (counted(TREATED, 0), [])


@pytest.mark.parametrize("side", [TREATED, CONTROL])
def test_a_host_that_stays_silent_counts_in_neither_arm(under_way, side):
    here = under_way(side)
    here.hosts.looks_back = False
    if side == TREATED:
        here.hosts.finish("execute", handler="systemctl")
    here.pass_time(1000, step=20)
    assert (arms(here), draws(here)) == (NOBODY, [])
    assert not opened(here)


def test_a_heal_that_makes_it_well_for_a_while_is_judged_at_the_first_proof(under_way):
    here = under_way(TREATED)
    here.hosts.finish("execute", handler="systemctl")
    here.turn(1).turn(6)
    here.report(**ACTIVE).turn(1)
    assert arms(here) == counted(TREATED, 1)


# -- what comes in between ---------------------------------------------------------------------------------------------


def paused(here):
    here.service.otto.put_json("/api/healing/pause", {"paused": True})


def disabled(here):
    here.node.transact(write, {**QUICK, "enabled": False}, here.clock.now())


def write(root, rule, now):
    from opsapp.healing.records import RuleSettings
    from opsapp.wire.records import made

    put_rule(root, rule["id"], made(RuleSettings, {"initial_level": "notify", **rule}), source="api", now=now)


def demoted(here):
    here.at("notify")


@pytest.mark.parametrize("change", [disabled, demoted])
@pytest.mark.parametrize(("well", "recovered"), [(ACTIVE, 1), (FAILED, 0)])
@pytest.mark.parametrize("side", [TREATED, CONTROL])
def test_a_change_after_the_coin_drops_neither_arm(held, side, change, well, recovered):
    """The arm was drawn: what became of the plan afterwards is a part of what follows from it."""
    here = failing(held("execute", side))
    change(here)
    if side == TREATED:
        asked(here)
    here.pass_time(65, step=1, **well)
    here.pass_time(5, step=1, **well)
    assert (arms(here), draws(here)) == (counted(side, recovered), [])


@pytest.mark.parametrize("side", [TREATED, CONTROL])
def test_what_recovers_before_anything_is_done_counts_in_both_arms(held, side):
    here = failing(held("execute", side))
    here.report(**ACTIVE)
    if side == TREATED:
        asked(here)
    here.pass_time(20, step=1, **ACTIVE)
    assert (arms(here), draws(here)) == (counted(side, 1), [])
    assert here.hosts.phases()[1:] == []


@pytest.mark.parametrize("side", [TREATED, CONTROL])
def test_a_kill_within_the_window_drops_neither_arm(under_way, side):
    here = under_way(side)
    here.restart().pass_time(70, step=2, **FAILED)
    assert (arms(here), draws(here)) == (counted(side, 0), [])


@pytest.mark.parametrize("side", [TREATED, CONTROL])
def test_an_approved_case_that_the_service_cannot_work_any_more_is_judged_by_its_arm(under_way, side):
    from opsapp.healing.engine.pipeline import drop_case

    here = under_way(side, level="approve")
    engine, [case] = here.engine, here.cases
    here.node.transact(
        drop_case, here.clock.now(), engine.inventory, engine.alerts.watching.failing(), case["id"], "a fault"
    )
    assert here.cases[0]["outcome"] == "lost"
    here.pass_time(65, step=1, **FAILED)
    assert (arms(here), draws(here)) == (counted(side, 0), [])


def test_a_case_of_the_same_target_within_the_window_belongs_to_the_trial(held):
    """Else whatever fails at once would be followed by a coin more, and end the trial before it is judged."""
    here = asked(failing(held("execute", TREATED, CONTROL, rule={**QUICK, "settle_s": 200, "cooldown_s": 5})))
    here.hosts.finish("execute", status="failed", exit_code=1)
    here.turn(1).pass_time(340, step=5, **FAILED)
    assert len(here.cases) == 2
    assert here.hosts.phases().count("snapshot") == 2, "the second case is treated as the first one is"
    assert (arms(here), draws(here)) == (counted(TREATED, 0), [])


@pytest.mark.parametrize("side", [TREATED, CONTROL])
def test_another_heal_on_the_host_drops_neither_arm(held, side):
    """Which of two heals goes first depends on the coin of the one."""
    here = failing(held("execute", side, rule={**QUICK, "settle_s": 30, "verify_timeout_s": 30}))
    other = {**QUICK, "id": "redis", "condition": 'service.redis.state == "failed"', "holdout": {"share": 0}}
    here.node.transact(write, other, here.clock.now())
    here.at("execute", "redis")
    here.report(**FAILED, service__redis__state="failed").turn().turn(6)
    if side == TREATED:
        asked(here)
        here.hosts.finish("execute", status="failed", exit_code=1)
        here.turn(1)
    here.turn(6)
    here.heal(**FAILED, service__redis__state="active")
    here.pass_time(60, step=1, **FAILED, service__redis__state="active")
    assert here.trust("redis").verified == 1
    assert (arms(here), draws(here)) == (counted(side, 0), [])


def test_a_later_step_that_helps_within_the_window_has_helped(held):
    here = asked(failing(held("execute", TREATED, rule={**QUICK, "escalation_chain": CHAIN})))
    here.hosts.finish("execute", status="failed", exit_code=1)
    here.turn(1).heal(**ACTIVE)
    assert arms(here) == counted(TREATED, 1)


def test_a_rule_whose_heals_take_long_has_a_window_in_which_they_can_help(held):
    """Else an action that runs for minutes would be judged before it is done, and a case left alone for less."""
    here = asked(failing(held("execute", TREATED, CONTROL)))
    here.pass_time(100, step=10, **FAILED)
    here.hosts.finish("execute", handler="systemctl")
    here.turn(1).turn(6)
    here.report(**ACTIVE).turn(1)
    assert arms(here) == counted(TREATED, 0)
    here.pass_time(200, step=20, **ACTIVE)
    failing(here)
    [left] = [case["left_until"] for case in here.cases if case["arm"] == "control"]
    assert left - here.clock.now() == pytest.approx(108, abs=3)


# -- one root cause is one outage --------------------------------------------------------------------------------------


DB = {"id": "db", "condition": "ill == 1", "action": {"type": "clear_cache"}, "holdout": {"share": 0}}
GRAPH = [{"target": "db"}, *({"target": name, "depends_on": ["db"]} for name in ("box-1", "box-2"))]


@pytest.fixture
def below(held):
    """Two hosts hang on a third one. What fails there 200 s apart is held back as long as the third one is ill."""
    here = held("execute", TREATED, CONTROL, waves="off", places=(*TWO, place("db", "a3")))
    here.node.transact(write, DB, here.clock.now())
    here.at("approve", "db")
    here.node.transact(lambda root: depend(root, GRAPH))
    return here


def goes_on(here, seconds, ill, **states):
    for _ in range(seconds):
        here.clock.advance(1)
        here.report("agent:a3", ill=ill)
        for agent_id, state in states.items():
            here.report(f"agent:{agent_id}", **state)
        here.turn()
    return here


@pytest.mark.parametrize("shares", [True, False])
def test_two_cases_that_share_a_root_share_a_coin_however_far_apart_they_began(below, shares):
    goes_on(below, 10, 1, a1=ACTIVE, a2=ACTIVE)
    goes_on(below, 10, 1, a1=FAILED, a2=FAILED if shares else ACTIVE)
    held = {(entry["target"], entry["reason"]) for entry in below.ledger if entry["outcome"] == "suppressed"}
    assert ("box-1/nginx", "root cause db: depends on box-1 → db") in held
    assert len(held) == 1 + shares
    goes_on(below, 1, 0, a1=FAILED)
    over(below)
    goes_on(below, 200, 0, a1=FAILED)  # the other one is silent
    assert below.hosts.phases() == ["snapshot"], "what held back the first is over"
    goes_on(below, 20, 0, a1=FAILED, a2=FAILED)
    assert below.hosts.phases().count("snapshot") == 1 + shares


def over(here):
    """Somebody says that nothing is to be done about the root cause any more."""
    [pending] = here.service.vera.get("/api/approvals").json
    here.service.otto.post_json(f"/api/approvals/{pending['request_id']}/reject", {"comment": "it is well"})
    here.turn()
