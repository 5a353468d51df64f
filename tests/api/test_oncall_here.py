"""*I am here* in the header of every page: offered to who is on call, and taken back there."""

import pytest

from tests.api.test_oncall import LAYER, NOW, OPS, SWAP, ops, people

__all__ = ["ops", "people"]
PAGES = (
    "/",
    "/monitors",
    "/healing/rules",
    "/oncall",
    "/settings",
    "/help/oncall",
    "/find?q=x",
    "/agents?status=online",
)


def presence(page):
    form = page.html.select_one("header form.presence")
    return None if form is None else " ".join(form.get_text(" ").split())


def pressed(page):
    chosen = next(form for form in page.forms.values() if "back" in form.fields)
    return chosen.submit(status=303)


def here(people):
    return [(hold["by"], hold["until"]) for hold in people.vera.get("/api/overview").json["holds"]]


@pytest.mark.parametrize("path", PAGES)
def test_who_is_on_call_says_it_on_any_page_and_is_back_there(people, ops, path):
    browser = people.browser("otto")
    assert presence(browser.get(path)) == "I am here"
    gone = pressed(browser.get(path))
    assert gone.location.endswith(path)
    assert here(people) == [("otto", NOW + 7200)]
    assert presence(browser.get(path)) == "Here until 10:00 I am away"
    assert pressed(browser.get(path)).location.endswith(path)
    assert here(people) == []
    assert presence(browser.get(path)) == "I am here"


def test_nobody_else_is_asked(people, ops):
    assert presence(people.browser("ada").get("/monitors")) is None, "ada is the next one"
    assert presence(people.browser("vera").get("/monitors")) is None
    people.otto.post_json(f"/api/oncall/schedules/{ops}/overrides", SWAP, status=201)
    assert presence(people.browser("otto").get("/monitors")) is None, "otto has handed over"
    assert presence(people.browser("vera").get("/monitors")) is None, "and vera, who is on call now, may not say it"


def test_who_is_here_without_being_on_call_takes_it_back_in_the_header(people):
    people.ada.post_json("/api/healing/here", {"for": "30m"})
    assert presence(people.browser("ada").get("/monitors")) == "Here until 08:30 I am away"
    assert presence(people.browser("otto").get("/monitors")) is None
    people.clock.advance(1801)
    assert presence(people.browser("ada").get("/monitors")) is None


def test_the_overview_offers_it_once(people, ops):
    monitor = {"name": "Shop", "type": "http", "url": "http://shop.example/"}
    people.otto.post_json("/api/monitoring/endpoints", monitor, status=201)
    acts = [form["act"].value for form in people.browser("otto").get("/").forms.values() if "act" in form.fields]
    assert acts.count("overview.here") == 2, "in the header, and on a small screen in the reader's menu"
    acts = [form["act"].value for form in people.browser("ada").get("/").forms.values() if "act" in form.fields]
    assert acts.count("overview.here") == 1, "who is not on call says it on the overview"


@pytest.mark.parametrize("back", ["//evil.example/", "https://evil.example/", "/\\evil.example", ""])
def test_it_leads_nowhere_else(people, ops, back):
    page = people.browser("otto").get("/monitors")
    form = next(form for form in page.forms.values() if "back" in form.fields)
    form["back"] = back
    assert form.submit(status=303).location == "/"


def test_the_one_of_each_schedule_is_offered_it(people, ops):
    later = {**OPS, "name": "Database", "layers": [{**LAYER, "users": ["ada"]}]}
    people.ada.post_json("/api/oncall/schedules", later, status=201)
    assert [presence(people.browser(who).get("/monitors")) for who in ("otto", "ada")] == ["I am here"] * 2
