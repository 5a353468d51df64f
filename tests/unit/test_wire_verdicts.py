"""What a series of looks at a condition after an act means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opsapp.wire.harms import Harm
from opsapp.wire.verdicts import FLAPS_WITHIN_S, STEADY_S, ConditionLook, LooksSeen, ProofWindow, came_back, judge

WINDOW = ProofWindow(100.0, 160.0)  # the act was at 95
HOLDS, OVER, UNKNOWN = True, False, None


def after(*looks, flaps=False, until=None, worse=()):
    """(kind, reason) of the last judgement. A look is (now, verdict, measured at); without the last: measured now."""
    seen, judged = LooksSeen(flaps=flaps), None
    for now, verdict, *measured_at in looks:
        assert judged is None or judged.kind == "wait", f"it was decided before {now}"
        judged = judge(seen, ConditionLook(verdict, *(measured_at or [now])), WINDOW, now, worse)
        seen = judged.seen
    return judged.kind, judged.reason


@pytest.mark.parametrize(
    ("looks", "kind", "reason"),
    [
        ([(100, OVER)], "verified", "the condition is known false"),
        ([(100, HOLDS), (115, HOLDS), (120, OVER)], "verified", "the condition is known false"),
        ([(100, HOLDS), (159, HOLDS)], "wait", ""),
        ([(100, HOLDS), (160, HOLDS)], "failed", "the condition still holds"),
        ([(160, OVER)], "verified", "the condition is known false"),
        # What was measured before the settle time was over says nothing, however late it is looked at.
        ([(101, OVER, 99)], "wait", ""),
        ([(101, HOLDS, 99), (160, HOLDS, 99)], "inconclusive", "stale: nothing fresh was reported"),
        ([(160, OVER, 99)], "inconclusive", "stale: nothing fresh was reported"),
        ([(160, OVER, None)], "inconclusive", "stale: nothing fresh was reported"),
        # Unknown is not false, and does not end the wait.
        ([(100, UNKNOWN), (120, UNKNOWN, None)], "wait", ""),
        ([(100, UNKNOWN), (160, UNKNOWN)], "inconclusive", "the condition is unknown"),
        ([(100, HOLDS), (160, UNKNOWN)], "inconclusive", "the condition is unknown"),
    ],
)
def test_a_series_of_looks(looks, kind, reason):
    assert after(*looks) == (kind, reason)


@pytest.mark.parametrize(
    ("looks", "kind"),
    [
        ([(100, OVER)], "wait"),
        ([(100, OVER), (101, OVER, 100), (102, OVER, 100)], "wait"),  # one measurement, looked at three times
        ([(100, OVER), (105, OVER)], "verified"),
        ([(100, OVER), (100 + STEADY_S, OVER, 100)], "verified"),
        ([(100, OVER), (105, HOLDS), (106, OVER)], "wait"),
        ([(100, OVER), (105, HOLDS), (106, OVER), (112, OVER)], "verified"),
        ([(100, OVER), (105, UNKNOWN), (106, OVER)], "wait"),
        ([(150, HOLDS), (160, OVER)], "inconclusive"),
        ([(150, OVER), (160, HOLDS)], "failed"),
    ],
)
def test_a_condition_that_comes_and_goes_is_over_when_it_stays_so(looks, kind):
    assert after(*looks, flaps=True)[0] == kind


HARMS = (Harm("disk", "box-1", "disk_percent > 90"), Harm("", "shop", 'monitor.status == "down"'))


@pytest.mark.parametrize("verdict", [HOLDS, OVER, UNKNOWN])
def test_worse_than_before_is_known_at_once(verdict):
    assert after((101, verdict), worse=HARMS) == (
        "worse",
        "worse: box-1: fullest disk is above 90 % (rule disk), shop: monitor state is down",
    )


def test_of_much_that_is_worse_the_first_is_named_and_the_rest_is_counted():
    harms = [Harm("", f"m{n}", "x") for n in range(5)]
    assert after((101, OVER), worse=harms)[1] == "worse: m0: x, m1: x, m2: x and 2 more"


@pytest.mark.parametrize(
    ("at", "over_at", "flaps"),
    [(500, None, False), (500, 400, True), (500, 500, True), (500, 501, False), (500, 500 - FLAPS_WITHIN_S, False)],
)
def test_what_holds_again_soon_comes_and_goes(at, over_at, flaps):
    assert came_back(at, over_at) is flaps


LOOKS = st.lists(st.tuples(st.sampled_from([HOLDS, OVER, UNKNOWN]), st.none() | st.floats(90, 170)), max_size=20)


@given(LOOKS, st.booleans())
def test_whatever_is_seen(looks, flaps):
    """Never verified without a fresh look that says so; never failed before the deadline, and not while unknown."""
    seen = LooksSeen(flaps=flaps)
    for now, (verdict, measured_at) in zip(range(96, 400, 8), looks, strict=False):
        judged = judge(seen, ConditionLook(verdict, measured_at), WINDOW, now)
        fresh = measured_at is not None and measured_at >= WINDOW.earliest
        assert judged.kind != "verified" or (fresh and verdict is OVER)
        assert judged.kind != "failed" or (fresh and verdict is HOLDS and now >= WINDOW.latest)
        assert judged.kind != "wait" or now < WINDOW.latest
        seen = judged.seen
