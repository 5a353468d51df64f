"""Trust governor: who moves, on what evidence, and that nothing lifts a rule above what holds it down."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.healing.config import ChangeSettings, HealingSettings, HoldoutSettings, PromotionSettings, TrialSettings
from opsapp.healing.logic.changes import NOTHING
from opsapp.healing.logic.levels import LEVELS, rank
from opsapp.healing.logic.lift import NO_EFFECT, Arm, Bets, Draw, Trials
from opsapp.healing.stages import trust as governor
from opsapp.healing.stages.attempt import Tried, comes_to
from opsapp.healing.stages.trust import LevelRefused
from opsapp.wire.records import plain

from .world import NOW, trust

NO_LIFT = HoldoutSettings(share=0)  # what is asked of lift has tests of its own
PROMOTION, LIMITS = PromotionSettings(), HealingSettings(holdout=NO_LIFT)
APART = 200.0  # seconds: two outages, and not one
BREAKER_ALONE = HealingSettings(change=ChangeSettings(threshold=1e9), holdout=NO_LIFT)


def outages(count, first):
    """When so many outages began."""
    return tuple(first + number * APART for number in range(count))


def after(start, *outcomes, step=60.0, limits=LIMITS):
    """The trust after cases that came one `step` apart, and the changes on the way."""
    state, changes = start, []
    for at, outcome in enumerate(outcomes):
        state, change = governor.recorded(state, outcome, NOW + at * step, limits)
        changes += [change] if change else []
    return state, changes


# -- moving by hand ---------------------------------------------------------------------------------------------------


def test_promotion_leads_upward_under_the_ceiling():
    up = governor.promote(trust("notify", "approve"), "approve", NOW)
    assert (up.current_level, up.promoted_at, up.promotion_count, up.since) == ("approve", NOW, 1, NOW)
    with pytest.raises(LevelRefused, match="above the ceiling approve"):
        governor.promote(up, "execute", NOW)
    for level in ("notify", "approve"):
        with pytest.raises(LevelRefused, match="not above"):
            governor.promote(up, level, NOW)


def test_demotion_leads_downward():
    down = governor.demote(trust("execute"), "notify", NOW)
    assert (down.current_level, down.demoted_at, down.demotion_count) == ("notify", NOW, 1)
    for level in ("notify", "approve"):
        with pytest.raises(LevelRefused, match="not below"):
            governor.demote(down, level, NOW)


def test_promotion_and_demotion_begin_new_evidence():
    old = trust("approve", verified=9, failed=2, executions=12, streak=(NOW,), triggers=(NOW,))
    for new in (governor.promote(old, "execute", NOW), governor.demote(old, "notify", NOW)):
        assert (new.verified, new.failed, new.executions, new.streak) == (0, 0, 0, ())
        assert governor.evidence(new, NOW, LIMITS).triggers_7d == 1  # these count days and not levels


def test_triggers_from_before_a_level_was_entered_do_not_lead_on_from_it():
    """Else a rule that the breaker has put back would be promoted again by the very triggers that it failed at."""
    old = trust("execute", triggers=outages(20, NOW - 19 * APART))
    down = governor.demote(old, "notify", NOW + 1)
    assert governor.needs(down, NOW + 2, LIMITS) == ["10 more outages within 7 days"]
    assert governor.evidence(down, NOW + 2, LIMITS).triggers_7d == 20
    assert governor.redefine(old, "other", "execute", NOW + 1).triggers == ()  # evidence belongs to the definition


# -- edits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "definition", "ceiling", "becomes"),
    [
        ("execute", "other", "execute", "notify"),
        ("dry-run", "other", "execute", "dry-run"),
        ("execute", None, "approve", "approve"),
        ("execute", None, "execute", "execute"),
        ("approve", "other", "observation", "observation"),
    ],
)
def test_an_edit_that_changes_what_a_rule_does_costs_its_trust(level, definition, ceiling, becomes):
    old = trust(level, verified=30)
    new = governor.redefine(old, definition or old.definition, ceiling, NOW)
    assert (new.current_level, new.ceiling, new.definition) == (becomes, ceiling, definition or old.definition)
    assert new.verified == (30 if definition is None and becomes == level else 0)


# -- evidence ---------------------------------------------------------------------------------------------------------


def test_ten_triggers_within_seven_days_lead_from_notify_to_approve():
    state, last = trust("notify"), NOW + 9 * APART
    for at in outages(9, NOW):
        state = governor.triggered(state, at, PROMOTION)
    state, change = governor.evaluate(state, last, LIMITS)
    assert (state.current_level, change, state.last_evaluated) == ("notify", None, last)
    assert governor.needs(state, last, LIMITS) == ["1 more outage within 7 days"]
    state, change = governor.evaluate(governor.triggered(state, last, PROMOTION), last + 1, LIMITS)
    assert (state.current_level, state.promotion_count) == ("approve", 1)
    assert change == governor.LevelChange("nginx-down", "evidence")


def test_triggers_older_than_seven_days_do_not_count():
    state = trust("notify", triggers=outages(10, NOW))
    assert governor.evaluate(state, NOW + 7 * 86400, LIMITS)[1] is not None
    assert governor.evaluate(state, NOW + 7 * 86400 + 1, LIMITS)[1] is None
    assert governor.triggered(state, NOW + 8 * 86400, PROMOTION).triggers == (NOW + 8 * 86400,)


def test_kept_triggers_are_bounded():
    state = trust("notify")
    for at in outages(governor.KEPT_TRIGGERS + 5, NOW):
        state = governor.triggered(state, at, PROMOTION)
    assert len(state.triggers) == governor.KEPT_TRIGGERS
    for number in range(governor.KEPT_ROOTS + 5):
        state = governor.triggered(state, at, PROMOTION, root=str(number))
    assert len(state.roots) == governor.KEPT_ROOTS


def test_what_begins_together_is_one_outage_on_however_many_hosts():
    state = trust("notify")
    for at in (0, 1, 119, 120, -5, 121, 200, 300):
        state = governor.triggered(state, NOW + at, PROMOTION)
    assert state.triggers == (NOW, NOW + 121, NOW + 300)


def test_what_has_one_root_cause_is_one_outage_whenever_it_begins():
    state = trust("notify")
    for at, root in ((0, "case-1"), (500, "case-1"), (900, "case-2"), (1300, ""), (1700, "")):
        state = governor.triggered(state, NOW + at, PROMOTION, root=root)
    assert state.triggers == (NOW, NOW + 900, NOW + 1300, NOW + 1700)


def test_of_an_older_store_the_hosts_of_an_outage_count_once():
    state = trust("notify", triggers=tuple(NOW + at for at in range(24)))
    assert governor.evaluate(state, NOW + 30, LIMITS)[1] is None
    assert governor.evidence(state, NOW + 30, LIMITS).triggers_7d == 1


def test_a_ceiling_stops_automatic_promotion():
    state = trust("notify", "notify", triggers=outages(10, NOW - 9 * APART))
    assert governor.evaluate(state, NOW, LIMITS) == (state._replace(last_evaluated=NOW), None)
    assert governor.needs(state, NOW, LIMITS) == ['a higher ceiling than notify ("Never above" in the rule)']


@pytest.mark.parametrize("level", ["observation", "dry-run"])
def test_the_low_levels_are_left_by_hand_only(level):
    state = trust(level, triggers=outages(10, NOW - 9 * APART))
    assert governor.needs(state, NOW, LIMITS) == ["promotion by an admin"]
    assert governor.evaluate(state, NOW, LIMITS)[1] is None


@pytest.mark.parametrize(
    ("verified", "failed", "missing"),
    [
        (0, 0, ["10 heals with a known result, now 0", "a success rate above 75 % with 95 % confidence, now 0 %"]),
        (9, 0, ["10 heals with a known result, now 9", "a success rate above 75 % with 95 % confidence, now 56 %"]),
        (10, 0, ["a success rate above 75 % with 95 % confidence, now 58 %"]),
        (60, 12, ["a success rate of 85 %, now 83 %", "a success rate above 75 % with 95 % confidence, now 66 %"]),
        (40, 0, []),
    ],
)
def test_what_is_missing_for_execute(verified, failed, missing):
    state = trust("approve", verified=verified, failed=failed)
    assert governor.needs(state, NOW, LIMITS) == missing
    assert (governor.evaluate(state, NOW, LIMITS)[0].current_level == "execute") is (not missing)


def test_nothing_is_above_execute():
    assert governor.needs(trust("execute"), NOW, LIMITS) == []
    assert governor.evaluate(trust("execute"), NOW, LIMITS)[1] is None


def test_evidence_in_figures():
    state, _ = after(trust("approve"), *["verified"] * 10, "inconclusive", "failed")
    assert plain(governor.evidence(state, NOW, LIMITS)) == {
        "triggers_7d": 0,
        "executions": 12,
        "verified": 10,
        "failed": 1,
        "sequential_bound": 48.61,
        "bad": 0.0,
        "needless": 0.0,
        "alarm": 500.0,
        "lift_low": -1.0,
    }


# -- breaker ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcomes", "step", "trips"),
    [
        (["failed"] * 3, 60, True),
        (["failed", "inconclusive", "failed"], 60, False),
        (["failed"] * 2, 60, False),
        (["failed", "failed", "verified", "failed"], 60, False),
        (["failed", "failed", "verified", *["failed"] * 3], 60, True),
        (["failed"] * 3, 1800, True),
        (["failed"] * 3, 1801, False),
        (["failed"] * 9, 1801, False),
        # Not known: neither counts nor interrupts.
        (["failed", "inconclusive", "failed", "inconclusive", "failed"], 60, True),
    ],
)
def test_three_failures_in_a_row_within_an_hour_trip_the_breaker(outcomes, step, trips):
    state, changes = after(trust("execute"), *outcomes, step=step, limits=BREAKER_ALONE)
    assert [change.cause for change in changes] == ["circuit_breaker"] * trips
    assert state.current_level == ("notify" if trips else "execute")


def test_the_breaker_guards_automatic_action_only():
    state, changes = after(trust("approve"), *["failed"] * 5)
    assert (state.current_level, changes) == ("approve", [])


def test_promotion_forgets_the_streak():
    state, _ = after(trust("approve"), "failed", "failed")
    state = governor.promote(state, "execute", NOW + 200)
    assert governor.recorded(state, "failed", NOW + 201, LIMITS)[1] is None


@given(st.lists(st.tuples(st.sampled_from(["verified", "failed", "inconclusive"]), st.integers(0, 2500)), max_size=30))
def test_the_breaker_against_its_definition(history):
    """An independent reading: look back over the known outcomes since the promotion."""
    state, now, known = trust("execute"), NOW, []
    for outcome, pause in history:
        now += pause
        state, change = governor.recorded(state, outcome, now, BREAKER_ALONE)
        if outcome in ("verified", "failed"):
            known.append((outcome, now))
        last = known[-3:]
        expected = (
            outcome == "failed"
            and len(last) == 3
            and all(one != "verified" for one, _ in last)
            and last[-1][1] - last[0][1] <= 3600
        )
        assert (change is not None) is expected
        if expected:
            return


# -- fewer are healed than promotion asks for --------------------------------------------------------------------------


def days(state, verified, drawn=False):
    """Cases a day apart, until one changes the level: the trust, the change, and how many they were."""
    for count, good in enumerate(verified, 1):
        state, change = governor.recorded(
            state, "verified" if good else "failed", NOW + count * 86400, LIMITS, drawn=drawn
        )
        if change is not None:
            return state, change, count
    return state, None, len(verified)


def dice(rate, seed, limit):
    chance = random.Random(seed)
    return [chance.random() < rate for _ in range(limit)]


@pytest.mark.no_cover
def test_a_rule_that_goes_bad_slowly_is_put_back_to_approve():
    """However far apart the cases are: the breaker sees none of it."""
    ends = sorted(days(trust("execute"), [True] * 50 + dice(0.60, seed, 500))[2] - 50 for seed in range(200))
    assert ends[100] <= 60


@pytest.mark.parametrize("rate", [0.9, 0.97])
@pytest.mark.no_cover
def test_a_rule_that_helps_as_often_as_ever_stays(rate):
    ends = [days(trust("execute"), dice(rate, f"{rate} {seed}", 500))[1] for seed in range(100)]
    assert sum(change is not None for change in ends) <= 2


def test_failures_far_apart_demote_to_approve_and_evidence_begins_anew():
    known = trust("execute").tried(Trials(Arm(40, 36), Arm(9, 3), Bets(low=0.2)))
    state, change, count = days(known, [False] * 20)
    assert (change.cause, count) == ("bad", 6)
    assert (state.current_level, state.bad, state.failed, state.demotion_count) == ("approve", NOTHING, 0, 1)
    assert state.trials == Trials()


def test_what_a_coin_has_drawn_counts_when_its_trial_is_judged():
    state, change, _ = days(trust("execute"), [False] * 20, drawn=True)
    assert (change, state.bad) == (None, NOTHING)
    treated, alone = Draw(0.1, 0.5, True), Draw(0.1, 0.5, False)
    for draw in (alone, *[treated] * 6):
        trials, healed = state.trials.added(draw, False), False if draw.treated else None
        state, change = governor.after_trial(state, trials, healed, NOW, HealingSettings())
    assert change == ("nginx-down", "bad")
    assert (state.current_level, state.trials) == ("approve", Trials())


def test_the_breaker_goes_before_that():
    state, (change,) = after(trust("execute"), *["failed"] * 3)
    assert (state.current_level, change.cause) == ("notify", governor.BREAKER)


def test_that_guards_automatic_action_only():
    state, changes = after(trust("approve"), *["failed"] * 9, step=7200)
    assert (state.current_level, changes, state.bad) == ("approve", [], NOTHING)


def test_what_was_bet_at_one_level_is_forgotten_at_the_next_one():
    state, _ = after(trust("execute"), "failed")
    assert max(state.bad) > 1
    assert governor.promote(governor.demote(state, "approve", NOW), "execute", NOW).bad == NOTHING


# -- one case is one attempt ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("judged", "outcome", "result"),
    [
        ([], "failed", None),
        ([], "skipped", None),
        (["verified"], "verified", "verified"),
        (["failed", "failed", "failed", "verified"], "verified", "verified"),
        (["failed", "failed", "failed"], "failed", "failed"),
        (["failed", "rolled_back"], "rolled_back", "failed"),
        (["failed"], "skipped", "failed"),  # no step was left that might help
        (["inconclusive", "failed"], "failed", "failed"),
        (["inconclusive"], "failed", "inconclusive"),  # the next step could not begin
        (["failed", "inconclusive"], "inconclusive", "inconclusive"),
        (["failed", "lost"], "lost", "inconclusive"),
        (["failed"], "suppressed", "inconclusive"),  # paused after the first step
        (["failed"], "withdrawn", "inconclusive"),  # well by itself
        (["failed"], "rejected", "inconclusive"),
    ],
)
def test_what_the_steps_of_a_case_come_to(judged, outcome, result):
    assert comes_to([Tried(one, "same") for one in judged], outcome, "same") == result


def test_steps_of_another_definition_are_no_evidence():
    steps = [Tried("failed", "old"), Tried("failed", "new")]
    assert comes_to(steps[:1], "failed", "new") is None
    assert comes_to(steps, "failed", "new") == "failed"
    assert comes_to([Tried("verified", None)], "verified", "new") == "verified"


# -- the effective level ----------------------------------------------------------------------------------------------


# -- what trials say --------------------------------------------------------------------------------------------------

TRIALS_COUNT = HealingSettings()
OFF = [HealingSettings(trial=TrialSettings(share=0)), HealingSettings(holdout=NO_LIFT)]
NEEDLESS = Trials(Arm(40, 36), Arm(40, 36), Bets(low=0.2, needless=(1e9, 1e9, 1e9)))
USELESS = Trials(Arm(40, 36), Arm(40, 36), Bets(high=NO_EFFECT - 0.01))


@pytest.mark.parametrize(("trials", "cause", "left"), [(NEEDLESS, "needless", Trials()), (USELESS, "no_lift", USELESS)])
def test_what_helps_hardly_or_no_more_is_asked_about_again(trials, cause, left):
    after, change = governor.judged(trust("execute").tried(trials), NOW, TRIALS_COUNT)
    assert change.cause == cause
    assert (after.current_level, after.trials) == ("approve", left)


@pytest.mark.parametrize("level", ["notify", "approve"])
def test_below_execute_what_has_become_needless_is_only_learned_anew(level):
    """Its old proof would lift it for a moment."""
    after, change = governor.judged(trust(level).tried(NEEDLESS), NOW, TRIALS_COUNT)
    assert (change, after.current_level, after.trials) == (None, level, Trials())
    assert governor.judged(trust(level).tried(USELESS), NOW, TRIALS_COUNT) == (trust(level).tried(USELESS), None)


@pytest.mark.parametrize("settings", OFF)
@pytest.mark.parametrize("trials", [NEEDLESS, USELESS])
def test_without_trials_nothing_is_judged_by_them(settings, trials):
    known = trust("execute").tried(trials)
    assert governor.judged(known, NOW, settings) == (known, None)


@pytest.mark.parametrize(("settings", "asks"), [(TRIALS_COUNT, True), (OFF[0], False), (OFF[1], False)])
def test_promotion_asks_for_proof_that_it_helps(settings, asks):
    good = trust("approve")._replace(verified=60, executions=60)
    assert bool(governor.needs(good, NOW, settings)) is asks
    assert not governor.needs(good.tried(Trials(bets=Bets(low=0.01))), NOW, settings)


def test_an_edit_of_what_it_does_begins_the_comparison_anew():
    known = trust("approve").tried(USELESS)
    assert governor.redefine(known, "other", "execute", NOW).trials == Trials()
    assert governor.redefine(known, known.definition, "execute", NOW).trials == USELESS


@pytest.mark.parametrize(
    ("level", "ceiling", "source", "caps", "effective"),
    [
        ("execute", "execute", "alert", [], "execute"),
        ("execute", "execute", "prediction", [], "approve"),
        ("observation", "execute", "anomaly", [], "observation"),
        ("execute", "execute", "alert", [("notify", "brake")], "notify"),
        ("execute", "execute", "prediction", [("approve", "window")], "approve"),
        ("notify", "execute", "alert", [("approve", "window")], "notify"),
    ],
)
def test_effective_level(level, ceiling, source, caps, effective):
    assert governor.effective(trust(level, ceiling), source=source, caps=caps).level == effective


@given(
    st.sampled_from(LEVELS),
    st.sampled_from(LEVELS),
    st.sampled_from(["alert", "prediction", "anomaly", "agent"]),
    st.lists(st.tuples(st.sampled_from(LEVELS), st.text(max_size=3)), max_size=4),
)
def test_nothing_lifts_a_rule_above_what_holds_it_down(level, ceiling, source, caps):
    found = governor.effective(trust(level, ceiling), source=source, caps=caps)
    assert rank(found.level) <= min([rank(level), rank(ceiling), *(rank(cap) for cap, _ in caps)])
    if source in ("prediction", "anomaly"):
        assert rank(found.level) <= max(rank(level) - 1, 0)
    if rank(found.level) < rank(level):
        assert found.reasons
