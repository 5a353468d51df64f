"""Replay: recorded events under a changed policy; and dependencies found in what was recorded."""

import json

import pytest

from opsapp.healing.engine import discovery
from opsapp.healing.engine.rehearse import PolicyChange
from opsapp.healing.engine.replay import change_of, replay
from opsapp.healing.logic.cofailure import Pair
from opsapp.healing.logic.graph import Dependency
from opsapp.healing.records import DeclaredRule
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.cases import case_of
from opsapp.lib.problems import Invalid
from opsapp.monitoring.resources import incidents_of, monitors_of
from opsapp.wire.records import made, plain
from tests.engine.healing import NGINX
from tests.support.dependencies import depend
from tests.support.hosts import place

DOWN = {"id": "down", "condition": "down == 1", "action": {"type": "clear_cache"}, "trust_ceiling": "notify"}
PLACES = [place("db", "d"), place("web", "w")]


@pytest.fixture
def past(ward):
    """The two hosts failed together three times, at notify."""
    here = ward(DOWN, places=PLACES, absorption_window_s=60)
    for _ in range(3):
        fail_together(here)
    assert [entry["outcome"] for entry in here.ledger] == ["notified"] * 6
    return here


def fail_together(here):
    for agent in "dw":
        here.report(f"agent:{agent}", down=1)
    here.turn().turn(5)
    for agent in "dw":
        here.report(f"agent:{agent}", down=0)
    here.turn().turn(3600)


def changed(here, rules=None, dependencies=None, days=7):
    rules = rules and [made(DeclaredRule, rule) for rule in rules]
    entries = None if dependencies is None else [made(Dependency, entry) for entry in dependencies]
    change = here.node.transact(change_of, rules, entries)
    return plain(replay(here.node, days, change))


def test_the_same_policy_makes_no_difference(past):
    count = {"rule_id": "down", "recorded": 6, "would": 6}
    assert changed(past, rules=[DOWN]) == {"events": 6, "same": 6, "differences": [], "rules": [count]}
    assert plain(replay(past.node, 7, PolicyChange({}, None))) == {
        "events": 6,
        "same": 6,
        "differences": [],
        "rules": [],
    }


def test_a_dependency_would_have_suppressed_the_dependant(past):
    found = changed(past, dependencies=[{"target": "db"}, {"target": "web", "depends_on": ["db"]}])
    assert (found["events"], found["same"], len(found["differences"])) == (6, 3, 3)
    assert {(one["event"]["target"], one["then"], one["would"]) for one in found["differences"]} == {
        ("web", "notify", "suppress")
    }


def test_what_is_in_doubt_now_was_not_then(past):
    """A monitor that is just being looked at again plays no part in what was recorded."""
    past.hosts.here = [*PLACES, place("gateway", None, subject="monitor:m1", names=("gateway", "m1"))]
    past.hosts.doubts.add("monitor:m1")
    graph = [{"target": "gateway"}, {"target": "db", "depends_on": ["gateway"]}]
    assert changed(past, dependencies=graph)["differences"] == []


def test_another_action_or_threshold_is_a_difference(past):
    other = changed(past, rules=[{**DOWN, "action": {"type": "log_rotate"}}])["differences"]
    assert {(one["would"], one["would_action"]) for one in other} == {("notify", "log_rotate")}
    never = changed(past, rules=[{**DOWN, "condition": "down > 1"}])["differences"]
    assert {one["would"] for one in never} == {"nothing"}
    off = changed(past, rules=[{**DOWN, "enabled": False}])["differences"]
    assert {one["would"] for one in off} == {"suppress"}


def test_what_did_not_last_would_not_have_fired_under_a_longer_for(past):
    """Each of the failures lasted for some seconds."""
    found = changed(past, rules=[{**DOWN, "for": 600}])
    assert {(one["then"], one["would"]) for one in found["differences"]} == {("notify", "nothing")}
    assert (found["events"], found["same"]) == (6, 0)
    assert changed(past, rules=[{**DOWN, "for": "3s"}])["differences"] == []  # it lasted as long as the hold


def test_an_onset_fires_again_less_often_under_a_longer_cooldown(ward):
    here = ward({**DOWN, "cooldown_s": 120}, places=PLACES)
    here.report("agent:d", down=1).turn()
    here.pass_time(900, step=10, **{"subject": "agent:d", "down": 1})
    assert [entry["outcome"] for entry in here.ledger] == ["notified"] * 8
    for cooldown, left in ((120, 8), (240, 4), (360, 3), (86400, 1)):
        found = changed(here, rules=[{**DOWN, "cooldown_s": cooldown}])
        assert (found["same"], {one["would"] for one in found["differences"]} <= {"nothing"}) == (left, True)
    lasting = changed(here, rules=[{**DOWN, "cooldown_s": 120, "for": 300}])
    assert lasting["same"] == 5  # those of the first five minutes would not have come


