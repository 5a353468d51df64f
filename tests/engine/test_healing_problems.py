"""Problems: what one rule heals on one target again and again. Opened, owned, overdue, closed; in the pipeline."""

import pytest

from opsapp.healing.resources import healing_of
from opsapp.healing.resources.problems import Problems
from opsapp.notify.resources import inbox
from tests.engine.healing import NGINX

FAILED, ACTIVE = {"service__nginx__state": "failed"}, {"service__nginx__state": "active"}
QUICK = {**NGINX, "cooldown_s": 1}
DAY = 86400
URL = "/api/healing/problems"


def heal(here, times, every=600):
    for _ in range(times):
        here.report(**FAILED).turn().turn(6)
        here.heal(**ACTIVE)
        here.turn(every)
    return here


def told(here):
    """What people were told since they were asked last."""
    return [row for row in here.node.transact(inbox.take, 10_000) if row.kind.startswith("heal.problem")]


def listed(here, query=""):
    here.service.tokens.clear()  # a session lasts a day
    return here.service.vera.get(f"{URL}{query}").json


def put(here, body, **options):
    [problem] = listed(here)
    return here.service.otto.put_json(f"{URL}/{problem['id']}", body, **options)


@pytest.fixture
def recurring(ward):
    """A rule that has healed one target five times."""

    def make(**healing):
        return heal(ward(QUICK, brake={"max_heals_per_hour": {"rule": 1000}}, **healing).at("execute"), 5)

    return make


def test_the_fifth_heal_within_the_window_opens_a_problem_and_tells(ward):
    here = heal(ward(QUICK).at("execute"), 4)
    assert listed(here) == []
    heal(here, 1)
    [problem] = listed(here)
    assert (problem["rule_id"], problem["target"], problem["heals"]) == ("nginx", "box-1/nginx", 5)
    assert (problem["state"], problem["owner"], problem["due"], problem["note"]) == ("open", None, None, "")
    assert not problem["overdue"]
    [message] = told(here)
    assert message.kind == "heal.problem"
    assert "5 times within 7 days" in message.text
    entries = here.service.ada.get("/api/audit?action=healing.problem.open").json
    assert [entry["target"] for entry in entries] == [problem["id"]]
    heal(here, 2)
    assert [problem["heals"] for problem in listed(here)] == [7]


def test_heals_that_lie_too_far_apart_open_none(ward):
    here = heal(ward(QUICK, problems={"heals": 3, "window_s": 3000}).at("execute"), 6, every=1600)
    assert listed(here) == []
    heal(here, 2, every=100)
    assert [problem["heals"] for problem in listed(here)] == [3]


def test_heals_that_do_not_help_are_none(ward):
    here = ward(QUICK, problems={"heals": 2})
    for _ in range(3):
        here.at("execute").report(**FAILED).turn().turn(6)
        here.heal(**FAILED)
        here.report(**ACTIVE).turn(600)
    assert "verified" not in {entry["outcome"] for entry in here.ledger}
    assert listed(here) == []


def test_a_person_takes_it_and_says_until_when(recurring):
    here = recurring()
    due = int(here.clock.now()) + DAY
    body = {"owner": "otto", "due": due, "note": "leaks file handles", "state": "accepted"}
    assert put(here, body).json["state"] == "accepted"
    [problem] = listed(here, "?owner=otto&state=accepted&rule_id=nginx&target=box-1")
    assert {name: problem[name] for name in body} == body
    for query in ("?owner=ada", "?state=open", "?rule_id=other", "?target=other"):
        assert listed(here, query) == []
    put(here, {"owner": None, "due": None})
    [problem] = listed(here)
    assert (problem["owner"], problem["due"], problem["note"]) == (None, None, "leaks file handles")
    assert here.service.otto.put_json(f"{URL}/{problem['id']}", problem).json == problem


WRONG = [{"owner": "nobody"}, {"state": "gone"}, {"due": "soon"}, {"due": "9999-12-31"}, {"more": 1}, {"note": 7}]


@pytest.mark.parametrize("body", WRONG)
def test_what_makes_no_sense_is_refused_and_changes_nothing(recurring, body):
    here = recurring()
    before = listed(here)
    assert put(here, body, status=422).json["fields"].keys() == body.keys()
    assert listed(here) == before


def test_past_its_date_the_rule_asks_before_it_acts_on_this_target_only(recurring):
    here = recurring()
    put(here, {"due": int(here.clock.now()) + 60})
    heal(here, 1, every=30)
    assert here.ledger[-1]["outcome"] == "verified"
    here.turn(60)
    assert listed(here)[0]["overdue"]
    here.report(**FAILED).turn().turn(6)
    [case] = [case for case in here.cases if case["state"] != "closed"]
    assert case["state"] == "awaiting_approval"
    assert "problem_overdue: at most approve" in case["why"]
    world = here.node.transact(lambda root: healing_of(root)["problems"].overdue(here.clock.now()))
    assert world == {("nginx", "box-1/nginx")}


def test_past_its_date_the_host_does_not_heal_it_alone_either(recurring):
    from opsapp.healing.engine.pipeline import world_now
    from opsapp.healing.stages import alone

    here = recurring()

    def given(root):
        world = world_now(root)
        [host] = [host for host in world.hosts.values() if host.hostname == "box-1"]
        return [policy.rule_id for policy in alone.policies(host, ("box-1",), (), world)]

    put(here, {"due": int(here.clock.now()) + 60})
    assert here.node.transact(given) == ["nginx"]
    here.turn(61)
    assert here.node.transact(given) == []


