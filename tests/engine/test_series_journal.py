"""The journal on real storages: once, in order, whatever the commit said."""

import pytest

from opsapp.series import codec, folds, reads
from opsapp.series.history import history_root, open_history
from opsapp.series.journal import PAGE, Journal, Page
from opsapp.series.process import Numbers, Series
from opsapp.series.rollup import DAY, HOUR
from tests.support.stores import Stores, opened


@pytest.fixture
def stores(tmp_path):
    stores = Stores(tmp_path)
    yield stores
    stores.close()


def commit(stores, journal, now=1000):
    journal.pack(now)
    journal.settle(stores.measured(journal.flush))


def stored(stores, journal, after=0):
    def read(mapping):
        batches = open_history(mapping).logs[journal.key].batches(after)
        return [(number, codec.decode_batch(data)) for number, data, _ in batches]

    return stores.measured(read)


def test_what_is_added_is_committed_in_order(stores):
    journal = Journal("n1")
    assert not journal.waiting
    journal.add(3, 1000, 12.5, 1, 90)
    journal.mark(4, 1001, 5, 60)
    assert journal.waiting
    commit(stores, journal)
    journal.add(3, 2000, 13.5, 1, 90)
    commit(stores, journal, 2000)
    assert not journal.waiting
    first, second = (1, [(3, 1000, 12.5, 1, 90), (4, 1001, None, 5 | 0x80, 60)]), (2, [(3, 2000, 13.5, 1, 90)])
    assert stored(stores, journal) == [first, second]
    assert stored(stores, journal, 1) == [second]
    assert stores.measured(lambda mapping: open_history(mapping).logs[journal.key].latest()) == 2000


def test_a_commit_of_unknown_outcome_is_repeated_without_a_double(stores):
    journal = Journal("n1")
    for second in range(3 * PAGE):
        journal.add(1, second * 1000, 1.0)
        journal.pack(second)
        stores.measured(journal.flush)  # applied, and the answer lost
        journal.settle(stores.measured(journal.flush))
    assert [number for number, _ in stored(stores, journal)] == list(range(1, 3 * PAGE + 1))
    assert [rows[0][1] for _, rows in stored(stores, journal)] == [second * 1000 for second in range(3 * PAGE)]


def test_a_repeat_of_an_older_page_changes_nothing(stores):
    journal = Journal("n1")
    for second in range(PAGE + 1):
        journal.add(1, second, 1.0)
        commit(stores, journal)
    before = stored(stores, journal)
    stores.measured(lambda mapping: open_history(mapping).logs[journal.key].append(1, b"x", 1))
    assert stored(stores, journal) == before


def test_a_backlog_is_committed_in_slices(stores):
    journal = Journal("n1")
    for second in range(PAGE + 5):
        journal.add(1, second, 1.0)
        journal.pack(second)
    journal.settle(stores.measured(journal.flush))
    assert journal.waiting
    journal.settle(stores.measured(journal.flush))
    assert not journal.waiting
    assert len(stored(stores, journal)) == PAGE + 5


def test_one_wrong_observation_loses_nothing_but_itself_and_is_named(stores, caplog):
    journal = Journal("n1")
    journal.add(1, 1000, 1.0)
    journal.add(2, 1000, "seven")
    journal.add(3, 1000, 3.0)
    commit(stores, journal)
    assert stored(stores, journal) == [(1, [(1, 1000, 1.0, 0, 0), (3, 1000, 3.0, 0, 0)])]
    assert journal.lost == 1
    assert "'seven'" in caplog.text


def test_past_its_limit_the_journal_gives_up_the_oldest_and_counts_them(stores):
    journal = Journal("n1", limit=120)
    for second in range(10):
        journal.add(1, second * 1000, second / 7)
        journal.pack(second)
    journal.settle(stores.measured(journal.flush))
    kept = [rows for _, rows in stored(stores, journal) if rows]
    assert kept
    assert kept[-1][0][1] == 9000
    assert journal.lost == 10 - len(kept)


def test_folded_pages_are_dropped_when_the_writer_needs_a_new_one(stores):
    journal = Journal("n1")
    for second in range(PAGE):
        journal.add(1, second, 1.0)
        commit(stores, journal)

    def fold(mapping):
        open_history(mapping).logs[journal.key].mark.folded = PAGE

    stores.measured(fold)
    journal.add(1, 99, 1.0)
    commit(stores, journal)
    pages = stores.measured(lambda mapping: [page.base for page in open_history(mapping).logs[journal.key].pages])
    assert pages == [PAGE + 1]
    assert Page(1).last == PAGE


def test_a_log_that_was_retired_begins_again_where_its_writer_is(stores):
    journal = Journal("n1")
    journal.add(1, 1, 1.0)
    commit(stores, journal)
    stores.measured(lambda mapping: open_history(mapping).logs.clear())
    journal.add(1, 2, 1.0)
    commit(stores, journal)
    assert [number for number, _ in stored(stores, journal)] == [2]


def test_a_second_of_checks_costs_one_small_object(stores):
    journal = Journal("n1")
    journal.add(1, 0, 1.0)
    commit(stores, journal)
    before = stores.history.getSize()
    for number in range(1000):
        journal.add(number, 1_700_000_000_000 + number, 20 + number % 97 / 10, 1, 90)
    commit(stores, journal)
    assert stores.history.getSize() - before < 10 * 1000


def test_reading_a_store_without_history_writes_nothing(stores):
    with stores.begin() as root:
        mapping = history_root(root)
        assert list(open_history(mapping).logs) == []
        assert not mapping._p_changed
        assert "series" not in mapping


