"""What many pages of their own cost: a change of one monitor makes again only the pages that show it, and only when
somebody asks. Counted in pages made and objects read, by no clock."""

from itertools import chain

import pytest
from ZODB.Connection import Connection

from opsapp.monitoring.engine import lateststatus
from opsapp.statuspages.engine import ownpages
from opsapp.statuspages.records import OwnPageRecord, ShownGroup
from opsapp.ui.views import statuspage as views


@pytest.fixture
def counted(monkeypatch):
    """The pages that were made, and the objects that were read."""

    class Counted:
        def __init__(self):
            self.pages, self.objects = [], 0

        def __call__(self):
            before, self.pages, self.objects = (self.pages, self.objects), [], 0
            return before

    counted = Counted()
    make, load = views.status_document, Connection.setstate

    def making(node, root, scope):
        counted.pages.append(scope.page)
        return make(node, root, scope)

    def reading(connection, obj):
        counted.objects += 1
        return load(connection, obj)

    monkeypatch.setattr(views, "status_document", making)
    monkeypatch.setattr(Connection, "setstate", reading)
    return counted


def filled(service, pages, monitors, shown):
    """Pages `p0`, ... of `shown` monitors each; each monitor is on as many pages as the next. Their ids."""
    settings = {"type": "push", "interval": 60}
    ids = [
        service.otto.post_json("/api/monitoring/endpoints", settings | {"name": f"m{number}"}, status=201).json["id"]
        for number in range(monitors)
    ]
    step = max(1, monitors // pages)

    def make(root):
        for number in range(pages):
            names = [ids[(number * step + at) % monitors] for at in range(shown)]
            group = ShownGroup(name="Yours", monitors=tuple(names))
            ownpages.create(root, OwnPageRecord(slug=f"p{number}", name=f"Page {number}", groups=(group,)))

    service.transact(make)
    return ids


def ask(service, pages):
    for number in range(pages):
        service.anonymous.get(f"/status/p{number}")


def page_ids(service, monitor_id):
    def of(root):
        pages = ownpages.store_of(root).own_pages().values()
        return {page.id for page in pages if monitor_id in chain(*(group.monitors for group in page.record.groups))}

    return service.read(of)


def check_cost(service, counted, pages, monitors, shown):
    ids = filled(service, pages, monitors, shown)
    counted()
    ask(service, pages)
    first = counted()
    assert len(first[0]) == pages
    ask(service, pages)
    again = counted()
    assert again[0] == []
    service.otto.put_json(f"/api/monitoring/endpoints/{ids[0]}", {"name": "Another name"})
    showing = page_ids(service, ids[0])
    assert 0 < len(showing) < pages
    counted()
    assert counted.pages == [], "nobody has asked"
    ask(service, pages)
    changed = counted()
    assert sorted(changed[0]) == sorted(showing), "each that shows it, once"
    ask(service, pages)
    assert counted()[0] == []
    return first[1], again[1], changed[1]


def test_a_change_makes_again_only_the_pages_that_show_it(service, counted):
    first, again, changed = check_cost(service, counted, pages=8, monitors=32, shown=8)
    assert changed < first
    assert changed - again < 60, "the changed monitor and what the outbox has, not what other pages show"


@pytest.mark.nightly("200 pages of 300 monitors take minutes")
def test_two_hundred_pages_of_three_hundred_monitors(service, counted):
    first, again, changed = check_cost(service, counted, pages=200, monitors=2_000, shown=300)
    print(f"objects read: {first} at first, {again} when nothing has changed, {changed} after a change of one monitor")
    assert changed - again < 200


@pytest.mark.parametrize("told", ["notice", "incident", "window", "page"])
def test_what_is_of_no_monitor_is_seen_at_once(service, counted, told):
    ids = filled(service, 2, 4, 2)
    ask(service, 2)
    window = {"name": "Work", "start": "2055-01-16T00:00:00", "end": "2055-01-16T01:00:00", "scope": [ids[0]]}
    {
        "notice": lambda: service.otto.post_json("/api/monitoring/notices", {"title": "Work", "pages": ["p0"]}),
        "incident": lambda: service.otto.post_json("/api/monitoring/incidents", {"name": "Work", "pages": ["p0"]}),
        "window": lambda: service.otto.post_json("/api/maintenance", window),
        "page": lambda: service.ada.put_json("/api/status/pages/p0", {"description": "Work"}),
    }[told]()
    assert "Work" in service.anonymous.get("/status/p0").text


def test_after_five_seconds_a_page_is_made_again_all_the_same(service, counted):
    filled(service, 2, 4, 2)
    ask(service, 2)
    counted()
    service.clock.advance(lateststatus.KEPT_S)
    ask(service, 2)
    assert len(counted()[0]) == 2