def test_only_so_many_days_and_nothing_is_written(past, tmp_path):
    before = (tmp_path / "main.fs").read_bytes()
    past.clock.advance(2 * 86400)
    assert changed(past, rules=[DOWN], days=1)["events"] == 0
    assert changed(past, rules=[DOWN], days=3)["events"] == 6
    assert (tmp_path / "main.fs").read_bytes() == before


@pytest.mark.parametrize(
    ("rules", "dependencies"), [(None, None), (None, [{"target": "db", "depends_on": ["unheard-of"]}])]
)
def test_a_policy_that_could_not_be_declared_is_refused(past, rules, dependencies):
    with pytest.raises(Invalid):
        changed(past, rules, dependencies)


@pytest.fixture
def cascades(ward):
    """Whenever `db` fails, `web` does so twenty seconds later; now and then `web` fails alone."""
    here = ward(DOWN, places=PLACES, absorption_window_s=60)
    for _ in range(6):
        fail(here, "d", "w")
    for _ in range(3):
        fail(here, "w")
    here.clock.advance(5 * 86400)
    return here


def fail(here, *agents):
    for agent in agents:
        here.report(f"agent:{agent}", down=1).turn().turn(20)
    for agent in agents:
        here.report(f"agent:{agent}", down=0)
    here.turn().turn(3600)


def suggestions(here):
    return here.node.transact(lambda root: [*map(plain, healing_of(root)["suggestions"].active())])


def test_what_fails_together_is_suggested_once_and_confirmed(cascades):
    discovery.step(cascades.node)
    [one] = suggestions(cascades)
    assert one["category"] == "dependency_candidate"
    about = one["about"]
    assert (about["target"], about["depends_on"], about["support"], about["confidence"]) == ("web", "db", 6, 1.0)
    assert about["sure"] > 0.95
    assert one["message"] == (
        "web failed with 100% of the failures of db (6 times), db first in 100% of them: does web depend on db? "
        f"The direction is {about['sure']:.0%} sure."
    )
    api = cascades.service.otto
    declared = api.get("/api/openapi.json").json["components"]["schemas"]["SuggestionAbout"]["properties"]
    assert {name for name, kind in declared.items() if kind["type"] == "number"} >= about.keys() - {
        "target", "depends_on", "support",
    }  # fmt: skip
    assert api.post(f"/api/healing/suggestions/{one['id']}/confirm").json == {"success": True}
    api.post(f"/api/healing/suggestions/{one['id']}/confirm", status=409)
    graph = api.get("/api/healing/dependencies").json
    assert graph["edges"] == [{"from": one["about"]["target"], "to": one["about"]["depends_on"]}]
    discovery.step(cascades.node)
    assert suggestions(cascades) == []
    cascades.node.transact(lambda root: depend(root, [], "yaml"))
    assert api.get("/api/healing/dependencies").json["edges"] == graph["edges"]


def test_how_close_two_failures_must_be_is_configured(cascades):
    cascades.configure(discovery={"together_s": 36000})  # chance does as well
    discovery.step(cascades.node)
    assert suggestions(cascades) == []


def test_those_that_were_suggested_hide_no_others(cascades, monkeypatch):
    monkeypatch.setattr(discovery, "MOST_SUGGESTED", 1)
    known = [Pair("web", "db", 6, 1.0, 9.0, 1.0, 0.99), Pair("app", "db", 6, 1.0, 9.0, 1.0, 0.98)]
    for _ in range(2):
        cascades.node.transact(discovery.suggest, known, cascades.clock.now())
    assert [one["about"]["target"] for one in suggestions(cascades)] == ["app", "web"]


def test_one_that_was_dismissed_does_not_come_back(cascades):
    discovery.step(cascades.node)
    [one] = suggestions(cascades)
    cascades.service.otto.post(f"/api/healing/suggestions/{one['id']}/dismiss")
    discovery.step(cascades.node)
    assert suggestions(cascades) == []


def test_an_edge_that_would_close_a_cycle_is_refused(cascades):
    discovery.step(cascades.node)
    [one] = suggestions(cascades)
    about = one["about"]
    reverse = about["depends_on"], about["target"]
    cascades.node.transact(lambda root: healing_of(root)["dependencies"].add_edge(*reverse))
    refused = cascades.service.otto.post(f"/api/healing/suggestions/{one['id']}/confirm", status=409)
    assert refused.json["code"] == "cycle"


# -- monitors that no rule looks at -----------------------------------------------------------------------------------


@pytest.fixture
def monitors(ward):
    """Two monitors and their ids by name."""
    here = ward(DOWN, places=PLACES)
    body = {"type": "tcp", "url": "tcp://127.0.0.1:9", "enabled": False}
    made = {
        name: here.service.otto.post_json("/api/monitoring/endpoints", {**body, "name": name}) for name in ("a", "b")
    }
    return here, {name: answer.json["id"] for name, answer in made.items()}


def go_down(here, *ids, apart=20.0):
    """One after the other; an hour later they are up again."""
    for monitor_id in ids:
        here.node.transact(_open, monitor_id, here.clock.now())
        here.clock.advance(apart)
    here.clock.advance(3600)