def test_another_date_ends_being_overdue(recurring):
    here = recurring()
    put(here, {"due": int(here.clock.now()) - 60})
    assert listed(here)[0]["overdue"]
    put(here, {"due": int(here.clock.now()) + 600})
    assert not listed(here)[0]["overdue"]
    assert not here.node.transact(lambda root: healing_of(root)["problems"].overdue(here.clock.now()))
    heal(here, 1)
    assert here.ledger[-1]["outcome"] == "verified"


def test_the_configuration_may_give_each_a_date(recurring):
    here = recurring(problems={"due_s": 3600})
    [problem] = listed(here)
    assert problem["due"] == problem["opened_at"] + 3600


def test_it_closes_after_quiet_days_and_tells(recurring):
    here = recurring()
    here.clock.advance(13 * DAY)
    here.engine.govern()
    assert listed(here)[0]["state"] == "open"
    here.clock.advance(DAY)
    here.engine.govern()
    [problem] = listed(here)
    assert (problem["state"], problem["heals"], problem["quiet_until"]) == ("closed", 0, None)
    assert [message.kind for message in told(here)] == ["heal.problem", "heal.problem_closed"]
    assert len(here.service.ada.get("/api/audit?action=healing.problem.close").json) == 1
    heal(here, 4)
    assert [problem["state"] for problem in listed(here)] == ["closed"]
    heal(here, 1)
    assert [problem["state"] for problem in listed(here)] == ["open", "closed"]


def test_what_is_found_and_not_healed_is_not_quiet(recurring):
    here = recurring()
    here.at("notify")
    here.clock.advance(13 * DAY)
    here.report(**FAILED).turn().turn(10)
    here.report(**ACTIVE).turn()
    here.clock.advance(2 * DAY)
    here.engine.govern()
    assert listed(here)[0]["state"] == "open"


def test_a_person_closes_it_and_opens_it_again(recurring):
    here = recurring()
    put(here, {"state": "closed", "note": "the leak is mended"})
    [problem] = listed(here)
    assert (problem["state"], problem["heals"]) == ("closed", 5)
    assert problem["closed_at"] == int(here.clock.now())
    put(here, {"state": "open"})
    [problem] = listed(here)
    assert (problem["state"], problem["closed_at"]) == ("open", None)
    assert [message.kind for message in told(here)] == ["heal.problem", "heal.problem_closed", "heal.problem"]


def test_an_older_one_stays_closed_while_there_is_a_newer_one(recurring):
    here = recurring()
    put(here, {"state": "closed"})
    heal(here, 5)
    newer, older = listed(here)
    assert (newer["state"], older["state"]) == ("open", "closed")
    answer = here.service.otto.put_json(f"{URL}/{older['id']}", {"state": "open"}, status=409)
    assert answer.json["code"] == "newer_problem"


def test_it_survives_a_restart_and_the_rule(recurring):
    from opsapp.healing.resources.rules import drop_rule

    here = recurring()
    here.restart()
    here.node.transact(drop_rule, "nginx")
    here.turn(1)
    assert [problem["state"] for problem in listed(here)] == ["open"]


def test_what_is_old_is_forgotten_and_what_is_open_is_not(recurring):
    here = recurring()
    heal(here, 1)
    here.clock.advance(31 * DAY)
    here.engine.purge()
    assert len(listed(here)) == 1
    here.engine.govern()
    here.clock.advance(31 * DAY)
    here.engine.purge()
    assert listed(here) == []

    def left(root):
        book = healing_of(root)["problems"]
        return len(book.recurrences), len(book.closed), len(book.due), len(book.open_on)

    assert here.node.transact(left) == (0, 0, 0, 0)


def test_heals_too_few_for_a_problem_are_forgotten(ward):
    here = heal(ward(QUICK).at("execute"), 2)
    here.clock.advance(8 * DAY)
    here.engine.purge()
    assert here.node.transact(lambda root: len(healing_of(root)["problems"].recurrences)) == 0


def test_forgetting_goes_page_by_page():
    book = Problems()
    for number in range(10):
        book.healed("nginx", f"box-{number}", 100.0)
    book.healed("nginx", "box-3", 900.0)
    after, pages = book.forget(500.0, None, 4), 1
    while after is not None:
        after, pages = book.forget(500.0, after, 4), pages + 1
    assert pages == 3
    assert list(book.recurrences) == [("nginx", "box-3")]


def test_a_damaged_one_costs_nothing_but_itself(recurring, monkeypatch):
    from opsapp.healing.resources.problems import RecurringProblem

    here = recurring()
    monkeypatch.setattr(RecurringProblem, "__setstate__", broken, raising=False)
    here.node.store.db.cacheMinimize()
    [problem] = listed(here)
    assert problem["unreadable"].startswith("StateLoadError")
    heal(here, 1)
    assert here.ledger[-1]["outcome"] == "verified"
    here.clock.advance(15 * DAY)
    here.engine.govern()


def broken(self, state):
    raise ValueError("damaged")
