"""Who is told how a case ended."""

import pytest

from opsapp.healing.stages.case import About
from opsapp.healing.stages.ending import has_end, tells, what_next
from opsapp.healing.stages.ledger import OUTCOMES


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_what_nobody_decided_and_is_not_well_is_told(outcome):
    silent = ("verified", "rejected", "suppressed", "absorbed", "observed", "simulated", "notified", "withdrawn")
    assert tells(outcome, "condition_gone") is (outcome not in silent)


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("condition_gone", False),
        ("condition_gone: the condition no longer holds", False),
        ("target_gone", False),
        ("rule_edited", False),
        ("healing is paused", False),
        ("level notify by now", True),  # the breaker took the rule's level, and the failure is still there
        ("the plan has changed: host_offline: box-1", True),
    ],
)
def test_what_was_withdrawn_is_told_unless_it_is_over_or_a_person_knows(reason, told):
    assert tells("withdrawn", reason) is told


def test_a_chain_that_a_window_or_a_pause_stops_after_a_step_that_did_not_help_is_told():
    assert tells("suppressed", "window w: suppress (patch)", acted=True)
    assert not tells("suppressed", "window w: suppress (patch)")
    assert not tells("withdrawn", "condition_gone", acted=True)


@pytest.mark.parametrize("outcome", [one for one in OUTCOMES if tells(one, "x", acted=True)])
def test_of_what_is_told_people_read_what_to_do_next(outcome):
    assert what_next(outcome).endswith(".")


def test_what_failed_inside_is_told():
    assert tells("suppressed", "internal_error: KeyError: x")
    assert not tells("suppressed", "root cause db: depends on db")


@pytest.mark.parametrize(
    ("about", "told"),
    [
        ({"subject": "agent:a1", "source": "alert"}, True),
        ({"subject": "agent:a1", "source": "prediction"}, False),
        ({"subject": "monitor:m1", "source": "alert"}, False),
        ({"subject": None, "source": "alert"}, False),
    ],
)
def test_whose_end_is_told(about, told):
    assert has_end(About(**about, condition="a > 1", target="box-1")) is told
