"""Journal → pieces → hours → sealed days: whatever has been folded so far, reads say the same."""

import random

import pytest

from opsapp.series import folds
from opsapp.series.history import Blob
from opsapp.series.observations import DOWN, FOREVER, MAINTENANCE, NONE, PAUSED, UP, Row
from opsapp.series.rollup import DAY, FINE, HOUR, merge, percentile, roll_up
from opsapp.series.totals import Total
from tests.support.measuring import FINE_KEPT, HOURLY_KEPT, RAW, WHOLE, Measuring
from tests.support.stores import Stores

BASE = 19_700 * DAY
MINUTE = 60_000


@pytest.fixture
def stores(tmp_path):
    stores = Stores(tmp_path)
    yield stores
    stores.close()


@pytest.fixture
def store(stores):
    return Measuring(stores)


def observe(store, numbers, start, end, step=MINUTE, seed=1):
    """Random checks; answers {number: rows}."""
    dice, made = random.Random(seed), {number: [] for number in numbers}
    for at in range(start, end, step):
        for number in numbers:
            row = Row(at + number % 50, round(dice.uniform(5, 90), 1), dice.choice((UP, UP, UP, DOWN)), 90)
            made[number].append(row)
            store.journal.add(number, *row)
        store.commit(at + 1000)
    return made


@pytest.mark.parametrize("settled", [False, True])
def test_the_p95_of_any_span_is_within_two_percent_of_the_true_one(store, settled):
    """Fast for most of the time, slow in one hour: the p95 of p95s was far off here."""
    dice, values, end = random.Random(3), [], BASE + 2 * DAY
    for at in range(BASE, end, 5 * MINUTE):
        slow = at % DAY // HOUR in (9, 10)
        for number in range(5):
            value = round(dice.lognormvariate(7 if slow else 3, 0.5), 1)
            values.append((at + number * 1000, value))
            store.journal.add(1, at + number * 1000, value, UP, 300)
        store.commit(at + 5000)
    if settled:
        store.settle(end + DAY)
    for width in (30 * MINUTE, 6 * HOUR, DAY):
        for bucket in store.read(lambda reading, width=width: reading.buckets(1, BASE, end, width)):
            true = percentile([value for at, value in values if bucket.start <= at < bucket.start + width])
            assert abs(bucket.p95 - true) <= 0.02 * true
    true = percentile([value for _, value in values])
    for numbers in ([1], range(1, 50)):
        found = store.read(lambda reading, n=numbers: reading.totals(BASE, end, n, percentiles=True))
        assert abs(found[1].p95 - true) <= 0.02 * true


def test_reads_say_the_same_before_and_after_every_step(store):
    made = observe(store, (1, 2, 70), BASE, BASE + 2 * HOUR + 20 * MINUTE)
    end = BASE + 2 * HOUR + 20 * MINUTE

    def look():
        rows = {n: store.read(lambda reading, n=n: reading.rows(n, BASE, end)) for n in made}
        fine = {n: store.read(lambda reading, n=n: reading.buckets(n, BASE, end, FINE)) for n in made}
        odd = {n: store.read(lambda reading, n=n: reading.buckets(n, BASE, end, 420_000)) for n in made}
        whole = store.totals(BASE, end, list(made))
        return (
            rows,
            fine,
            {n: [(b.start, b.checks, b.worst) for b in found] for n, found in odd.items()},
            {n: total._replace(p95=None) for n, total in whole.items()},
        )

    before = look()
    assert before[0] == made
    assert before[1] == {n: roll_up(rows, (BASE, end), FINE) for n, rows in made.items()}
    whole = roll_up(made[2], (BASE, end), WHOLE)[0]
    assert before[3][2] == Total(whole.checks, whole.spent)
    assert store.fold(end) == sum(map(len, made.values()))
    assert look() == before
    assert store.fold(end) == 0
    assert store.merge(end) == 2
    assert look() == before
    assert store.merge(end) == 0
    store.recent = type(store.recent)()  # a process that has just started
    assert look() == before


