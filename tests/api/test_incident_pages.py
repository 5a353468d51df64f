"""What is over on /incidents: lines over pages that read little and stay as they are while new incidents come."""

from collections import Counter
from urllib.parse import parse_qs, urlsplit

import pytest
from ZODB.Connection import Connection

from opsapp.monitoring.engine import incidentpages
from opsapp.monitoring.resources import incidents_of, monitors_of
from opsapp.ui.shapes import incidents as shapes
from tests.api.test_pages_triage import page
from tests.bench import years_store
from tests.support.monitoring import UP, Lookout

PAST = 20_000
API = "/api/monitoring/incidents"
LINES = 50


@pytest.fixture
def lookout(service):
    return Lookout(service)


def over(service, *told):
    """Incidents that are over: (monitor's name, seconds ago, cause), in the order of time."""

    def write(root):
        incidents, names = incidents_of(root), {each.name: each for each in monitors_of(root).values()}
        for name, ago, cause in sorted(told, key=lambda each: -each[1]):
            at = service.clock.now() - ago
            incident = incidents.start(names[name], cause, at)
            names[name].state.incident_id = None
            incidents.end(incident.id, at + 30)

    service.transact(write)


def pages_of(service, start="/incidents"):
    """The pages, by the link to the next."""
    place, shown = start, []
    while place:
        shown.append(page(service, place).html)
        link = shown[-1].select_one("nav.pager a[rel=next]")
        place = link and link["href"]
    return shown


def lines(shown):
    told = [row.select_one("td.wide") for row in shown.select("main table tbody tr")]
    return [" ".join((each.select_one("summary") or each.select_one("a")).text.split()) for each in told]


def test_a_page_of_20_000_reads_what_it_shows(service, monkeypatch):
    lookout = Lookout(service)
    lookout.sees[lookout.add(name="Shop")] = UP
    monkeypatch.setattr(years_store, "OPEN", 3)
    service.transact(lambda root: years_store.add_incidents(root, 0, PAST, PAST, service.clock.now()))
    second = page(service, "/incidents").html.select_one("nav.pager a[rel=next]")["href"]
    far = "/incidents?before=" + service.vera.get(f"{API}?limit=1&offset=15000").json[0]["id"]
    loaded, real = Counter(), Connection.setstate

    def setstate(connection, thing):
        loaded[type(thing).__name__] += 1
        real(connection, thing)

    for place in ("/incidents", second, far, far + "&q=shop", "/incidents?status=resolved"):
        page(service, place)
        loaded.clear()
        with monkeypatch.context() as patch:
            patch.setattr(Connection, "setstate", setstate)
            service.node.store.db.cacheMinimize()
            shown = page(service, place).html
        assert LINES <= len(shown.select("main table tbody tr")) <= LINES + 3
        assert loaded["Incident"] <= 2 * incidentpages.AT_ONCE + 3, f"{place}: {loaded}"
        assert loaded.total() <= 1000, f"{place}: {loaded.most_common(8)}"
        assert len(shown.find_all()) <= 3000


def test_pages_have_each_incident_once_and_cut_no_line(lookout):
    service = lookout.service
    names = [lookout.add(name=f"m{number}") and f"m{number}" for number in range(70)]
    told = [(name, 10_000 + number, "No answer") for number, name in enumerate(names[:7])]  # one line
    told += [(name, 20_000 + 500 * number, f"HTTP {number}") for number, name in enumerate(names)]
    told += [(name, 59_000 + number, "Refused") for number, name in enumerate(names[:30])]  # across line 50
    over(service, *told)
    shown = pages_of(service)
    assert len(shown) == 2
    told_lines = [lines(each) for each in shown]
    assert told_lines[0][0] == "7 monitors: No answer."
    assert sum(line.startswith("30 monitors: Refused") for each in told_lines for line in each) == 1
    assert sum(map(len, told_lines)) == 72
    assert [link.text for link in shown[1].select("nav.pager a")] == ["Newest"]
    assert shown[1].select_one("nav.pager a")["href"] == "/incidents"


