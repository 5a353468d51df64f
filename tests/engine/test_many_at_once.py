"""Thousands at one moment: what is done about one of them, or some, neither reads nor writes the others."""

from types import SimpleNamespace

import pytest

from opsapp.approvals import engine as approvals
from opsapp.approvals.records import NewRequest
from opsapp.approvals.resources import approvals_of, request
from opsapp.monitoring.engine import changes
from opsapp.monitoring.engine.scope import MonitorScope
from opsapp.monitoring.evolve import index_taken
from opsapp.monitoring.resources import Incident, incidents_of
from tests.support.projections import failing_load

MANY, MOST = 500, 300


@pytest.fixture
def troubles(service):
    """Incidents of which each tenth is somebody's: every user has five."""

    def fill(root):
        incidents, now = incidents_of(root), service.clock.now()
        for n in range(MANY):
            settings = SimpleNamespace(tags=())
            monitor = SimpleNamespace(id=f"m{n}", name=f"m {n}", record=settings, state=SimpleNamespace())
            incident = incidents.start(monitor, "down", now + n / 100)
            if n % 10 == 0:
                incident.acknowledge(f"user-{n % 100}", "", now)

    service.transact(fill)
    return service


def owners(root):
    incidents = incidents_of(root)
    return [incident.acknowledged_by for incident in incidents.some(incidents.open) if incident.acknowledged_by]


def given_back(root):
    """The incidents that are read for that."""
    with failing_load(root, 0, Exception()) as loaded:
        changes.give_back(root, "user-30", 0.0)
    return [item.id for item in loaded if isinstance(item, Incident)]


@pytest.mark.parametrize("since", ["made by this version", "made by an older one"])
def test_who_is_gone_gives_back_their_own_and_no_other_incident_is_read(troubles, since):
    if since == "made by an older one":
        troubles.transact(lambda root: delattr(incidents_of(root), "taken"))
        troubles.transact(index_taken)
    assert len(troubles.transact(given_back)) == MANY / 100
    left = troubles.read(owners)
    assert len(left) == MANY / 10 - MANY / 100
    assert "user-30" not in left


def test_an_incident_is_of_who_had_it_last_until_it_is_over(troubles):
    def pass_on(root):
        incidents = incidents_of(root)
        first, second, *_ = [incident.id for incident in incidents.some(incidents.open) if incident.acknowledged_by]
        incidents[first].assign("otto", "vera", "", 0.0)
        incidents.end(second, 0.0)
        return first

    first = troubles.transact(pass_on)
    for name in ("vera", "user-0", "user-10"):
        troubles.transact(changes.give_back, name, 0.0)
    left = troubles.read(owners)
    assert len(left) == MANY / 10 - 2 * MANY / 100
    assert troubles.read(lambda root: incidents_of(root)[first].acknowledged_by) is None


def test_requests_that_nobody_decided_expire_some_at_a_time(service, written):
    def ask(root):
        for n in range(MANY):
            plan = {"target": f"h{n}", "action": "clear_cache", "condition": "down == 1"}
            request(root, NewRequest("heal", f"h{n}", plan, "", "healing", 60.0, {"case_id": f"c{n}"}), 0.0)

    service.transact(ask)
    written.clear()
    while service.transact(approvals.expire, service.clock.now()):
        pass
    assert service.read(lambda root: approvals_of(root).counts["expired"]) == MANY
    assert max(written) <= MOST, written
    assert len(written) <= MANY / 20


def test_a_document_of_many_windows_reads_the_names_of_monitors_once(service, monkeypatch):
    asked, names = [], MonitorScope.names

    def counted(scope, root):
        asked.append(root)
        return names(scope, root)

    monkeypatch.setattr(MonitorScope, "names", counted)
    span = {"start": "2055-02-15T08:10:00", "end": "2055-02-15T08:20:00"}
    document = {
        "monitors": [{"name": f"m {n}", "type": "http", "url": f"https://h{n}.example.com/"} for n in range(30)],
        "windows": [{"name": f"w {n}", "scope": [f"m {n}"], **span} for n in range(30)],
    }
    service.ada.post_json("/api/apply", {"document": document})
    assert len(asked) == 1
    exported = service.ada.get("/api/export").json["windows"]
    assert sorted((entry["name"], entry["scope"]) for entry in exported) == sorted(
        (entry["name"], entry["scope"]) for entry in document["windows"]
    )
