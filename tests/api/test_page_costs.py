"""What pages cost in the core list: bytes and elements of the main pages of a service in use, and what the list of
incidents reads with 1,000 that are open. Every page, of 2,000 monitors, with its milliseconds: `make bench ARGS=pages`.
"""

import gzip
from collections import Counter

import pytest
from ZODB.Connection import Connection

from opsapp.ui import apicalls
from opsapp.web.compression import LEVEL
from tests.bench import pages, years_store
from tests.engine.healing import Ward
from tests.support import estate
from tests.support.monitoring import UP, Lookout

MONITORS, HOSTS = 150, 60
MAIN = {
    "/", "/monitors", "/monitors/new", "/monitors/report", "/agents", "/incidents", "/oncall", "/approvals",
    "/automations",
    "/deployments", "/maintenance", "/notifications", "/audit", "/settings", "/users", "/healing", "/healing/rules",
    "/healing/rules/new", "/healing/trust", "/healing/ledger", "/healing/dependencies", "/healing/forecasts", "/status",
}  # fmt: skip
ABOUT = ("/monitors/", "/agents/", "/incidents/", "/healing/cases/", "/moment/")  # one of each
OPEN, PAST = 1000, 3000
OF_EACH = ("Incident", "IOBTree", "Update")  # an incident, its updates, and who has taken it
BESIDE = 400  # monitors, users, nodes of trees
ASKS = 25  # of the API, for one page


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """One of each kind of thing, monitors and hosts, some of them down or silent."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPSAPP_ADMIN_PASSWORD", "first admin password")
        for name, number in (("MONITORS", MONITORS), ("AGENTS", HOSTS), ("LEDGER", 200), ("DOWN_MONITORS", 20)):
            patch.setattr(pages, name, number)
        ward = Ward(tmp_path_factory.mktemp("filled"))
        pages.fill(ward)
        yield ward.service
        ward.close()


def weight_of(answer):
    return len(gzip.compress(answer.body, LEVEL)) / 1000


def main_pages(service):
    """The lists, and one page of each thing that people look at most."""
    addresses = estate.addresses(service)
    about = [next(each for each in addresses if each.startswith(stem) and each not in MAIN) for stem in ABOUT]
    assert set(addresses) >= MAIN
    return sorted(MAIN) + about


def test_the_main_pages_keep_to_the_limits_of_bytes_and_elements(filled):
    browser, over = filled.browser("ada"), []
    for address in main_pages(filled):
        answer = browser.get(address)
        weight, elements = weight_of(answer), len(answer.html.find_all())
        if weight > pages.TARGETS.kB or elements > pages.TARGETS.elements:
            over.append(f"{address}: {weight:.1f} kB, {elements} elements")
    assert over == []


@pytest.fixture
def flooded(service, monkeypatch):
    """1,000 open incidents and 3,000 that are over, of 50 monitors."""
    lookout = Lookout(service)
    for number in range(50):
        lookout.sees[lookout.add(name=f"m{number}")] = UP
    lookout.run(120, step=10)
    monkeypatch.setattr(years_store, "OPEN", OPEN)
    service.transact(lambda root: years_store.add_incidents(root, 0, OPEN + PAST, OPEN + PAST, service.clock.now()))
    return service


def costs_of(service, monkeypatch, browser, address):
    """The page, the stored objects that were loaded for it by class, and how often the API was asked."""
    loaded, asked = Counter(), []
    real, ask = Connection.setstate, apicalls.ask

    def setstate(connection, thing):
        loaded[type(thing).__name__] += 1
        real(connection, thing)

    def asking(request, method, path, *rest, **more):
        asked.append(f"{method} {path}")
        return ask(request, method, path, *rest, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Connection, "setstate", setstate)
        patch.setattr("opsapp.ui.views.rooms.ask", asking)
        service.node.store.db.cacheMinimize()
        page = browser.get(address)
    return page, loaded, asked


def test_a_thousand_open_incidents_are_read_once_and_what_is_over_is_not(flooded, monkeypatch):
    browser = flooded.browser("vera")
    for address in ("/incidents", "/incidents?status=open", "/incidents?status=resolved"):
        browser.get(address)
        page, loaded, asked = costs_of(flooded, monkeypatch, browser, address)
        assert page.html.select("#main tr, #main li"), "it shows some"
        of_each = {name: loaded.pop(name, 0) for name in OF_EACH}
        assert max(of_each.values()) <= OPEN + 100, f"{address}: {of_each}"
        assert loaded.total() <= BESIDE, f"{address}: {loaded.most_common(8)}"
        assert 0 < len(asked) <= ASKS, f"{address}: {asked}"
        assert weight_of(page) <= pages.TARGETS.kB
        assert len(page.html.find_all()) <= pages.TARGETS.elements
