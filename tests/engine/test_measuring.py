"""The steps that keep the series going, on the real application's node."""

import pytest

from opsapp.lib.problems import Conflict, OutcomeUnknown
from opsapp.runtime import serieswork
from opsapp.runtime.cluster import leases
from opsapp.series import codec, folds
from opsapp.series.observations import UP
from tests.support.stores import Stores


def look(node, number, seconds=100_000):
    now = serieswork.now_ms(node)
    return node.transact(
        lambda root: len(node.series.reading(root).rows(number, now - seconds * 1000, now + seconds * 1000))
    )


def lead(node):
    node.leases.held[serieswork.LEASE] = 1
    node.transact(leases.beat, node.owner, [serieswork.LEASE], {}, node.clock.now())


def test_a_second_of_observations_is_committed_and_followed(service):
    node = service.node
    assert not serieswork.flush(node)
    node.series.journal.add(1, serieswork.now_ms(node), 12.5, UP, 90)
    assert not serieswork.flush(node)
    assert not node.series.journal.waiting
    assert not serieswork.follow(node)
    node.series.live.bind(1, "monitor:m", "ms")
    assert not serieswork.follow(node)
    assert node.series.live.value("monitor:m", "ms") == 12.5
    assert look(node, 1) == 1


def test_what_is_older_than_was_settled_has_come_late(service):
    """A batch that was folded before this process looked is no exception."""
    node, now = service.node, serieswork.now_ms(service.node)
    lead(node)
    node.series.journal.add(1, now, 1.0, UP, 90)
    serieswork.flush(node)
    serieswork.follow(node)
    assert node.series.late(now) == {}
    for number, time in ((1, now - 5), (2, now), (1, now - 9), (1, now - 7)):
        node.series.journal.add(number, time, 1.0, UP, 90)
    serieswork.flush(node)
    assert not serieswork.fold(node)
    serieswork.follow(node)
    assert node.series.late(now) == {1: now - 9}
    assert node.series.late(now) == {}


def test_folding_and_merging_need_the_lease(service):
    node, clock = service.node, service.clock
    node.series.journal.add(1, serieswork.now_ms(node), 12.5, UP, 90)
    serieswork.flush(node)
    for step in (serieswork.fold, serieswork.merge):
        with pytest.raises(Conflict):
            step(node)
    lead(node)
    assert not serieswork.fold(node)
    clock.advance(3 * 86_400)
    assert serieswork.merge(node)
    while serieswork.merge(node):
        pass
    assert look(node, 1, 4 * 86_400) == 1


def test_retention_is_the_configured_one(service):
    assert serieswork.keep_ms(service.node) == (7 * 86_400_000, 90 * 86_400_000, 730 * 86_400_000)
    service.configure(serieswork.SeriesRetention, raw_days=1, fine_days=2, hourly_days=3)
    assert serieswork.keep_ms(service.node) == (86_400_000, 2 * 86_400_000, 3 * 86_400_000)


def test_a_clean_stop_loses_nothing(service, tmp_path):
    node = service.node
    node.series.journal.add(1, serieswork.now_ms(node), 12.5, UP, 90)
    node.stop()
    assert not node.series.journal.waiting
    stores = Stores(tmp_path)
    logs = stores.measured(lambda mapping: [len(list(log.batches(0))) for log in mapping["series"].logs.values()])
    stores.close()
    assert logs == [1]


def test_a_stop_without_a_store_says_what_is_lost(service, monkeypatch, caplog):
    node = service.node
    node.series.journal.add(1, serieswork.now_ms(node), 12.5, UP, 90)

    def broken(fn, *values):
        raise OutcomeUnknown

    monkeypatch.setattr(node, "transact", broken)
    node.stop()
    assert "observations lost at the stop: 1 batches" in caplog.text


def test_every_node_commits_and_follows_and_engines_fold(service):
    serieswork.start(service.node)
    assert {"journal", "series-follow", "series-fold", "series-merge"} <= set(service.node.supervisor.workers)
    service.node.supervisor.workers.clear()
    service.node.roles = frozenset({"web"})
    serieswork.start(service.node)
    assert set(service.node.supervisor.workers) == {"journal", "series-follow", "series-sums"}


def test_the_configuration_says_how_often_the_journal_is_folded(service):
    node = service.node
    serieswork.start(node)
    worker = node.supervisor.workers["series-fold"]
    assert worker.every == 300
    service.configure(serieswork.SeriesRetention, fold_s=7)
    lead(node)
    worker.step()
    assert worker.every == 7


def test_corrupt_chunks_are_counted(service):
    name = "opsapp_series_corrupt_chunks_total"

    def count():
        lines = service.vera.get("/metrics").text.splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith(name))

    before = count()
    folds.read(codec.decode_chunk, b"no chunk")
    assert count() == before + 1
