"""What a rule is worth, in words: nothing is claimed that is not known."""

import pytest

from opsapp.healing.lift_answers import LiftAnswer, WaitAnswer
from opsapp.ui.shapes.worth import if_nobody_acts, worth_of
from tests.support.partly import partly

NOTHING, NO_WAVE = {"n": 0, "recovered": 0}, {"n": 0, "treated": 0, "alone": 0, "open": 0}


def answer(**changes):
    known = {"treated": {"n": 14, "recovered": 13}, "control": {"n": 14, "recovered": 3}, "lift": 0.714, "low": 0.09,
             "high": 0.98, "usual": {"low": 0.43, "high": 0.82}, "share": 0.1, "saved_minutes": 32.5,
             "verdict": "helps", "waves": NO_WAVE}  # fmt: skip
    return partly(LiftAnswer, {**known, **changes})


def test_a_rule_that_helps_says_by_how_much_and_how_sure():
    worth = worth_of(answer())
    assert (worth.look, worth.verdict) == ("ok", "helps")
    assert worth.words == (
        "In the last 28 trials between 43 and 82 points more recovered than by doing nothing. Of ten such ranges eight "
        "hold the truth. Of the cases that it would act on 10 % are left alone for a while first, to learn more."
    )
    assert worth.saved == "Saved 32.5 minutes of outage so far, counted within the action's window."
    assert "13 of 14" in worth.discs
    assert "3 of 14" in worth.discs
    assert 'aria-label="Points more than by doing nothing: between 43 and 82 points, the middle is 62"' in worth.span
    assert '<line class="b-span" x1="71.5%" x2="91%"' in worth.span, "all of it is on the side of more"


def test_waves_are_told_with_their_shares():
    worth = worth_of(answer(waves={"n": 4, "treated": 3.5, "alone": 0.9, "open": 1}))
    assert "In the last 32 trials" in worth.words
    assert "In 4 waves 88% of those that went were well, 22% of those that waited." in worth.words


def test_what_is_not_known_is_said_so():
    unknown = {"lift": None, "usual": None, "share": 0, "saved_minutes": None, "verdict": "unknown"}
    worth = worth_of(answer(treated=NOTHING, control=NOTHING, **unknown))
    assert worth.verdict == "not known yet"
    assert worth.words.startswith("Nothing can be compared yet")
    assert worth.words.endswith("No case is left alone to learn more.")
    assert worth.saved == ""
    assert worth.span is None


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(-0.6, -0.1, "between 10 and 60 points fewer"), (-0.2, 0.3, "between 20 points fewer and 30 points more")],
)
def test_a_rule_that_harms_or_may_harm_says_so(low, high, words):
    worth = worth_of(answer(usual={"low": low, "high": high}, verdict="harms"))
    assert worth.look == "bad"
    assert f"In the last 28 trials {words} recovered than by doing nothing." in worth.words


@pytest.mark.parametrize(
    ("wait_s", "words"),
    [
        (None, "3 of 9 came back by themselves. It takes five such cases and a heal to say how long to wait."),
        (0, "3 of 9 came back by themselves. Acting at once costs the least downtime."),
        (38, "3 of 9 came back by themselves. Waiting 38 s costs the least: 12 s less downtime a case."),
    ],
)
def test_the_wait_in_words(wait_s, words):
    curve = [{"seconds": 0, "share": 1}, {"seconds": 38, "share": 0.7}]
    answer = {"cases": 9, "recovered": 3, "borrowed": 0, "wait_s": wait_s, "saves_s": 12, "curve": curve}
    told = if_nobody_acts(partly(WaitAnswer, answer))
    assert told.words == words
    assert "<svg" in told.curve


def test_what_is_borrowed_is_said():
    curve = [{"seconds": 0, "share": 1}, {"seconds": 38, "share": 0.7}]
    answer = {"cases": 5, "recovered": 3, "borrowed": 40, "weight": 0.25, "wait_s": 0, "saves_s": 12, "curve": curve}
    told = if_nobody_acts(partly(WaitAnswer, {**answer, "borrowed_from": "same_readings"}))
    assert "Until there are 20, 40 cases of rules about the same readings count too: 75% of the curve." in told.words
    told = if_nobody_acts(partly(WaitAnswer, {**answer, "cases": 0, "borrowed_from": "all_rules", "weight": 0}))
    assert told.words.startswith(
        "No case was left alone yet. Until there are 20, 40 cases of all other rules count too"
    )
    assert "<svg" in told.curve


def test_without_cases_there_is_no_curve():
    told = if_nobody_acts(partly(WaitAnswer, {"cases": 0, "recovered": 0, "borrowed": 0, "curve": []}))
    assert (told.words, told.curve) == ("No case was left alone yet.", None)
