"""Whether the outcomes of an action speak against trying it again: on this host, in the fleet, and for how long."""

import pytest

from opsapp.healing.config import DAY, MOST_HOSTS, SkipSettings
from opsapp.healing.logic.effectiveness import NOTHING, OutcomeTally, against, counted, tried, weighed

from .world import NOW, tally

SKIP = SkipSettings()


def grown(*outcomes, start=NOTHING, hosts=("h1",), step=60.0, now=NOW):
    """A tally after outcomes that came one `step` apart, from these hosts in turn."""
    for at, outcome in enumerate(outcomes):
        start = counted(tried(start, now + at * step), outcome, hosts[at % len(hosts)], now + at * step, SKIP)
    return start


@pytest.mark.parametrize(
    ("done", "total", "skip"),
    [(0, 0, False), (0, 4, False), (0, 5, True), (1, 5, True), (2, 5, False), (3, 10, False), (29, 100, True)],
)
def test_a_step_with_a_bad_history_on_the_host_is_skipped(done, total, skip):
    assert bool(against(tally(done, total), NOTHING, NOW, SKIP)) is skip


def test_the_reason_says_the_numbers():
    assert against(grown(*[False] * 5, step=0), NOTHING, NOW + DAY, SKIP) == (
        "0% verified on this host, the limit is 30% (outcomes weigh 4.9, each half after 30 days); "
        "tried again in 6.0 days"
    )


def test_one_bad_host_says_nothing_about_another():
    fleet = grown(*[False] * 50, hosts=("h1",))
    assert against(NOTHING, fleet, NOW, SKIP) == ""
    assert against(NOTHING, grown(*[False] * 50, hosts=("h1", "h2")), NOW, SKIP) == ""


def test_three_bad_hosts_do():
    fleet = grown(*[False] * 6, hosts=("h1", "h2", "h3"))
    assert "0% verified on 3 hosts" in against(NOTHING, fleet, NOW, SKIP)
    assert against(tally(2, 4), fleet, NOW, SKIP) != ""  # its own four are too few
    assert against(tally(3, 5), fleet, NOW, SKIP) == ""  # its own five are enough, and good
    assert against(NOTHING, grown(*[False] * 3, hosts=("h1", "h2", "h3")), NOW, SKIP) == ""  # three outcomes only


def test_hosts_whose_outcomes_are_old_do_not_count_among_the_three():
    old = grown(True, True, hosts=("h1", "h2"), now=NOW - 365 * DAY)
    fleet = grown(*[False] * 9, start=old, hosts=("h3",))
    assert len(fleet.hosts) == 3
    assert against(NOTHING, fleet, NOW, SKIP) == ""


def test_what_is_skipped_is_tried_again_once_a_week():
    history = grown(*[False] * 5, step=0)
    assert against(history, NOTHING, NOW + 7 * DAY - 1, SKIP)
    assert against(history, NOTHING, NOW + 7 * DAY, SKIP) == ""
    again = tried(history, NOW + 7 * DAY)  # and nobody could tell what came of it
    assert against(again, NOTHING, NOW + 7 * DAY + 60, SKIP)
    assert against(again, NOTHING, NOW + 14 * DAY, SKIP) == ""


def test_weekly_failures_keep_it_skipped_and_one_success_after_a_month_does_not_lift_it_at_once():
    history, now = grown(*[False] * 5, step=0), NOW
    for _ in range(20):
        now += 7 * DAY
        assert against(history, NOTHING, now, SKIP) == ""
        history = grown(False, start=history, now=now)
        assert against(history, NOTHING, now + 60, SKIP)
    history = grown(True, start=history, now=now)
    assert against(history, NOTHING, now + 60, SKIP)


def test_an_outcome_weighs_half_after_thirty_days():
    history = grown(*[False] * 5, step=0)
    assert weighed(history, NOW + 30 * DAY, SKIP).total == pytest.approx(2.5)
    assert weighed(history, NOW - 60, SKIP).total == 5  # a clock that was set back
    history = grown(True, True, start=history, now=NOW + 60 * DAY, step=0)
    assert weighed(history, NOW + 60 * DAY, SKIP) == pytest.approx((2, 3.25))
    assert against(history, NOTHING, NOW + 60 * DAY + 60, SKIP) == ""


def test_a_year_later_nothing_is_held_against_it():
    history = grown(*[False] * 5)._replace(tried_at=NOW + 365 * DAY)
    assert against(history, NOTHING, NOW + 365 * DAY, SKIP) == ""


def test_what_an_older_version_counted_is_kept_and_weighs_nothing():
    history = OutcomeTally(*(0, 9))
    assert against(history, NOTHING, NOW, SKIP) == ""
    assert counted(history, True, "h1", NOW, SKIP)[:4] == (1, 10, 1.0, 1.0)


def test_a_tally_stays_small():
    fleet = grown(*[True] * 50, hosts=[f"h{n}" for n in range(50)])
    assert (len(fleet.hosts), fleet.hosts[0][0]) == (MOST_HOSTS, "h49")
