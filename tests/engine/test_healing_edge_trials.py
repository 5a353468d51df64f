"""Causes by intervention: what a heal of the parent alone did to its child is evidence about their dependency."""

import pytest

from opsapp.healing.engine.dependencies import add_edge, learn_edge
from opsapp.healing.resources import healing_of
from opsapp.healing.resources.edges import EdgeTrial
from opsapp.notify.resources import inbox
from opsapp.wire.actions import ACTIONS
from tests.support.hosts import place

DB = {
    "id": "db",
    "condition": 'monitor.status == "down"',
    "targets": {"monitors": ["db"]},
    "action": {"type": "restart_service", "params": {"service": "nginx"}},
    "settle_s": 1,
    "cooldown_s": 1,
    "verify_timeout_s": 30,
}
WEB = {**DB, "id": "web", "targets": {"monitors": ["web"]}, "cooldown_s": 3600}


def monitor(name):
    return place(name, "a1", subject=f"monitor:{name}", names=(name, f"id-{name}"), interval=60.0)


@pytest.fixture
def shop(ward):
    """`web` is said to depend on `db`. The rule heals the one, and tells of the other."""

    def make(edge=learn_edge, **healing):
        limits = {"brake": {"max_heals_per_hour": {"rule": 1000, "fleet": 1000, "site": 1000}}}
        here = ward(DB, WEB, places=[place(), monitor("db"), monitor("web")], **{**limits, **healing})
        here.at("execute", "db").at("notify", "web")
        here.node.transact(edge, "web", "db")
        return looked_at(looked_at(here, "db", "up"), "web", "up")

    return make


def looked_at(here, name, status):
    """A check ends so."""
    began = here.clock.now()
    here.clock.advance(0.1)
    here.report(f"monitor:{name}", status=status)
    here.engine.readings.checked[f"monitor:{name}"] = began
    for done in [done for subject, done in here.hosts.rechecked if subject == f"monitor:{name}"][-1:]:
        done(began)
    return here.turn()


def incident(here, web):
    """Both are down; `db` alone is healed; `web` is then as it is said."""
    looked_at(looked_at(here, "db", "down"), "web", "down")
    for _ in range(12):
        here.turn(1)
        looked_at(looked_at(here, "db", "down"), "web", "down")
        if "snapshot" in [command["params"]["phase"] for command in here.hosts.sent if command["answer"] is None]:
            break
    here.hosts.finish("snapshot", snapshot={"kind": "unit", "state": {}})
    here.turn(1)
    here.hosts.finish("execute", handler="systemctl")
    here.turn(1).turn(ACTIONS["restart_service"].settle)
    looked_at(here, "db", "up").turn(0.5)
    assert [entry["outcome"] for entry in here.ledger if entry["rule_id"] == "db"][-1] == "verified"
    for _ in range(14):
        here.turn(10)
        looked_at(looked_at(here, "db", "up"), "web", web)
    looked_at(here, "web", "up")
    return here.turn(400)


def edge(here):
    here.service.tokens.clear()
    edges = here.service.vera.get("/api/healing/dependencies").json["evidence"]
    return edges[0] if edges else None


def test_a_child_that_comes_back_with_its_parent_is_evidence_for(shop):
    here = shop()
    assert edge(here) == {
        "from": "web", "to": "db", "confidence": None, "came_back": 0, "stayed": 0, "learned": True,
    }  # fmt: skip
    incident(here, "up")
    known = edge(here)
    assert (known["came_back"], known["stayed"]) == (1, 0)
    assert known["confidence"] > 0.88


def test_a_learned_edge_that_is_wrong_falls_out_within_ten_incidents_and_people_are_told(shop):
    here, incidents = shop(), 0
    while edge(here) is not None:
        incident(here, "down")
        incidents += 1
        assert incidents <= 10
    assert incidents == 3
    told = [row for row in here.node.transact(inbox.take, 10_000) if row.kind == "heal.dependency"]
    assert [row.title for row in told] == ["web does not depend on db"]
    assert len(here.service.ada.get("/api/audit?action=healing.dependencies.remove").json) == 1
    book = here.node.transact(lambda root: [len(tree) for tree in vars(healing_of(root).edges).values()])
    assert book == [0, 0, 0, 0, 0]


def test_an_edge_that_a_person_wrote_is_only_suggested_to_be_taken_out(shop):
    here = shop(add_edge)
    for _ in range(5):
        incident(here, "down")
    assert edge(here)["confidence"] < 0.2
    [doubt] = [row for row in here.service.vera.get("/api/healing/suggestions").json if "doubt" in row["category"]]
    assert doubt["about"]["target"] == "web"
    here.service.otto.post(f"/api/healing/suggestions/{doubt['id']}/confirm")
    assert edge(here) is None


def test_a_child_on_which_somebody_worked_says_nothing(shop):
    here = shop()
    here.hosts.interventions += [("monitor:web", here.clock.now() + seconds) for seconds in range(0, 400, 1)]
    incident(here, "up")
    assert edge(here)["confidence"] is None


def test_what_is_not_measured_says_nothing(shop):
    here = shop()

    def followed(root):
        now = here.clock.now()
        healing_of(root).edges.follow(EdgeTrial("web", "db", now + 100, now + 200), now + 200)

    here.node.transact(followed)
    here.turn(250)
    assert edge(here)["confidence"] is None
    assert here.node.transact(lambda root: len(healing_of(root).edges.trials)) == 0


def test_an_edge_that_is_taken_out_meanwhile_is_followed_no_more(shop):
    here = shop()

    def followed(root):
        now = here.clock.now()
        healing_of(root).edges.follow(EdgeTrial("web", "db", now, now + 200), now + 5)
        assert [trial.parent for trial in healing_of(root).edges.of_child("web")] == ["db"]
        assert healing_of(root).edges.of_child("db") == []

    here.node.transact(followed)
    here.service.ada.delete_json("/api/healing/dependencies/edges", {"target": "web", "depends_on": "db"})
    assert here.node.transact(lambda root: len(healing_of(root).edges.trials)) == 0


def test_the_page_says_how_sure_it_is(shop):
    here = incident(shop(), "up")
    browser = here.service.browser("otto")
    assert "sure: came back with it 1 of 1 times" in browser.get("/healing/dependencies").text