def test_the_next_page_stays_as_it_is_while_new_ones_come(lookout):
    service = lookout.service
    names = [lookout.add(name=f"m{number}") and f"m{number}" for number in range(120)]
    over(service, *((name, 1000 + 500 * number, f"HTTP {number}") for number, name in enumerate(names)))
    place = page(service, "/incidents").html.select_one("nav.pager a[rel=next]")["href"]
    before = lines(page(service, place).html)
    over(service, *((name, 10 + number, "New") for number, name in enumerate(names[:40])))
    assert lines(page(service, place).html) == before
    assert parse_qs(urlsplit(place).query).keys() == {"before"}
    assert before[0] == "m50"


def test_an_outage_that_is_longer_than_a_page_goes_on_on_the_next(lookout, monkeypatch):
    monkeypatch.setattr(incidentpages, "AT_ONCE", 10)
    monkeypatch.setattr(incidentpages, "MOST", 20)
    service = lookout.service
    names = [lookout.add(name=f"m{number}") and f"m{number}" for number in range(45)]
    over(service, *((name, 1000 + number, "No answer") for number, name in enumerate(names)))
    assert [lines(each) for each in pages_of(service)] == [
        ["20 monitors: No answer."], ["20 monitors: No answer."], ["5 monitors: No answer."]
    ]  # fmt: skip


def test_the_members_that_a_line_leaves_out_are_a_link_away(lookout, monkeypatch):
    monkeypatch.setattr(shapes, "MOST_PAST", 3)
    service = lookout.service
    names = [lookout.add(name=f"m{number}") and f"m{number}" for number in range(8)]
    over(service, *((name, 1000 + number, "No answer") for number, name in enumerate(names)))
    [line] = page(service, "/incidents").html.select("tr.alike")
    *members, rest = line.select("details a")
    assert [each.text for each in members] == ["m0", "m1", "m2"]
    assert rest.text == "5 more"
    assert lines(page(service, rest["href"]).html) == names


def test_a_filter_goes_on_where_it_has_looked(lookout, monkeypatch):
    monkeypatch.setattr(incidentpages, "AT_ONCE", 10)
    monkeypatch.setattr(incidentpages, "LOOKED_AT", 20)
    service = lookout.service
    for name in ("Shop", "Mail"):
        lookout.add(name=name)
    over(
        service, ("Mail", 60_000, "HTTP 1"), *(("Shop", 1000 + 500 * number, f"HTTP {number}") for number in range(30))
    )
    first, second = pages_of(service, "/incidents?q=mail")
    assert lines(first) == []
    assert "The next page searches older ones" in first.find(id="incidents").text
    assert lines(second) == ["Mail"]
    assert second.select_one("form.filters [name=q]")["value"] == "mail"


def test_the_list_of_the_api_goes_on_before_an_incident(lookout):
    service = lookout.service
    shop, mail = lookout.add(name="Shop"), lookout.add(name="Mail")
    told = [(name, 1000 + 500 * at, "x") for at in range(3) for name in ("Shop", "Mail")]
    over(service, *((name, ago + shift, cause) for shift, (name, ago, cause) in enumerate(told)))
    every = [row["id"] for row in service.vera.get(API).json]
    for query, wanted in (
        ("limit=2", every),
        (f"limit=1&monitor_id={shop}", every[::2]),
        (f"limit=1&monitor_id={mail}&status=resolved", every[1::2]),
        ("limit=3&q=mail", every[1::2]),
        ("limit=2&status=open", []),
    ):
        got, before = [], f"{'f' * 20}"
        while before:
            answer = service.vera.get(f"{API}?{query}&before={before}")
            got, before = got + [row["id"] for row in answer.json], answer.headers.get("X-Next")
        assert got == wanted, query
