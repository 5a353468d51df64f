"""Incidents of years: what asks for those of some time reads no others."""

import pytest

from opsapp.monitoring.engine import retention
from opsapp.monitoring.engine.reports import sla_report, uptimes
from opsapp.monitoring.resources import incidents_of, monitors_of
from tests.support.monitoring import UP, Lookout

DAY = 86400


@pytest.fixture
def shop(service):
    lookout = Lookout(service)
    monitor = lookout.add(name="Shop")
    lookout.sees[monitor] = UP
    lookout.run(61)
    return monitor


def had(service, monitor, *times):
    """Incidents of a monitor, each (days ago, days long or None)."""

    def write(root):
        incidents, now = incidents_of(root), service.clock.now()
        made = []
        for ago, long in times:
            incident = incidents.start(monitors_of(root)[monitor], "it did not answer", now - ago * DAY)
            if long is not None:
                incidents.end(incident.id, now - (ago - long) * DAY)
            made.append(incident.id)
        return made

    return service.transact(write)


def read_for(service, monitor, start, end):
    """(the ids of those that touch this time, the ids of those that were read), in days ago."""

    def look(root):
        incidents, now = incidents_of(root), service.clock.now()
        root._p_jar.cacheMinimize()
        found = [each.id for each in incidents.touching(now - start * DAY, now - end * DAY, monitor)]
        return found, [each.id for each in incidents.tree.values() if each._p_changed is not None]

    return service.transact(look)


def test_those_of_some_time_are_found_and_the_years_before_are_not_read(service, shop):
    old = had(service, shop, *((ago, 0.1) for ago in range(700, 100, -1)))
    reaching_in, within, last = had(service, shop, (40, 15), (20, 1), (2, None))
    assert read_for(service, shop, 30, 0) == ([reaching_in, within, last], [reaching_in, within, last])
    assert read_for(service, shop, 24, 10) == ([within], [reaching_in, within])
    assert read_for(service, shop, 400, 399)[0] == [old[300]]
    assert read_for(service, shop, 3000, 2000) == ([], [])
    assert read_for(service, "nobody", 30, 0) == ([], [])


@pytest.mark.parametrize("report", [uptimes, sla_report], ids=["uptime", "SLA"])
def test_a_report_does_not_read_the_incidents_of_years(service, shop, report):
    """With 20,000 of them the page of one monitor took 1.7 s."""
    had(service, shop, *((ago, 0.1) for ago in range(700, 100, -1)), (20, 1))
    asked = {uptimes: (shop,), sla_report: (30, slice(0, 50), "name")}[report]

    def look(root):
        root._p_jar.cacheMinimize()
        answer = report(service.node, root, *asked)
        return answer, sum(each._p_changed is not None for each in incidents_of(root).tree.values())

    answer, read = service.transact(look)
    rows = answer if report is uptimes else answer[0]
    assert [row.incidents for row in rows] == ([0, 0, 1, 1] if report is uptimes else [1])
    assert read <= 2


def left(service):
    def look(root):
        incidents = incidents_of(root)
        listed = {monitor_id: list(ids) for monitor_id, ids in incidents.by_monitor.items()}
        return list(incidents.keys()), listed

    return service.transact(look)


def test_incidents_are_forgotten_long_after_their_end_and_no_other_is(service, shop, monkeypatch):
    monkeypatch.setattr(retention, "PAGE", 2)
    had(service, shop, (900, 1), (890, 1), (880, 1), (731.5, 1))
    kept = had(service, shop, (870, 869.5), (860, None), (731, 1.5), (3, 1))
    retention.step(service.node)
    kept.sort()
    assert left(service) == (kept, {shop: kept})
    service.clock.advance(2000 * DAY)
    retention.step(service.node)
    still_open = [kept[1]]
    assert left(service) == (still_open, {shop: still_open})


def test_a_monitor_of_which_no_incident_is_left_has_none(service, shop):
    had(service, shop, (900, 1))
    retention.step(service.node)
    assert left(service) == ([], {})
    assert service.vera.get(f"/api/monitoring/endpoints/{shop}/uptime").json
