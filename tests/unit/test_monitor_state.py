"""What a check means: retries before down, one incident, unknown and maintenance that open none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.monitoring.logic.state import Seen, Standing, Thresholds, hold, judge, spacing, steady

GOOD, BAD, BLIND = Seen(True, 12.0), Seen(False, None, "HTTP 500"), Seen(None, None, "own network gone")
RULES = Thresholds(interval=60, timeout=10, retries=2, degraded_ms=100)


def walk(seens, rules=RULES, standing=None, in_window=False):
    """The verdicts over several checks, a minute apart."""
    standing, verdicts = standing or Standing(), []
    for n, seen in enumerate(seens):
        verdict = judge(standing, seen, rules, 1000.0 + 60 * n, in_window=in_window)
        standing = verdict.standing
        verdicts.append(verdict)
    return verdicts


def statuses(verdicts):
    return [verdict.standing.status for verdict in verdicts]


def incidents(verdicts):
    return [verdict.incident for verdict in verdicts if verdict.incident]


def test_down_comes_after_the_retries_and_opens_one_incident():
    verdicts = walk([GOOD, BAD, BAD, BAD, BAD, BAD])
    assert statuses(verdicts) == ["up", "up", "up", "down", "down", "down"]
    assert incidents(verdicts) == ["open"]
    assert [verdict.retry_in for verdict in verdicts] == [None, 10.0, 10.0, None, None, None]
    assert verdicts[3].standing.cause == "HTTP 500"


def test_a_hiccup_opens_nothing_and_commits_nothing():
    verdicts = walk([GOOD, BAD, GOOD, BAD, BAD, GOOD])
    assert statuses(verdicts) == ["up"] * 6
    assert incidents(verdicts) == []
    assert [verdict.changed for verdict in verdicts] == [True, False, False, False, False, False]


def test_without_retries_the_first_failure_counts():
    assert statuses(walk([BAD], Thresholds(retries=0))) == ["down"]


def test_one_good_check_resolves():
    verdicts = walk([BAD, BAD, BAD, GOOD])
    assert statuses(verdicts) == ["pending", "pending", "down", "up"]
    assert incidents(verdicts) == ["open", "resolve"]
    assert not verdicts[-1].standing.alarmed


def test_spacing_is_a_quarter_of_the_interval_up_to_ten_seconds():
    assert spacing(Thresholds(interval=20)) == 5
    assert spacing(Thresholds(interval=3600)) == 10
    assert spacing(Thresholds(interval=3600, retry_spacing_s=30)) == 30


def test_a_failed_check_before_its_time_is_no_re_check():
    """The regular check of a new monitor came 2.1 s after its first one, and `down` 10 s too early."""
    first = judge(Standing(), BAD, RULES, 1000.0)
    assert (first.standing.failures, first.retry_in) == (1, 10.0)
    early = judge(first.standing, BAD, RULES, 1002.1)
    assert (early.standing.failures, early.retry_in) == (1, pytest.approx(7.9))
    second = judge(early.standing, BAD, RULES, 1010.0)
    assert (second.standing.failures, second.retry_in, second.standing.status) == (2, 10.0, "pending")
    third = judge(second.standing, BAD, RULES, 1020.0)
    assert (third.standing.status, third.incident) == ("down", "open")


def test_re_checks_are_spaced_from_end_to_beginning():
    first = judge(Standing(), BAD, RULES, 1010.0, began=1000.0)
    assert judge(first.standing, BAD, RULES, 1029.0, began=1019.0).standing.failures == 1
    assert judge(first.standing, BAD, RULES, 1030.0, began=1020.0).standing.failures == 2


def test_a_good_check_before_its_time_ends_the_doubt():
    first = judge(Standing("up"), BAD, RULES, 1000.0)
    assert judge(first.standing, GOOD, RULES, 1002.0).standing.failures == 0


def test_a_clock_that_was_set_back_holds_up_no_re_check():
    first = judge(Standing("up"), BAD, RULES, 5000.0)
    again = judge(first.standing, BAD, RULES, 1000.0)
    assert (again.standing.failures, again.retry_in) == (2, 10.0)


def test_not_being_able_to_look_is_unknown_and_opens_nothing():
    verdicts = walk([GOOD, BLIND, BLIND, BLIND, BLIND])
    assert statuses(verdicts)[1:] == ["unknown"] * 4
    assert incidents(verdicts) == []


def test_an_open_incident_outlives_unknown_and_is_not_opened_twice():
    verdicts = walk([BAD, BAD, BAD, BLIND, BAD, GOOD])
    assert statuses(verdicts) == ["pending", "pending", "down", "unknown", "down", "up"]
    assert incidents(verdicts) == ["open", "resolve"]


def test_in_a_window_it_shows_maintenance_and_opens_nothing():
    verdicts = walk([BAD, BAD, BAD, BAD], standing=Standing("up"), in_window=True)
    assert set(statuses(verdicts)) == {"maintenance"}
    assert incidents(verdicts) == []
    after = judge(verdicts[-1].standing, BAD, RULES, 2000.0)
    assert (after.standing.status, after.incident) == ("down", "open")


def test_a_window_over_an_open_incident_lets_it_resolve():
    down = walk([BAD, BAD, BAD])[-1].standing
    during = judge(down, GOOD, RULES, 2000.0, in_window=True)
    assert (during.standing.status, during.incident) == ("maintenance", "resolve")


def test_after_a_window_a_single_failure_is_not_known_to_be_anything():
    during = judge(Standing("up"), GOOD, RULES, 1.0, in_window=True).standing
    assert judge(during, BAD, RULES, 2.0).standing.status == "unknown"


def test_slow_is_degraded_and_no_incident():
    verdicts = walk([Seen(True, 150.0), GOOD])
    assert statuses(verdicts) == ["degraded", "up"]
    assert "150 ms" in verdicts[0].standing.cause
    assert incidents(verdicts) == []


def test_a_certificate_near_its_end_is_degraded():
    assert statuses(walk([Seen(True, 5.0, "", 13.9), Seen(True, 5.0, "", 14.1)])) == ["degraded", "up"]


def test_a_degraded_monitor_goes_down_and_comes_back_degraded():
    verdicts = walk([Seen(True, 150.0), BAD, BAD, BAD, Seen(True, 150.0)])
    assert statuses(verdicts) == ["degraded", "degraded", "degraded", "down", "degraded"]
    assert incidents(verdicts) == ["open", "resolve"]


def test_flapping_is_flagged_and_fades():
    verdicts = walk([BAD, GOOD] * 6, Thresholds(interval=60, retries=0))
    assert [verdict.standing.flapping for verdict in verdicts][:6] == [False] * 5 + [True]
    calm = judge(verdicts[-1].standing, GOOD, Thresholds(interval=60, retries=0), 1000.0 + 60 * 100)
    assert not calm.standing.flapping
    assert calm.changed


def test_since_is_when_the_status_began():
    verdicts = walk([GOOD, GOOD, BAD, BAD, BAD])
    assert [verdict.standing.since for verdict in verdicts] == [1000, 1000, 1000, 1000, 1240]


def test_a_check_speaks_for_a_turn_and_a_timeout():
    assert hold(RULES) == 71


@given(
    st.lists(st.tuples(st.sampled_from([GOOD, BAD, BLIND, Seen(True, 500.0)]), st.booleans()), max_size=60),
    st.integers(0, 4),
)
def test_incidents_open_and_resolve_in_turn_whatever_happens(steps, retries):
    standing, opened = Standing(), False
    for n, (seen, in_window) in enumerate(steps):
        verdict = judge(standing, seen, Thresholds(retries=retries, degraded_ms=100), 60.0 * n, in_window=in_window)
        if verdict.incident == "open":
            assert not opened
            assert not in_window
            assert verdict.standing.status == "down"
        if verdict.incident == "resolve":
            assert opened
            assert seen.ok
        opened = {"open": True, "resolve": False}.get(verdict.incident, opened)
        assert verdict.standing.alarmed == opened
        if verdict.standing.status == "down":
            assert opened
        standing = verdict.standing


@given(
    st.builds(
        Standing,
        status=st.sampled_from(["pending", "up", "down", "degraded", "maintenance", "unknown"]),
        since=st.just(900.0),
        cause=st.sampled_from(["", "HTTP 500"]),
        failures=st.integers(0, 2),
        alarmed=st.booleans(),
        flips=st.sampled_from([(), (950.0,), (950.0,) * 6]),
        flapping=st.booleans(),
    ),
    st.builds(
        Seen,
        ok=st.sampled_from([True, False, None]),
        response_time_ms=st.sampled_from([None, 12.0, 100.0, 101.0]),
        certificate_days=st.sampled_from([None, 3.0, 14.0]),
    ),
)
def test_what_is_called_steady_is_left_as_it_is(standing, seen):
    if steady(standing, seen.ok, seen.response_time_ms, seen.certificate_days, RULES):
        verdict = judge(standing, seen, RULES, 1000.0)
        assert (verdict.standing, verdict.retry_in, verdict.incident, verdict.changed) == (standing, None, None, False)


def test_a_monitor_that_is_up_and_stays_up_is_steady():
    assert steady(Standing("up", 900.0), True, 12.0, 30.0, RULES)
    assert not steady(Standing("up", 900.0, flips=(950.0,)), True, 12.0, None, RULES)
    assert not steady(Standing("up", 900.0), False, None, None, RULES)
