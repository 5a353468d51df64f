"""Trust governor: who moves, on what evidence, and that nothing lifts a rule above what holds it down."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.healing.logic.levels import LEVELS, rank
from opsapp.healing.stages import trust as governor
from opsapp.healing.stages.trust import Breaker, Refused

from .world import NOW, trust

BREAKER = Breaker()


def after(start, *outcomes, step=60.0):
    """The trust after outcomes that came one `step` apart, and the changes on the way."""
    state, changes = start, []
    for at, outcome in enumerate(outcomes):
        state, change = governor.recorded(state, outcome, NOW + at * step, BREAKER)
        changes += [change] if change else []
    return state, changes


# -- moving by hand ---------------------------------------------------------------------------------------------------


def test_promotion_leads_upward_under_the_ceiling():
    up = governor.promote(trust("notify", "approve"), "approve", NOW)
    assert (up.current_level, up.promoted_at, up.promotion_count, up.since) == ("approve", NOW, 1, NOW)
    with pytest.raises(Refused, match="above the ceiling approve"):
        governor.promote(up, "execute", NOW)
    for level in ("notify", "approve"):
        with pytest.raises(Refused, match="not above"):
            governor.promote(up, level, NOW)


def test_demotion_leads_downward():
    down = governor.demote(trust("execute"), "notify", NOW)
    assert (down.current_level, down.demoted_at, down.demotion_count) == ("notify", NOW, 1)
    for level in ("notify", "approve"):
        with pytest.raises(Refused, match="not below"):
            governor.demote(down, level, NOW)


def test_promotion_and_demotion_begin_new_evidence():
    old = trust("approve", verified=9, failed=2, executions=12, streak=(NOW,), triggers=(NOW,))
    for new in (governor.promote(old, "execute", NOW), governor.demote(old, "notify", NOW)):
        assert (new.verified, new.failed, new.executions, new.streak) == (0, 0, 0, ())
        assert governor.evidence(new, NOW)["triggers_7d"] == 1  # these count days and not levels


def test_triggers_from_before_a_level_was_entered_do_not_lead_on_from_it():
    """Else a rule that the breaker has put back would be promoted again by the very triggers that it failed at."""
    old = trust("execute", triggers=tuple(NOW - at for at in range(20)))
    down = governor.demote(old, "notify", NOW + 1)
    assert governor.needs(down, NOW + 2) == ["10 more triggers within 7 days"]
    assert governor.evidence(down, NOW + 2)["triggers_7d"] == 20
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
    state = trust("notify")
    for at in range(9):
        state = governor.triggered(state, NOW + at)
    state, change = governor.evaluate(state, NOW + 9)
    assert (state.current_level, change, state.last_evaluated) == ("notify", None, NOW + 9)
    assert governor.needs(state, NOW + 9) == ["1 more trigger within 7 days"]
    state, change = governor.evaluate(governor.triggered(state, NOW + 9), NOW + 10)
    assert (state.current_level, state.promotion_count) == ("approve", 1)
    assert change == governor.Change("nginx-down", "notify", "approve", "evidence")


def test_triggers_older_than_seven_days_do_not_count():
    state = trust("notify", triggers=tuple(NOW + at for at in range(10)))
    assert governor.evaluate(state, NOW + 7 * 86400)[1] is not None
    assert governor.evaluate(state, NOW + 7 * 86400 + 1)[1] is None
    assert governor.triggered(state, NOW + 8 * 86400).triggers == (NOW + 8 * 86400,)


def test_kept_triggers_are_bounded():
    state = trust("notify")
    for at in range(governor.KEPT_TRIGGERS + 5):
        state = governor.triggered(state, NOW + at / 1000)
    assert len(state.triggers) == governor.KEPT_TRIGGERS


def test_a_ceiling_stops_automatic_promotion():
    state = trust("notify", "notify", triggers=(NOW,) * 20)
    assert governor.evaluate(state, NOW) == (state._replace(last_evaluated=NOW), None)
    assert governor.needs(state, NOW) == ["a ceiling above notify"]


@pytest.mark.parametrize("level", ["observation", "dry-run"])
def test_the_low_levels_are_left_by_hand_only(level):
    state = trust(level, triggers=(NOW,) * 20)
    assert governor.needs(state, NOW) == ["promotion by an admin"]
    assert governor.evaluate(state, NOW)[1] is None


@pytest.mark.parametrize(
    ("verified", "failed", "missing"),
    [
        (0, 0, ["10 more verified or failed executions", "a lower bound above 75%, now 0%"]),
        (9, 0, ["1 more verified or failed executions", "a lower bound above 75%, now 56%"]),
        (10, 0, ["a lower bound above 75%, now 58%"]),
        (60, 12, ["a success rate of 85%, now 83 %", "a lower bound above 75%, now 66%"]),
        (40, 0, []),
    ],
)
def test_what_is_missing_for_execute(verified, failed, missing):
    state = trust("approve", verified=verified, failed=failed)
    assert governor.needs(state, NOW) == missing
    assert (governor.evaluate(state, NOW)[0].current_level == "execute") is (not missing)


def test_nothing_is_above_execute():
    assert governor.needs(trust("execute"), NOW) == []
    assert governor.evaluate(trust("execute"), NOW)[1] is None


def test_evidence_in_figures():
    state, _ = after(trust("approve"), *["verified"] * 10, "inconclusive", "failed")
    assert governor.evidence(state, NOW) == {
        "triggers_7d": 0,
        "executions": 12,
        "verified": 10,
        "failed": 1,
        "sequential_bound": 48.61,
    }


# -- breaker ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcomes", "step", "trips"),
    [
        (["failed"] * 3, 60, True),
        (["failed", "rolled_back", "failed"], 60, True),
        (["failed"] * 2, 60, False),
        (["failed", "failed", "verified", "failed"], 60, False),
        (["failed", "failed", "verified", *["failed"] * 3], 60, True),
        (["failed"] * 3, 1800, True),
        (["failed"] * 3, 1801, False),
        (["failed"] * 9, 1801, False),
        (
            ["failed", "inconclusive", "failed", "lost", "failed"],
            60,
            True,
        ),  # not known: neither counts nor interrupts
    ],
)
def test_three_failures_in_a_row_within_an_hour_trip_the_breaker(outcomes, step, trips):
    state, changes = after(trust("execute"), *outcomes, step=step)
    assert [change.cause for change in changes] == ["circuit_breaker"] * trips
    assert state.current_level == ("notify" if trips else "execute")


def test_the_breaker_guards_automatic_action_only():
    state, changes = after(trust("approve"), *["failed"] * 5)
    assert (state.current_level, changes) == ("approve", [])


def test_promotion_forgets_the_streak():
    state, _ = after(trust("approve"), "failed", "failed")
    state = governor.promote(state, "execute", NOW + 200)
    assert governor.recorded(state, "failed", NOW + 201, BREAKER)[1] is None


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["verified", "failed", "rolled_back", "inconclusive", "lost"]), st.integers(0, 2500)
        ),
        max_size=30,
    )
)
def test_the_breaker_against_its_definition(history):
    """An independent reading: look back over the known outcomes since the promotion."""
    state, now, known = trust("execute"), NOW, []
    for outcome, pause in history:
        now += pause
        state, change = governor.recorded(state, outcome, now, BREAKER)
        if outcome in ("verified", "failed", "rolled_back"):
            known.append((outcome, now))
        last = known[-3:]
        expected = (
            outcome in ("failed", "rolled_back")
            and len(last) == 3
            and all(one != "verified" for one, _ in last)
            and last[-1][1] - last[0][1] <= 3600
        )
        assert (change is not None) is expected
        if expected:
            return


# -- the effective level ----------------------------------------------------------------------------------------------


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
