"""What reports of all monitors read, and what they leave."""

import pytest

from opsapp.monitoring.engine import reports
from opsapp.monitoring.resources import incidents_of, monitors_of
from opsapp.runtime import serieswork
from opsapp.runtime.node import node_of
from opsapp.series import folds, reads, rollup
from opsapp.series.history import history_root
from opsapp.series.sketch import EMPTY
from tests.support.monitoring import UP, Lookout

MONITORS, HOUR_S, DAY_S = 20, 3600, 86_400  # more than are read one by one


@pytest.fixture
def looked_at(service):
    lookout = Lookout(service)
    monitors = [lookout.add(name=f"part {number:02}") for number in range(MONITORS)]
    lookout.sees = dict.fromkeys(monitors, UP)
    lookout.run(3 * HOUR_S, step=60)
    serieswork.flush(service.node)
    service.transact(merge, serieswork.now_ms(service.node))
    return monitors


def merge(root, now):
    """What is over is merged, but for the last hours."""
    folds.fold(history_root(root), now, serieswork.keep_ms(node_of(root))[0])
    assert folds.merge(history_root(root), now)


def test_the_worst_are_found_without_the_incidents_of_the_others(service, looked_at):
    def had_one(root):
        for monitor_id in looked_at:
            incident = incidents_of(root).start(monitors_of(root)[monitor_id], "down", service.clock.now() - DAY_S)
            incidents_of(root).end(incident.id, service.clock.now() - DAY_S + 60)

    def look(root):
        root._p_jar.cacheMinimize()
        rows, count = reports.sla_report(service.node, root, 30, slice(0, 2), "worst")
        return rows, count, sum(each._p_changed is not None for each in incidents_of(root).tree.values())

    service.transact(had_one)
    rows, count, read = service.transact(look)
    assert ([row.incidents for row in rows], count) == ([1, 1], MONITORS)
    assert read == 2


def test_scores_read_what_is_not_merged_yet_once_for_all_their_spans(service, looked_at, monkeypatch):
    read, rows = [], reads.HistoryReader.rows

    def noting(reader, number, start, end):
        read.append(number)
        return rows(reader, number, start, end)

    monkeypatch.setattr(reads.HistoryReader, "rows", noting)
    found = service.transact(lambda root: reports.health_of_all(service.node, root))
    assert len(found.monitors) == MONITORS
    assert len(read) == len(set(read)) == MONITORS


def test_no_percentile_is_made_that_nobody_asks_for(service, looked_at, monkeypatch):
    made, sketch = [], rollup.sketch.sketch
    monkeypatch.setattr(rollup.sketch, "sketch", lambda values: made.append(len(values)) or sketch(values))
    service.transact(lambda root: reports.sla_report(service.node, root, 30, slice(None), "name"))
    assert made == []

    def totals(root, *, percentiles):
        now, numbers = reports.now_ms(service.node), [monitor.series for monitor in monitors_of(root).values()]
        return service.node.series.reading(root).totals(now - DAY_S * 1000, now + 1, numbers, percentiles=percentiles)

    plain, whole = (service.transact(lambda root, p=p: totals(root, percentiles=p)) for p in (False, True))
    assert plain == {number: total._replace(p95=None) for number, total in whole.items()}
    assert all(total.p95 is not None for total in whole.values())


def test_the_lines_of_hosts_are_means_and_no_percentile_is_made_for_them(service, monkeypatch):
    host = service.ada.post_json("/api/agents", {"label": "box-1"}).json
    report = {"hostname": "box-1", "os": "Debian 12", "cpu_percent": 5, "mem_percent": 40}
    path, headers = f"/api/agents/{host['agent_id']}/report", {"X-Agent-Key": host["key"]}
    service.anonymous.post_json(path, report, headers=headers)
    serieswork.flush(service.node)
    made = []
    monkeypatch.setattr(rollup.sketch, "sketch", lambda values: made.append(len(values)) or EMPTY)
    [row] = service.vera.get("/api/agents/figures").json
    assert (row["cpu"][-1], row["mem"][-1]) == (5.0, 40.0)
    assert made == []