def test_numbers_are_never_handed_out_twice(stores):
    one, two = Numbers(stores.transact, block=4), Numbers(stores.transact, block=4)
    taken = one.take() + two.take(3) + one.take(3) + two.take(9) + one.take()
    assert len(set(taken)) == len(taken) == 17


def test_a_process_commits_what_it_observed_and_hears_what_others_did(stores):
    one, two = Series("n1", stores.transact), Series("n2", stores.transact)
    (number,) = one.numbers.take()
    two.live.bind(number, "monitor:m", "ms")
    one.journal.add(number, 5000, 12.5, 1, 90)
    one.journal.pack(5000)
    one.journal.settle(stores.transact(one.flush))
    stores.transact(lambda root: two.reading(root).rows(number, 0, 9000))  # a read comes first, and takes nothing away
    two.tell()
    assert two.live.get("monitor:m") == {"ms": (12.5, 5.0), "status": ("up", 5.0), "last_check": (5, 5.0)}
    assert two.recent.news() == []
    stores.transact(one.catch_up)
    assert one.recent.news() == []  # its own


def test_a_process_with_one_store_for_everything_keeps_what_it_observed_beside_the_tree(tmp_path):
    with opened(f"file://{tmp_path}/main.fs") as main:

        def transact(fn, *values):
            with main.transaction() as connection:
                return fn(connection.root(), *values)

        series = Series("n1", transact)
        (number,) = series.numbers.take()
        series.journal.add(number, 5000, 12.5, 1, 90)
        series.journal.pack(5000)
        series.journal.settle(transact(series.flush))
        (row,) = transact(lambda root: series.reading(root).rows(number, 0, 9000))
        assert (row.time, row.value) == (5000, 12.5)
        assert transact(lambda root: open_history(root).next_number) > number


def test_sums_that_were_asked_for_are_prepared_before_somebody_asks_again(stores, monkeypatch):
    series, read = Series("n1", stores.transact), []
    decode = reads.codec.decode_summary
    monkeypatch.setattr(reads.codec, "decode_summary", lambda *data, **how: read.append(1) or decode(*data, **how))
    numbers, now = range(1, 30), 2 * HOUR
    for number in numbers:
        series.journal.add(number, 5000, 1.0, 1, 90)
    series.journal.pack(5000)
    series.journal.settle(stores.transact(series.flush))

    def ask():
        return stores.transact(lambda root: series.reading(root).totals(0, now, numbers)[7].checks)

    assert not series.recent.is_asked
    assert ask() == 1
    assert series.recent.is_asked
    stores.measured(folds.fold, now, DAY)
    assert stores.measured(folds.merge, now)
    stores.transact(series.prepare, now)
    prepared = len(read)
    assert prepared > 0
    assert ask() == 1
    assert len(read) == prepared


def test_what_is_bound_late_gets_its_latest_value(stores):
    one, two = Series("n1", stores.transact), Series("n2", stores.transact)
    for at, value in ((5000, 1.5), (6000, 2.5), (7000, None)):
        one.journal.add(1, at, value, 1, 90)
    one.journal.pack(7000)
    one.journal.settle(stores.transact(one.flush))
    stores.transact(two.catch_up)
    two.tell()
    two.live.bind(1, "monitor:m", "ms")
    two.live.bind(2, "monitor:m", "other")
    two.live.bind(1, "monitor:m", "ms")
    two.tell()
    assert two.live.get("monitor:m") == {"ms": (2.5, 6.0), "status": ("up", 6.0), "last_check": (6, 6.0)}
    assert two.live.newly_bound() == set()


def test_a_process_reads_what_it_wrote(stores):
    one = two = Series("n1", stores.transact)
    (number,) = one.numbers.take()
    one.journal.add(number, 5000, 12.5, 1, 90)
    one.journal.pack(5000)
    one.journal.settle(stores.transact(one.flush))
    assert stores.transact(lambda root: [row.value for row in two.reading(root).rows(number, 0, 9000)]) == [12.5]


@pytest.mark.parametrize("off", [-3600, 0, 3600])
def test_what_a_node_with_another_clock_tells_is_as_new_as_it_is(stores, off):
    """Its clock was set: what it observes is neither older than what it told before, nor from a time to come."""
    now = [2_683_612_800.0]
    here, there = Series("n1", None, lambda: now[0]), Journal("n2")
    here.live.bind(3, "monitor:m", "response_time_ms")
    here.live.update("monitor:m", {"response_time_ms": 1.0}, now[0])
    stores.measured(here.catch_up)  # what was there at the start
    here.tell()
    there.add(3, int((now[0] + 5 + off) * 1000), 2.0, 1, 90)
    now[0] += 6
    commit(stores, there, int((now[0] + off) * 1000))
    stores.measured(here.catch_up)
    here.tell()
    assert here.live.get("monitor:m")["response_time_ms"] == (2.0, now[0] - 1)
    there.add(3, int((now[0] + off) * 1000), 3.0, 1, 90)
    now[0] += 1
    commit(stores, there, int((now[0] + off) * 1000))
    stores.measured(here.catch_up)
    here.tell()
    assert here.live.get("monitor:m")["response_time_ms"] == (3.0, now[0] - 1)


def test_what_was_there_at_the_start_is_as_old_as_it_says(stores):
    there = Journal("n2")
    there.add(3, 2_683_612_800_000, 2.0, 1, 90)
    commit(stores, there, 2_683_612_801_000)
    here = Series("n1", None, lambda: 2_683_613_700.0)
    here.live.bind(3, "monitor:m", "response_time_ms")
    stores.measured(here.catch_up)
    here.tell()
    assert here.live.get("monitor:m")["response_time_ms"] == (2.0, 2_683_612_800.0)
