"""The pages of problems: the list, one with its form, and what other pages say of it."""

import pytest

from opsapp.healing.logic.problems import ProblemFacts
from opsapp.healing.records import RuleSettings
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.rules import put_rule
from opsapp.wire.records import made
from tests.support.monitoring import DOWN, Lookout

DAY = 86400


@pytest.fixture
def browser(service):
    return service.browser


@pytest.fixture
def problem(service):
    """Healed seven times in the last days; nobody has it."""

    def make(root):
        now = service.clock.now()
        rule = made(
            RuleSettings, {"condition": 'service.nginx.state == "failed"', "action": {"type": "restart_service"}}
        )
        put_rule(root, "nginx", rule, source="api", now=now)
        problems = healing_of(root)["problems"]
        for hours in range(7, 0, -1):
            problems.healed("nginx", "web-1/nginx", now - 3600 * hours)
        return problems.open(ProblemFacts("nginx", "web-1/nginx", now - 7200)).__name__

    return service.transact(make)


def form_of(page, act):
    return next(form for form in page.forms.values() if "act" in form.fields and form["act"].value == act)


def sent(page, status=None, **values):
    form = form_of(page, "problem.change")
    for name, value in values.items():
        form[name] = value
    return form.submit(status=status)


def test_the_list_says_what_comes_back_and_that_nobody_has_it(browser, problem):
    page = browser("otto").get("/healing/problems")
    line = page.html.select_one(f"#p-{problem}").text
    assert "Healed 7 times in 7 days; the cause is still there." in line
    assert "Nobody has it" in line
    assert f"/healing/problems/{problem}" in str(page.html)
    assert "No problem fits" in browser("otto").get("/healing/problems?state=closed").text


def test_who_takes_it_has_it(service, browser, problem):
    page = browser("otto").get("/healing/problems")
    assert form_of(page, "problems.take").submit().follow().status_int == 200
    assert service.vera.get(f"/api/healing/problems/{problem}").json["owner"] == "otto"


def test_an_owner_is_picked_by_name_and_a_day_by_its_date(service, browser, problem):
    browser("ada"), browser("vera")
    otto = browser("otto")
    page = otto.get(f"/healing/problems/{problem}")
    form = form_of(page, "problem.change")
    assert [option[0] for option in form["owner"].options] == ["", "ada", "admin", "otto", "vera"]
    assert page.html.select_one("input[name=due]")["type"] == "date"
    page = sent(page, owner="vera", due="2055-03-01", note="leaks", state="accepted").follow()
    known = service.vera.get(f"/api/healing/problems/{problem}").json
    assert (known["owner"], known["due_day"], known["note"], known["state"]) == (
        "vera",
        "2055-03-01",
        "leaks",
        "accepted",
    )
    form = form_of(page, "problem.change")
    assert (form["owner"].value, form["due"].value, form["note"].value) == ("vera", "2055-03-01", "leaks")
    sent(page, owner="", due="")
    known = service.vera.get(f"/api/healing/problems/{problem}").json
    assert (known["owner"], known["due"], known["note"]) == (None, None, "leaks")


def test_a_day_that_is_none_comes_back_with_what_was_filled_in(browser, problem):
    page = sent(browser("otto").get(f"/healing/problems/{problem}"), 422, due="soon", note="typed")
    assert "must be a day like 2026-11-30" in page.text
    assert "typed" in page.text


def test_who_may_only_look_sees_no_form(browser, problem):
    page = browser("vera").get(f"/healing/problems/{problem}")
    assert "Nobody has written what is known." in page.text
    assert not page.html.select("form[action^='/healing/problems']")


@pytest.mark.parametrize("place", ["/healing/rules/nginx", "/"])
def test_other_pages_name_it(browser, problem, place):
    page = browser("otto").get(place)
    assert "Healed 7 times in 7 days; the cause is still there." in page.text


def test_one_that_somebody_else_has_is_not_ones_own_business(service, browser, problem):
    service.client("ada")
    service.otto.put_json(f"/api/healing/problems/{problem}", {"owner": "ada"})
    assert "Healed 7 times" not in browser("otto").get("/").text
    assert "It is yours." in browser("ada").get("/").text
    service.otto.put_json(f"/api/healing/problems/{problem}", {"due": int(service.clock.now()) - 60})
    assert "Was due on" in browser("otto").get("/").text


def test_a_quiet_one_says_when_it_closes(service, browser, problem):
    service.clock.advance(3 * DAY)
    assert "Quiet for 3 d" in browser("otto").get(f"/healing/problems/{problem}").text


def test_a_closed_one_has_the_heals_that_it_had(service, browser, problem):
    service.otto.put_json(f"/api/healing/problems/{problem}", {"state": "closed"})
    assert "Healed 7 times in 7 days before it was closed." in browser("otto").get("/healing/problems").text
    assert "Healed 7 times" not in browser("otto").get("/healing/rules/nginx").text


def test_people_are_named_for_who_may_give_them_something(service):
    service.client("ada"), service.client("vera")

    def disable(root):
        root["api"]["users"]["vera"].disabled = True

    service.transact(disable)
    answer = service.otto.get("/api/people")
    assert [person["username"] for person in answer.json] == ["ada", "admin", "otto"]
    assert answer.headers["X-Total-Count"] == str(len(answer.json))


def test_what_a_deleted_user_had_is_nobodys_again(service, browser, problem):
    lookout = Lookout(service)
    shop = lookout.add(name="shop", retries=0)
    lookout.sees = {shop: DOWN}
    lookout.run(60, step=5)
    [incident] = lookout.incidents("status=open")
    service.otto.post(f"/api/monitoring/incidents/{incident['id']}/acknowledge")
    service.ada.put_json(f"/api/healing/problems/{problem}", {"owner": "otto"})
    assert "Healed 7 times" not in browser("ada").get("/").text, "otto looks for its cause"
    service.ada.delete("/api/users/otto")
    assert service.ada.get(f"/api/monitoring/incidents/{incident['id']}").json["acknowledged_by"] is None
    assert service.ada.get(f"/api/healing/problems/{problem}").json["owner"] is None
    assert "Healed 7 times" in browser("ada").get("/").text, "it is everybody's again"
    last = service.ada.get("/api/audit?action=healing.problem.update").json[0]
    assert (last["username"], last["before"]["owner"], last["after"]["owner"]) == (None, "otto", None)
