"""Times in the words of a moment and of a case: one minute is said once, and what is not known to be over is not."""

import pytest

from opsapp.healing.answers import CaseShown
from opsapp.healing.moments import Moment, MomentMark, StateRow, StateStretch
from opsapp.ui.reader import Reader
from opsapp.ui.shapes.case import ended_words
from opsapp.ui.shapes.momentwords import answer_of
from tests.support.partly import partly

BEGIN = 1_800_000_000 - 1_800_000_000 % 3600


def reader():
    return Reader(BEGIN + 3600.0, "UTC", "vera", "viewer", {}, lambda api: True)


def told(marks=(), states=()):
    base = {"kind": "monitors", "id": "m", "name": "Shop", "agent_id": None, "since": BEGIN, "until": BEGIN + 3600,
            "at": BEGIN + 600, "step": 60, "live": False, "times": (), "lanes": (), "left_out": 0, "causes": (),
            "rules": ()}  # fmt: skip
    return Moment(**base, marks=tuple(marks), states=tuple(states))


@pytest.mark.parametrize(
    ("since", "until", "when"),
    [
        (610, 640, "(at 08:10, for 30 s)"),
        (610, 610, "(at 08:10)"),
        (610, 670, "(08:10 to 08:11)"),
        (610, None, "(since 08:10)"),
    ],
)
def test_an_outage_within_a_minute_has_one_time(since, until, when):
    end = None if until is None else BEGIN + until
    mark = MomentMark("outage", BEGIN + since, end, "bad", "Shop was down", "/incidents/1")
    assert f"Shop was down {when}." in answer_of(told([mark]), reader()).lead


def test_what_is_not_known_within_a_minute_has_one_time():
    parts = [(0, 610, "up"), (610, 640, "unknown"), (640, 3600, "up")]
    stretches = tuple(StateStretch(BEGIN + since, BEGIN + until, state) for since, until, state in parts)
    row = StateRow("Shop", "/monitors/m", stretches)
    lead = answer_of(told([MomentMark("outage", BEGIN, BEGIN + 600, "bad", "Shop was down")], [row]), reader()).lead
    assert "There is no data of Shop at 08:10." in lead


@pytest.mark.parametrize(
    ("outcome", "recovered", "words"),
    [
        ("verified", 140, "healed after 40 s"),
        ("notified", None, "case closed after 2 s"),
        ("failed", None, "case closed after 2 s"),
        ("notified", 1300, "true for 20 min"),
        ("withdrawn", 102, "true for 2 s"),
    ],
)
def test_a_case_is_over_only_where_its_condition_is_known_to_be(outcome, recovered, words):
    closed = 140 if outcome == "verified" else 102
    case = {"outcome": outcome, "opened_at": 100, "closed_at": closed, "recovered_at": recovered}
    assert ended_words(partly(CaseShown, case)) == words


def test_an_open_case_has_no_end():
    assert ended_words(partly(CaseShown, {"outcome": None, "opened_at": 100, "closed_at": None})) == ""