def test_a_sealed_day_says_what_its_hours_said(store):
    made = observe(store, (1, 65), BASE, BASE + DAY, 10 * MINUTE)
    later = BASE + DAY + 30 * MINUTE
    before = store.read(lambda reading: reading.buckets(1, BASE, later, FINE))
    assert store.settle(later)[:3] == (288, 24, 2)
    assert store.settle(later)[:3] == (0, 0, 0)
    assert store.store(lambda history: [(day.sealed, day.hours) for day in history.days.values()]) == [(True, {})]
    assert store.read(lambda reading: reading.rows(65, BASE, later)) == made[65]
    assert store.read(lambda reading: reading.buckets(1, BASE, later, FINE)) == before
    assert [b.checks for b in store.read(lambda reading: reading.buckets(1, BASE, later, HOUR))] == [6] * 24
    assert store.read(lambda reading: reading.buckets(1, BASE + HOUR, BASE + 2 * HOUR, 1000))[0].checks == 1
    (day,) = store.read(lambda reading: reading.buckets(1, BASE, BASE + DAY, DAY))
    assert day == merge(store.read(lambda reading: reading.buckets(1, BASE, BASE + DAY, HOUR)), DAY)[0]


def test_totals_of_a_window_that_begins_inside_a_sealed_day(store):
    observe(store, (1,), BASE, BASE + DAY + HOUR, 10 * MINUTE)
    later = BASE + DAY + HOUR
    store.settle(later)
    found = store.totals(BASE + 5 * HOUR + 7, later, [1, 99])
    assert found[1].checks == 20 * 6
    assert list(found) == [1]
    assert store.totals(BASE, later, [1])[1].checks == 25 * 6


def test_a_state_that_was_held_for_days_is_accounted_for_without_observations(store):
    store.journal.mark(1, BASE + 10 * MINUTE, PAUSED, FOREVER)
    store.journal.add(2, BASE + 10 * MINUTE, 7.0, UP, 90)
    store.commit(BASE + 11 * MINUTE)
    later = BASE + 2 * DAY + 3 * HOUR
    store.settle(later)
    store.settle(later)
    for width in (FINE, HOUR, DAY):
        buckets = store.read(lambda reading, width=width: reading.buckets(1, BASE, later, width))
        assert sum(bucket.spent[4] for bucket in buckets) == later - BASE - 10 * MINUTE
        assert sum(bucket.checks for bucket in buckets) == 0
    totals = store.totals(BASE, later, [1, 2])
    assert totals[1].spent == (0, 0, 0, 0, later - BASE - 10 * MINUTE)
    assert totals[2].spent == (90_000, 0, 0, 0, 0)
    store.journal.mark(1, later, NONE, 0)  # its monitor is deleted
    store.commit(later + 1)
    store.settle(later + DAY)
    store.settle(later + 2 * DAY)
    gone = store.totals(later, later + 2 * DAY, [1])
    assert all(sum(each.spent) == 0 for each in gone.values())


def test_a_gap_is_unknown_and_its_hours_are_jumped_over(store):
    observe(store, (1,), BASE, BASE + 10 * MINUTE)
    back = BASE + 3 * DAY
    observe(store, (1,), back, back + 10 * MINUTE)
    store.settle(back + 2 * HOUR)
    store.settle(back + 2 * HOUR)
    total = store.totals(BASE, back + 2 * HOUR, [1])[1]
    assert sum(total.spent) == 2 * (9 * MINUTE + 90_000)
    assert store.store(lambda history: len(history.days)) == 2


