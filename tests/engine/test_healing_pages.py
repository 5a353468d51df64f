"""The pages of healing over a real case: its ladder while it is open and after, what would happen now, the ledger."""

import re
from pathlib import Path

import pytest

from opsapp.agents.engine import records
from opsapp.healing import engine as healing_engine
from opsapp.healing.foretold import ForecastRecord
from opsapp.healing.resources import healing_of
from opsapp.ui.shapes import learned
from opsapp.ui.shapes.healing import WORKERS
from opsapp.wire.records import made
from tests.engine.healing import NGINX

FAILED = {"service__nginx__state": "failed"}
WELL = {"service__nginx__state": "active"}


@pytest.fixture
def case(ward):
    """A case that executes, and a browser for each role."""
    here = ward().at("execute").report(**FAILED).turn().turn(6)
    here.path = f"/healing/cases/{here.cases[0]['id']}"

    def get(path, who="vera"):
        return here.service.browser(who).get(path)

    here.get = get
    return here


def sent(page, act="verify"):
    chosen = next(form for form in page.forms.values() if "act" in form.fields and form["act"].value == act)
    return chosen.submit(status=303)


def spoil(root):
    entry = healing_of(root)["ledger"].entries[1]
    entry.fields = {**entry.fields, "reason": "it was somebody else"}


def ladder(page):
    return {rung.h3.text: rung for rung in page.html.select("ol.ladder > li")}


def test_an_open_case_says_what_comes_next(case):
    page = case.get(case.path)
    assert page.html.h1.text == "What is done about nginx on box-1"
    assert "The host has been asked" in page.html.select_one("#next").text
    rungs = ladder(page)
    assert rungs["Execute"]["aria-current"] == "step"
    assert "Ahead" in rungs["Verify"].text
    assert {"heal", "approval"} == set(page.html.select_one("#stages")["data-live"].split())


def test_a_request_is_a_question_in_words(ward):
    here = ward(NGINX | {"description": "The web server has stopped"}).at("approve").report(**FAILED).turn().turn(6)
    [asked] = here.service.vera.get("/api/approvals").json
    assert asked["reason"] == "The web server has stopped (rule nginx)"
    page = here.service.browser("otto").get(f"/approvals/{asked['request_id']}").html
    assert page.h1.get_text() == "May the machine run restart service on nginx on box-1?"
    assert "The web server has stopped" in page.select_one(".head").get_text()
    ledger = here.service.browser("vera").get("/healing/ledger").html.select_one("ol.tl").get_text()
    assert "The machine asks whether it may run restart service on nginx on box-1." in ledger


def test_the_evidence_of_a_rule_is_said_in_words(case):
    case.heal(**WELL)
    meters = case.get("/healing/trust").html.select_one(".parts").get_text(" ")
    assert "Success rate, with 95 % confidence above 2 %" in meters
    assert "Evidence that it helps too seldom 7 % of the limit" in meters


def test_what_a_rule_can_read_is_said_in_words(case):
    read = case.get("/healing/rules/nginx").html.select_one("#read")
    words = {row.code.get_text(): row.select_one(".meta").get_text() for row in read.select("tbody tr:has(.meta)")}
    assert words["service.*.state"] == "service state"


def test_a_closed_case_says_why_with_its_figures(case):
    case.heal(**WELL)
    page = case.get(case.path)
    assert page.html.h1.text == "Why nginx on box-1 was restarted"
    rungs = ladder(page)
    assert "not tried before" in rungs["Plan"].text, "the case itself is not counted"
    assert page.html.select_one("#record") is None
    assert "service.nginx.state failed → active" in rungs["Verify"].text
    assert "Ledger entry 1 is in the chain" in rungs["Record"].text
    assert "1 of 1 at level execute" in rungs["Trust"].text
    assert page.html.select_one("#readings td b").text == "active"
    assert not page.html.select("#next section")
    assert not page.html.select("#undo form"), "viewers roll nothing back"
    assert case.get(case.path, "ada").html.select("#undo form")


def test_what_if_is_a_dry_run_that_changes_nothing(case):
    case.heal(**WELL)
    page = case.get(case.path, "otto")
    tried = next(each for each in page.forms.values() if "rule_id" in each.fields).submit()
    shown = tried.html.select_one("#now")
    assert "dry run, just now" in shown.text
    assert "no longer" in shown.text.lower() or "nothing is done" in shown.text.lower()
    assert len(case.cases) == 1
    assert not [each for each in case.get(case.path).forms.values() if "rule_id" in each.fields]


def test_the_ladder_is_fetched_alone_when_it_changes(case):
    part = case.service.browser("vera").get(case.path, headers={"X-Part": "stages"})
    assert "<html" not in part.text
    assert "Six stages" in part.text


def test_the_ledger_says_it_in_sentences_and_is_filtered(case):
    case.heal(**WELL)
    page = case.get("/healing/ledger")
    assert "was healed in" in page.html.select_one("ol.tl").text
    assert page.html.select_one(f'ol.tl a[href="{case.path}"]')
    assert page.html.select_one(f'ol.tl a[href="{case.path}"]')
    assert "No entry fits" in case.get("/healing/ledger?outcome=failed").text
    assert case.get("/healing/ledger?outcome=verified&within=24h").html.select("ol.tl > li")
    case.clock.advance(2 * 86400)
    case.service.tokens.clear()
    assert "No entry fits" in case.get("/healing/ledger?within=24h").text