def _open(root, monitor_id, now):
    incidents, monitor = incidents_of(root), monitors_of(root)[monitor_id]
    incidents.end(incidents.start(monitor, "timeout", now).id, now + 60)
    monitor.state.incident_id = None


def test_monitors_that_go_down_together_are_suggested_from_their_incidents(monitors):
    here, ids = monitors
    for _ in range(5):
        go_down(here, ids["a"], ids["b"])
    go_down(here, ids["b"])  # the one fails without the other, too
    here.clock.advance(5 * 86400)
    discovery.step(here.node)
    [one] = suggestions(here)
    about = one["about"]
    assert (about["target"], about["depends_on"], about["support"], about["confidence"]) == ("b", "a", 5, 1.0)


def test_incidents_are_called_as_their_monitors_are_now_and_those_of_deleted_ones_count_no_more(monitors):
    here, ids = monitors
    for _ in range(5):
        go_down(here, ids["a"], ids["b"])
    here.service.otto.put_json(f"/api/monitoring/endpoints/{ids['a']}", {"name": "gateway"})
    found = discovery.failures_since(here.node, 0.0, 120.0)
    assert {name: len(times) for name, times in found.items()} == {"gateway": 5, "b": 5}
    here.service.ada.delete(f"/api/monitoring/endpoints/{ids['b']}")
    assert list(discovery.failures_since(here.node, 0.0, 120.0)) == ["gateway"]


def test_a_failure_that_the_ledger_tells_of_too_counts_once(monitors):
    here, ids = monitors
    rule = {"source": "test", "rule_id": "down", "condition": "c", "target": "a", "severity": "info", "metrics": {}}

    def notified(root, at):
        ledger = healing_of(root)["ledger"]
        case = case_of({**rule, "at": at})
        ledger.end(root, case, rule_id="down", outcome="notified", reason="", now=at, events=1)

    for _ in range(3):
        here.node.transact(notified, here.clock.now() + 30)
        go_down(here, ids["a"])
    go_down(here, ids["a"])
    assert len(discovery.failures_since(here.node, 0.0, 120.0)["a"]) == 4


def test_incidents_are_read_page_by_page(monitors, monkeypatch):
    here, ids = monitors
    for _ in range(4):
        go_down(here, ids["a"])
    monkeypatch.setattr(discovery, "PAGE", 2)
    began = here.clock.now() - 4 * 3620
    assert len(discovery.failures_since(here.node, 0.0, 120.0)["a"]) == 4
    assert len(discovery.failures_since(here.node, began + 1, 120.0)["a"]) == 3


@pytest.mark.parametrize(
    ("changes", "after", "outcome"),
    [
        ({}, {"service__nginx__state": "active"}, None),
        ({"settle_s": 9}, {"service__nginx__state": "active"}, None),
        ({"verify_timeout_s": 1}, {"service__nginx__state": "active"}, "inconclusive"),
        ({"verify_timeout_s": 1}, {"service__nginx__state": "failed"}, None),
        ({"settle_s": 9}, {"service__nginx__state": "failed"}, None),
    ],
)
def test_what_the_host_answered_goes_through_the_stages_too(ward, changes, after, outcome):
    rule = {**NGINX, "settle_s": 5, "verify_timeout_s": 60}
    here = ward(rule).at("execute").report(service__nginx__state="failed").turn().turn(6)
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    here.hosts.finish("execute")
    here.turn(1)
    here.turn(6)
    here.pass_time(10)
    here.report(**after).turn(0.5).until_judged(**after)
    verdict = here.ledger[0]["outcome"]
    assert verdict == ("verified" if after["service__nginx__state"] == "active" else "failed")
    found = changed(here, rules=[{**rule, **changes}])["differences"]
    told = [(one["then_outcome"], one["would"], one["would_outcome"]) for one in found]
    assert told == ([] if outcome is None else [(verdict, "execute", outcome)])


def replayed(here, who, status=200, **values):
    page = here.service.browser(who).get("/healing/replay")
    form = next(form for form in page.forms.values() if "act" in form.fields and form["act"].value == "replay")
    for name, value in values.items():
        form[name] = value
    return form.submit(status=status)


def test_a_page_replays_another_graph(past):
    graph = [{"target": "db"}, {"target": "web", "depends_on": ["db"]}]
    shown = replayed(past, "otto", dependencies=json.dumps(graph)).html
    assert "3 of 6 recorded events" in shown.select_one("main [role=status]").text
    rows = [row.text.split() for row in shown.select("#differences tbody tr")]
    assert {tuple(row[:2]) for row in rows} == {("down", "web")}
    assert all("suppress" in row for row in rows)


def test_a_page_replays_the_same_rules_and_says_what_is_wrong(past):
    shown = replayed(past, "otto", rules=json.dumps([DOWN])).html
    assert "makes no difference" in shown.select_one("#differences").text
    assert "give rules or dependencies" in replayed(past, "otto", 422).text


def test_the_page_of_replays_is_for_operators(past):
    past.service.browser("vera").get("/healing/replay", status=403)