def test_late_rows_reopen_an_hour_and_a_sealed_day(store):
    made = observe(store, (1,), BASE, BASE + 3 * HOUR)
    store.settle(BASE + 3 * HOUR + 15 * MINUTE)
    late = Row(BASE + 90 * MINUTE + 30_000, 4.0, UP, 90)
    store.journal.add(1, *late)
    store.commit(BASE + 3 * HOUR + 16 * MINUTE)
    assert store.fold(BASE + 3 * HOUR + 20 * MINUTE) == 1
    assert late in store.read(lambda reading: reading.rows(1, BASE, BASE + DAY))
    assert store.merge(BASE + 3 * HOUR + 20 * MINUTE) == 1
    rows = sorted([*made[1], late])
    assert store.read(lambda reading: reading.rows(1, BASE, BASE + DAY)) == rows
    after = BASE + DAY + HOUR
    store.settle(after)
    store.settle(after)
    later = Row(BASE + 30 * MINUTE + 30_000, 6.0, UP, 90)
    store.journal.add(1, *later)
    store.commit(after)
    assert store.fold(after) == 1
    assert store.seal(after) == 1
    rows = sorted([*rows, later])
    assert store.read(lambda reading: reading.rows(1, BASE, BASE + DAY)) == rows
    fine = store.read(lambda reading: reading.buckets(1, BASE, BASE + DAY, FINE))
    assert fine == roll_up(rows, (BASE, BASE + DAY), FINE)
    assert store.totals(BASE, after, [1])[1].checks == len(rows)


def test_late_rows_of_an_hour_that_was_jumped_over(store):
    observe(store, (1,), BASE, BASE + 10 * MINUTE)
    observe(store, (1,), BASE + 5 * HOUR, BASE + 5 * HOUR + 10 * MINUTE)
    now = BASE + 6 * HOUR + 20 * MINUTE
    store.settle(now)
    store.journal.add(1, BASE + 3 * HOUR, 9.0, UP, 90)
    store.commit(now)
    store.fold(now)
    before = store.totals(BASE, now, [1])[1].checks
    assert store.merge(now) == 1
    assert (before, store.totals(BASE, now, [1])[1].checks) == (20, 21)


def test_a_day_that_takes_late_rows_while_it_is_sealed_begins_again(store):
    observe(store, range(1, 200, 64), BASE, BASE + HOUR, 10 * MINUTE)
    later = BASE + DAY + HOUR
    store.fold(later)
    store.merge(later)
    assert store.stores.measured(folds.seal, later)
    store.journal.add(1, BASE + 5, 1.0, UP, 90)
    store.commit(later)
    store.fold(later)
    store.merge(later)
    assert store.seal(later) == 4
    assert store.totals(BASE, later, [1])[1].checks == 7


def test_many_shards_are_compacted_in_slices(store):
    numbers = range(0, 64 * 10, 64)
    observe(store, numbers, BASE, BASE + 2 * MINUTE)
    later = BASE + 2 * HOUR
    store.fold(later)
    assert store.merge(later) == 3
    assert len(store.totals(BASE, later, numbers)) == 10


def test_a_fold_stops_at_its_limit_and_goes_on(store, monkeypatch):
    observe(store, (1, 2), BASE, BASE + 10 * MINUTE)
    monkeypatch.setattr(folds, "OBSERVATIONS", 4)
    assert [store.fold(BASE + HOUR) for _ in range(6)] == [4, 4, 4, 4, 4, 0]


def test_an_idle_log_is_removed_once_it_is_folded(store):
    observe(store, (1,), BASE, BASE + MINUTE)
    store.fold(BASE + 2 * MINUTE)
    store.read(lambda reading: None)
    store.fold(BASE + 3 * DAY)
    assert store.store(lambda history: list(history.logs)) == []
    assert store.read(lambda reading: reading.rows(1, BASE, BASE + HOUR))


def test_rows_older_than_the_raw_retention_find_no_place(store):
    store.journal.add(1, BASE - RAW - 1, 1.0, UP, 90)
    store.commit(BASE)
    assert store.fold(BASE) == 1
    assert store.store(lambda history: len(history.days)) == 0
    assert store.merge(BASE) == 0