def test_the_ledger_tells_of_its_last_check_and_is_checked_when_asked(case):
    """It makes none by itself: with years of entries that takes seconds."""
    case.heal(**WELL)
    page = case.get("/healing/ledger")
    notice = page.html.select_one("#main .notice")
    assert "is not known: there was no check since the service was started" in notice.text
    assert "off" in notice["class"]
    checked = sent(page).follow()
    notice = checked.html.select(".notice")[-1]
    assert " ".join(notice.text.split()).endswith("the one entry was as it had been written.")
    assert "ok" in notice["class"]
    case.service.transact(spoil)
    assert "the one entry was as" in case.get("/healing/ledger").text, "nobody has looked since"
    broken = sent(case.get("/healing/ledger")).follow().html.select(".notice")[-1]
    assert "at entry 1" in broken.text
    assert "bad" in broken["class"]


def test_trust_says_what_is_missing_and_who_may_move_it(case):
    page = case.get("/healing/trust")
    card = page.html.select_one("#trust section")
    assert card.select_one("[aria-current=step]").text.startswith("execute")
    assert not card.select("form")
    assert case.get("/healing/trust", "ada").html.select_one("#trust form")


def test_what_works_on_healing_is_named_by_what_it_does():
    files = Path(healing_engine.__file__).parent.rglob("*.py")
    begun = "".join(file.read_text(encoding="utf-8") for file in files)
    assert set(WORKERS) == set(re.findall(r'\badd\(\s*"healing-(\w+)"', begun))


def test_suggestions_and_forecasts_say_when_there_is_nothing(case):
    assert "Nothing to suggest" in case.get("/healing/suggestions").text
    page = case.get("/healing/forecasts").text  # unknown is not "nothing is heading for its threshold"
    assert "There are no forecasts yet" in page
    assert "Nothing is heading for its threshold" not in page


def test_forecasts_ask_for_the_hosts_that_they_name(case, monkeypatch):
    rows, asked = records.rows, []

    def noting(root, ids=None, status=None, sight=None):
        asked.append((ids, status))
        return rows(root, ids, status, sight)

    monkeypatch.setattr(records, "rows", noting)
    monkeypatch.setattr(learned, "MOST_IDS", 2, raising=False)
    hosts = {label: case.service.ada.post_json("/api/agents", {"label": label}).json["agent_id"] for label in "wxyz"}
    hits = {"w": None, "y": 7200, "z": 3600}
    case.service.transact(foresee, {hosts[label]: hits[label] for label in hits}, case.clock.now())
    page = case.get("/healing/forecasts")
    assert asked == [([hosts["z"], hosts["y"]], None), (None, "offline"), (None, "dead")]
    assert [cell.text for cell in page.html.select('#coming [data-l="Host"]')] == ["z", "y"]
    assert "Of 1 more host there are forecasts" in page.text


def foresee(root, hits, now):
    for agent_id, after in hits.items():
        at = None if after is None else int(now + after)
        row = {"agent_id": agent_id, "metric": "disk_percent", "mount": "/var", "now": 80.0, "threshold": 90.0,
               "hits_at": at, "low": at, "high": at, "coverage": 0.9, "false_alarms": 0.0, "sudden": False,
               "fan": []}  # fmt: skip
        healing_of(root).foresight.keep(agent_id, [made(ForecastRecord, row)])


def test_rules_are_found_by_their_condition(case):
    assert case.get("/healing/rules").html.select_one('a[href="/healing/rules/nginx"]')
    assert case.get("/healing/rules?q=nginx.state").html.select_one('a[href="/healing/rules/nginx"]')
    assert "No rule fits" in case.get("/healing/rules?q=zzz").text


def test_what_led_to_a_purged_case_says_that_it_is_gone(case):
    case.heal(**WELL)
    assert case.service.vera.get("/api/healing/ledger").json[0]["has_case"]
    case.clock.advance(731 * 86400)
    case.engine.purge()
    case.service.tokens.clear()
    assert not case.service.vera.get("/api/healing/ledger").json[0]["has_case"]
    page = case.get("/healing/ledger")
    assert "Its case was purged." in page.text
    assert case.path not in page.text


def test_a_damaged_rule_does_not_take_the_overview_with_it(case, monkeypatch):
    from opsapp.healing.resources.rules import Rule

    before = case.service.vera.get("/api/overview").json["cases"]
    monkeypatch.setattr(Rule, "__setstate__", damaged)
    case.node.store.db.cacheMinimize()
    after = case.service.vera.get("/api/overview").json["cases"]
    assert [it["id"] for it in before] == [it["id"] for it in after]
    assert [it["steps"] for it in after] == [0]
    assert "nginx" in case.get("/").text


def damaged(self, state):
    raise ValueError("damaged")
