"""The public status document is made once for all visitors, and only when something has changed."""

import pytest

from opsapp.monitoring.engine import lateststatus
from opsapp.monitoring.engine.lateststatus import DEAR_S, KEPT_S, REST, latest_status
from tests.support.monitoring import UP, Lookout


@pytest.fixture
def shop(service):
    lookout = Lookout(service)
    shop = lookout.add(name="Shop", tags=["public"], retries=0)
    lookout.sees[shop] = UP
    lookout.run(60, step=5)
    return shop


@pytest.fixture
def made(monkeypatch):
    """One entry for each time that the document was made."""
    times, make = [], lateststatus.status_document
    monkeypatch.setattr(lateststatus, "status_document", lambda node, root: times.append(1) or make(node, root))
    return times


def test_all_that_visitors_read_comes_from_one_document(service, shop, made):
    paths = [
        "/status",
        "/status.rss",
        "/api/monitoring/status-page",
        f"/status/monitors/{shop}",
        f"/status/badge/{shop}.svg",
    ]
    for path in paths:
        first = service.anonymous.get(path)
        assert service.anonymous.get(path).body == first.body
        service.anonymous.get(path, headers={"If-None-Match": first.headers["ETag"]}, status=304)
    service.anonymous.get("/status/monitors/none", status=404)
    assert len(made) == 1


def test_a_page_is_rendered_once_for_each_of_its_looks(service, shop, monkeypatch):
    rendered, of = [], lateststatus.KeptText.of
    monkeypatch.setattr(lateststatus.KeptText, "of", lambda text: rendered.append(1) or of(text))
    service.anonymous.get("/status")
    service.anonymous.get("/status")
    assert len(rendered) == 1
    settings = service.ada.get("/api/status/settings").json
    service.ada.put_json("/api/status/settings", settings | {"name": "Another name"})
    assert "Another name" in service.anonymous.get("/status").text


def test_a_commit_and_five_seconds_make_it_anew(service, shop, made):
    service.anonymous.get("/status")
    service.otto.put_json(f"/api/monitoring/endpoints/{shop}", {"name": "Market"})
    assert "Market" in service.anonymous.get("/status").text
    assert len(made) == 2
    service.clock.advance(KEPT_S - 1)
    service.anonymous.get("/status")
    assert len(made) == 2
    service.clock.advance(1)
    service.anonymous.get("/status")
    assert len(made) == 3


def test_one_that_is_dear_rests_whatever_is_committed(service, shop, made):
    """Else a page that takes a second to make would take a whole processor while something is committed each second."""
    latest = latest_status(service.node)
    now = latest.now()
    now.cost = 10 * DEAR_S
    service.otto.put_json(f"/api/monitoring/endpoints/{shop}", {"name": "Market"})
    assert latest.now() is now
    service.clock.advance(REST * now.cost)
    assert latest.now() is not now
    assert len(made) == 2


def test_what_is_kept_has_a_bound(service, shop, monkeypatch):
    monkeypatch.setattr(lateststatus, "KEPT_BYTES", 3000)
    latest = latest_status(service.node)
    small, large = latest.text("small", lambda document: "x" * 2000), latest.text("large", lambda document: "y" * 2000)
    assert latest.text("small", lambda document: "anew") == small
    assert latest.text("large", lambda document: "anew") != large