def test_retention_drops_shelves_and_then_days_and_reads_fall_back(store):
    observe(store, (1,), BASE, BASE + DAY, 10 * MINUTE)
    store.settle(BASE + DAY + HOUR)
    checks = []
    for age in (DAY + HOUR, DAY + RAW, DAY + FINE_KEPT, DAY + HOURLY_KEPT):
        store.retire(BASE + age)
        found = store.read(lambda reading: reading.buckets(1, BASE, BASE + DAY, 1000))
        assert all(sum(each.spent) == 0 for each in found[:1] if age < DAY + RAW)  # too fine to tell
        checks.append((len(found), sum(each.checks for each in found)))
    assert checks == [(144, 144), (144, 144), (24, 144), (0, 0)]
    assert not store.retire(BASE + DAY + HOURLY_KEPT)
    assert store.store(lambda history: history.days.keys()[:] if len(history.days) else []) == []
    assert store.merge(BASE + DAY + HOURLY_KEPT) == 0


def test_corrupt_chunks_are_reported_and_skipped(store, caplog):
    observe(store, (1, 2), BASE, BASE + DAY, 10 * MINUTE)
    store.settle(BASE + DAY + HOUR)

    def damage(history):
        day = next(iter(history.days.values()))
        for shelf in (day.raw, day.fine, day.hourly):
            blob = shelf.blobs[0]
            blob.data = {**blob.data, 1: blob.data[1][:-1] + b"?"}
        day.summary = Blob(b"nonsense")

    store.store(damage)
    assert store.read(lambda reading: reading.rows(1, BASE, BASE + DAY)) == []
    assert store.read(lambda reading: reading.buckets(1, BASE, BASE + DAY, FINE)) == []
    assert len(store.read(lambda reading: reading.rows(2, BASE, BASE + DAY))) == 144
    few = store.read(lambda reading: reading.totals(BASE, BASE + DAY + HOUR, [1, 2]))
    assert list(few) == [2]
    assert store.read(lambda reading: reading.totals(BASE, BASE + DAY + HOUR, range(1, 100))) == {}
    assert "corrupt series data skipped" in caplog.text


def test_what_is_remembered_of_the_journal_is_forgotten_once_folded(store):
    observe(store, (1,), BASE, BASE + 5 * MINUTE)
    assert len(store.recent.rows(1, 0, WHOLE)) == 0
    store.read(lambda reading: None)
    assert len(store.recent.rows(1, 0, WHOLE)) == 5
    assert len(store.recent.rows(1, BASE + 2 * MINUTE, WHOLE)) == 3
    store.fold(BASE + 10 * MINUTE)
    observe(store, (1,), BASE + 5 * MINUTE, BASE + 6 * MINUTE)
    store.stores.measured(store.recent.catch_up)
    assert [each[1] for each in store.recent.news()][-1] == BASE + 5 * MINUTE + 1
    assert len(store.recent.rows(1, 0, WHOLE)) == 6  # a generation goes as a whole
    store.fold(BASE + 11 * MINUTE)
    for _ in range(2):
        store.read(lambda reading: None)
        assert store.recent.rows(1, 0, WHOLE)  # for those who began before the fold
    store.read(lambda reading: None)
    assert store.recent.rows(1, 0, WHOLE) == []


def test_the_journals_tail_is_held_in_generations(store):
    observe(store, (1,), BASE, BASE + 100 * MINUTE)
    store.read(lambda reading: None)
    store.fold(BASE + 100 * MINUTE)
    observe(store, (1,), BASE + 100 * MINUTE, BASE + 130 * MINUTE)
    for _ in range(3):
        store.read(lambda reading: None)
    assert len(store.recent.rows(1, 0, WHOLE)) == 66


def test_two_nodes_write_logs_of_their_own(store):
    other = Measuring(store.stores, "n2")
    observe(store, (1,), BASE, BASE + 5 * MINUTE)
    observe(other, (1,), BASE + 5 * MINUTE, BASE + 10 * MINUTE)
    assert store.fold(BASE + 10 * MINUTE) == 10
    assert len(other.read(lambda reading: reading.rows(1, BASE, BASE + HOUR))) == 10


