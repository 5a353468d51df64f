"""*Act now*: a person who does not want to wait for what a coin leaves alone."""

import pytest

from opsapp.healing.logic.lift import Arm
from tests.engine.healing import QUICK
from tests.engine.test_healing_lift import ACTIVE, FAILED, NOBODY, approve, arms, draws, failing, learned


@pytest.fixture
def left(held):
    """A case that is left alone for a minute, of which twenty seconds are over."""

    def make(level="execute"):
        here = failing(held(level, 0.0))
        if level == "approve":
            approve(here).turn(1)
        return here.pass_time(20, step=10, **FAILED)

    return make


def act_now(here, who="otto", **expected):
    [case] = [case for case in here.cases if case["state"] != "closed"]
    return here.service.client(who).post_json(f"/api/healing/cases/{case['id']}/act-now", {}, **expected)


@pytest.mark.parametrize("level", ["execute", "approve"])
def test_who_does_not_want_to_wait_has_it_healed_at_once_and_it_counts_for_neither_arm(left, level):
    here = left(level)
    act_now(here)
    here.turn(1)
    assert here.hosts.phases() == ["snapshot"]
    assert "otto did not want to wait any longer" in here.cases[0]["why"]
    here.heal(**ACTIVE)
    assert here.trust().verified == 1
    assert (arms(here), draws(here)) == (NOBODY, [])


def test_what_was_known_before_that_still_counts(left):
    here = left()
    here.report(**ACTIVE).turn()
    [case] = here.cases
    here.service.otto.post_json(f"/api/healing/cases/{case['id']}/act-now", {}, status=409)
    assert arms(here) == (Arm(), Arm(1, 1))


def test_what_recovers_after_that_says_nothing(left):
    here = left()
    act_now(here)
    here.clock.advance(1)
    here.report(**ACTIVE).turn(1)
    assert here.cases[0]["state"] == "closed"
    assert (arms(here), draws(here)) == (NOBODY, [])


def test_it_is_audited_in_a_sentence(left):
    here = left()
    act_now(here)
    [entry] = here.service.ada.get("/api/audit?action=healing.case.act_now").json
    assert (entry["username"], entry["target"]) == ("otto", here.cases[0]["id"])
    page = here.service.browser("ada").get("/audit").text
    assert "chose Act now for the case" in page


@pytest.mark.parametrize("seconds", [0, 60])
def test_a_case_that_waits_for_nothing_is_a_conflict(held, seconds):
    here = failing(held("execute", 0.9)).pass_time(seconds, step=10, **FAILED)
    refused = act_now(here, status=409)
    assert refused.json["code"] == "not_left_alone"


def test_viewers_may_not(left):
    here = left()
    act_now(here, "vera", status=403)
    assert "Act now" not in here.service.browser("vera").get(f"/healing/cases/{here.cases[0]['id']}").text


def test_a_second_click_changes_nothing(left):
    here = left()
    act_now(here)
    assert act_now(here, status=409).json["code"] == "not_left_alone"
    here.turn(1)
    assert here.hosts.phases() == ["snapshot"]


def test_a_learned_wait_is_ended_too_and_no_coin_falls_afterwards(held):
    here = held("execute", 0.0, rule={**QUICK, "wait": "learned"})
    here.node.transact(learned)
    failing(here).pass_time(10, step=5, **FAILED)
    act_now(here)
    here.turn(1)
    assert here.hosts.phases() == ["snapshot"]
    assert draws(here) == []


def test_the_pages_of_the_case_the_approval_and_what_is_under_way_offer_it(left):
    here = left("approve")
    [case] = here.cases
    approval = here.service.vera.get("/api/approvals?status=approved").json[0]["request_id"]
    browser = here.service.browser("otto")
    for path in (f"/healing/cases/{case['id']}", f"/approvals/{approval}"):
        page = browser.get(path)
        assert "Act now" in page.text, path
    assert "It is left alone for 40 s more, to learn whether it helps." in browser.get(f"/approvals/{approval}").text
    form = next(form for form in browser.get("/").html.select("form") if "Act now" in form.text)
    assert form.select_one("input[name=act]")["value"] == "overview.act_now"


def test_the_page_of_the_approved_request_leads_to_the_heal(left):
    here = left("approve")
    [case] = [case for case in here.cases if case["state"] != "closed"]
    [asked] = here.service.otto.get("/api/approvals?status=approved").json
    links = here.service.browser("otto").get(f"/approvals/{asked['request_id']}").html.select("#decision .line a")
    assert ("Open the heal", f"/healing/cases/{case['id']}") in [(link.text, link["href"]) for link in links]