def test_maintenance_and_down_time_are_kept_apart(store):
    for at, state in ((0, UP), (600, DOWN), (900, MAINTENANCE), (1200, UP)):
        store.journal.add(1, BASE + at * 1000, 1.0, state, 600)
    store.commit(BASE + HOUR)
    for now in (BASE + HOUR, BASE + 2 * HOUR):
        store.settle(now)
        total = store.totals(BASE, now, [1])[1]
        assert total.spent == (1_200_000, 0, 300_000, 300_000, 0)
        assert (total.up, total.down) == (1_200_000, 300_000)


def test_a_series_whose_every_chunk_is_corrupt_is_left_out_of_its_hour(store, caplog):
    observe(store, (1, 2), BASE, BASE + 10 * MINUTE)
    store.fold(BASE + 10 * MINUTE)

    def damage(history):
        blob = history.find_hour(BASE).pieces[0].blobs[0]
        blob.data = {**blob.data, 1: b""}

    store.store(damage)
    assert store.merge(BASE + 2 * HOUR) == 1
    assert list(store.totals(BASE, BASE + 2 * HOUR, [1, 2])) == [2]
    assert "corrupt series data skipped" in caplog.text


def test_days_are_told_one_by_one_and_sealed_ones_remembered(store, monkeypatch):
    observe(store, (1,), BASE, BASE + 2 * DAY + HOUR, 30 * MINUTE)
    now = BASE + 2 * DAY + HOUR
    before = store.read(lambda reading: reading.daily(1, BASE - 5 * DAY, now))
    store.settle(now)
    for _ in range(2):
        found = store.read(lambda reading: reading.daily(1, BASE - 5 * DAY, now))
        assert {day: each.checks for day, each in found.items()} == {19_700: 48, 19_701: 48, 19_702: 2}
        assert {day: each.spent for day, each in found.items()} == {day: each.spent for day, each in before.items()}
    store.journal.add(1, BASE + 7, 4.0, UP, 90)
    store.commit(now)
    store.settle(now)
    monkeypatch.setattr("opsapp.series.recent.SEALED", 1)
    assert store.read(lambda reading: reading.daily(1, BASE, now))[19_700].checks == 49
    assert store.read(lambda reading: reading.daily(2, BASE, now)) == {}


def test_rows_still_in_memory_that_are_merged_already_count_once(store, monkeypatch):
    for number, at in ((1, BASE), (2, BASE + 2 * HOUR)):
        store.journal.add(number, at, 1.0, UP, 90)
        store.commit(at)
    store.read(lambda reading: None)
    monkeypatch.setattr(folds, "OBSERVATIONS", 1)
    assert store.fold(BASE + 2 * HOUR) == 1
    store.merge(BASE + 2 * HOUR)
    totals = store.totals(BASE, BASE + 3 * HOUR, [1, 2])
    assert {number: total.checks for number, total in totals.items()} == {1: 1, 2: 1}
    assert [len(store.recent.rows(number, BASE, BASE + 3 * HOUR)) for number in (1, 2)] == [1, 1]


def test_times_and_values_alone_are_those_of_the_rows(store):
    """Of the journal, of hours, of a sealed day, and of one to which rows came late."""
    made = observe(store, [1], BASE, BASE + 2 * DAY, step=10 * MINUTE)[1]
    ends = (BASE + 5 * MINUTE, BASE + DAY, BASE + DAY + HOUR, BASE + 2 * DAY)
    for change in ("journal", "settled", "late"):
        if change == "settled":
            store.settle(BASE + 3 * DAY)
        if change == "late":
            late = Row(BASE + 7, 1.5, UP, 90), Row(BASE + 9, None, DOWN, 90)
            for row in late:
                store.journal.add(1, *row)
            store.commit(BASE + 3 * DAY)
            made = sorted([*made, *late])
        for first, last in [(first, last) for first in (BASE, *ends) for last in ends if first < last]:
            wanted = [(row.time, row.value) for row in made if first <= row.time < last and row.value is not None]
            read = store.read(lambda reading, first=first, last=last: reading.values(1, first, last))
            assert list(zip(*read, strict=True)) == wanted
