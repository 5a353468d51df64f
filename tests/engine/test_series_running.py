"""Sums that are kept up with what is committed say what all of the rows say, whatever happened meanwhile."""

import random

import pytest

from opsapp.series import reads
from opsapp.series.observations import DEGRADED, DOWN, FOREVER, MAINTENANCE, PAUSED, UNKNOWN, UP
from opsapp.series.recent import Recent
from opsapp.series.rollup import DAY, FINE, HOUR
from tests.support.measuring import Measuring
from tests.support.stores import Stores

BASE, MINUTE, WIDTH = 19_700 * DAY, 60_000, 3 * FINE
NUMBERS = tuple(range(1, 24))  # more than are read one by one
OTHERS = range(10**6, 10**6 + 20)
FURTHER = range(2 * 10**6, 2 * 10**6 + reads.MANY)
SPANS = (2 * HOUR, DAY, 7 * DAY)


@pytest.fixture
def stores(tmp_path):
    stores = Stores(tmp_path)
    yield stores
    stores.close()


class World:
    """Two nodes that observe, one that reads, and a clock that somebody sets."""

    def __init__(self, stores, seed):
        self.dice = random.Random(seed)
        self.store, self.other = Measuring(stores), Measuring(stores, "n2")
        self.stores, self.now, self.gone = stores, BASE + self.dice.randrange(DAY), set()

    def observe(self):
        for number in self.dice.sample(NUMBERS, 12):
            journal = self.dice.choice((self.store, self.store, self.store, self.other)).journal
            at = self.now + self.dice.randrange(-3000, 3000)
            hold = self.dice.choice((0, 90, 90, 90, 3600, 20_000))
            if self.dice.random() < 0.1:
                journal.mark(number, at, self.dice.choice((PAUSED, MAINTENANCE, UNKNOWN)), FOREVER)
            else:
                value = None if self.dice.random() < 0.2 else round(self.dice.lognormvariate(4, 1), 1)
                journal.add(number, at, value, self.dice.choice((UP, UP, UP, DEGRADED, DOWN, UNKNOWN)), hold)
        self.now += self.dice.choice((20_000, MINUTE, MINUTE, 20 * MINUTE))

    def commit(self):
        for node in self.dice.sample((self.store, self.other), self.dice.choice((1, 2))):
            if node.journal.waiting:
                node.commit(self.now)

    def come_late(self):
        """From an agent that was offline, or another node that could not commit."""
        self.store.journal.add(self.dice.choice(NUMBERS), self.now - self.dice.randrange(3 * HOUR), 7.0, UP, 90)

    def fold(self):
        self.store.fold(self.now)

    def settle(self):
        self.store.settle(self.now)

    def be_silent(self):
        self.now += self.dice.choice((HOUR, 3 * HOUR, DAY))

    def set_clock(self):
        self.now += self.dice.choice((-2 * HOUR, -30_000, 30_000, 2 * HOUR))

    def restart(self):
        self.store.recent = Recent()

    def erase(self):
        """Its owner is gone, and nothing of it is asked for any more."""
        self.gone.add(self.dice.choice(NUMBERS))

    def step(self):
        usual = (self.observe, self.observe, self.observe, self.commit, self.commit)
        self.dice.choice((*usual, *usual, *usual, self.come_late, self.fold, self.settle, self.be_silent,
                          self.set_clock, self.restart, self.erase))()  # fmt: skip

    def agree(self):
        """What is kept and what is made of the rows anew, by one who knows nothing yet."""
        fresh = Measuring(self.stores)
        numbers = [number for number in NUMBERS if number not in self.gone]
        end = self.now + 1
        for span in SPANS:
            kept, full = (self.totals(node, span, [*numbers, *OTHERS]) for node in (self.store, fresh))
            assert kept == full
            if fresh.store(lambda history: history.horizon) > end:
                continue  # the clock was set back, and the sums of whole hours reach beyond now
            by_hours = [self.totals(fresh, span, [number]) for number in numbers]  # of one the rows are gone through
            plain = {number: total._replace(p95=None) for total_of in by_hours for number, total in total_of.items()}
            assert {number: total._replace(p95=None) for number, total in kept.items()} == plain
        start = self.now // WIDTH * WIDTH - 7 * WIDTH
        near = [[pytest.approx(mean, abs=0.01) for mean in line] for line in self.read(fresh, numbers, start, end)]
        assert self.read(self.store, numbers, start, end) == near
        self.agree_on_days(fresh, numbers)
        for number in numbers:
            rows = fresh.read(lambda reading, n=number: reading.rows(n, start, end))
            assert list(self.states(self.store, number, start, end)) == [row.state for row in rows if row.is_check][-9:]

    def agree_on_days(self, fresh, numbers):
        """The hours of the last day: of all series at once, and one by one; the hours are the same."""
        end = self.now + 1
        kept, full = ({number: shown(day, end) for number, day in self.days(node, numbers).items()}
                      for node in (self.store, fresh))  # fmt: skip
        assert kept == full
        for number in numbers:
            hours, p95 = shown(self.days(fresh, [number])[number], end)
            assert kept[number][0] == hours
            assert (kept[number][1] or 0.0) == pytest.approx(p95 or 0.0, rel=0.04)

    def days(self, node, numbers):
        many = [*numbers, *FURTHER] if len(numbers) > 1 else numbers
        days = node.read(lambda reading: reading.days(self.now + 1, many))
        return {number: days[number] for number in numbers}

    def totals(self, node, span, numbers):
        """Of what has any: a series that was seen before the span has an empty one in the summaries of its hours."""
        ask = (self.now - span, self.now + 1, numbers)
        totals = node.read(lambda reading: reading.totals(*ask, percentiles=True))
        return {number: total for number, total in totals.items() if total.checks or any(total.spent)}

    def states(self, node, number, start, end):
        return node.read(lambda reading: reading.last_states(number, start, end, 9))

    def read(self, node, numbers, start, end):
        """Means to the tenth that is shown: those of merged parts carry their rounding."""
        last = end // WIDTH * WIDTH + WIDTH
        return node.read(lambda reading: [reading.means(number, start, last, WIDTH) for number in numbers])


def shown(day, end):
    """As lists have it."""
    return [day.p95_of(end // HOUR - back) for back in range(24)], day.p95


# In 12 the clock is set back by hours after a day was sealed.
@pytest.mark.parametrize("seed", [*range(6), 12])
def test_running_sums_say_what_the_rows_say(stores, seed):
    world = World(stores, seed)
    for _ in range(60):
        for _ in range(world.dice.randrange(1, 6)):
            world.step()
        world.agree()


@pytest.mark.nightly("two hundred worlds, each for a minute")
@pytest.mark.parametrize("seed", range(6, 206))
def test_running_sums_say_what_the_rows_say_in_many_worlds(stores, seed):
    test_running_sums_say_what_the_rows_say(stores, seed)


def noted(monkeypatch):
    """Of which series rows are read, from here on."""
    read, rows = [], reads.HistoryReader.rows

    def noting(reader, number, start, end):
        read.append(number)
        return rows(reader, number, start, end)

    monkeypatch.setattr(reads.HistoryReader, "rows", noting)
    return read


def ask(store, now):
    store.read(lambda reading: reading.totals(now - DAY, now + 1, NUMBERS, percentiles=True))
    store.read(lambda reading: [reading.last_states(number, now - HOUR, now + 1, 30) for number in NUMBERS])
    end = now // WIDTH * WIDTH + WIDTH
    store.read(lambda reading: [reading.means(number, end - 8 * WIDTH, end, WIDTH) for number in NUMBERS])


def check_all(store, now):
    for number in NUMBERS:
        store.journal.add(number, now + number, 5.0, UP, 90)
    store.commit(now + 1000)


def test_a_check_is_read_once_and_no_other_is_read_again_for_it(stores, monkeypatch):
    store = Measuring(stores)
    for minute in range(90):
        check_all(store, BASE + minute * MINUTE)
    now = BASE + 90 * MINUTE
    ask(store, now)
    read = noted(monkeypatch)
    for _ in range(30):
        check_all(store, now)
        now += MINUTE
        ask(store, now)
    store.settle(now)
    ask(store, now)
    assert read == []


def test_of_what_came_late_its_own_series_alone_is_read_again(stores, monkeypatch):
    store = Measuring(stores)
    for minute in range(30):
        check_all(store, BASE + minute * MINUTE)
    now = BASE + 30 * MINUTE
    ask(store, now)
    read = noted(monkeypatch)
    store.journal.add(7, BASE + 90_000, 5.0, DOWN, 90)
    store.commit(now)
    ask(store, now)
    assert set(read) == {7}
    del read[:]
    ask(store, now)
    assert read == []


def test_a_series_that_nobody_observes_any_more_is_let_go_of(stores):
    store = Measuring(stores)
    check_all(store, BASE)
    ask(store, BASE + MINUTE)
    tails = store.recent.running.tails.by_series
    assert set(tails) == set(NUMBERS)
    for hour in range(1, 4):
        store.journal.add(1, BASE + hour * HOUR, 5.0, UP, 90)
        store.commit(BASE + hour * HOUR + 1000)
    now = BASE + 3 * HOUR + 20 * MINUTE
    store.settle(now)
    store.read(lambda reading: reading.totals(now - DAY, now, [1, *OTHERS]))
    assert not set(NUMBERS[1:]) & set(tails)


def test_a_reading_that_knows_less_than_others_keeps_nothing(stores):
    """What others have seen folded may have gone from memory, and is in no piece that this one sees."""
    store = Measuring(stores)
    check_all(store, BASE)
    with stores.begin() as root:
        mapping = root._p_jar.get_connection("history").root()
        store.fold(BASE + MINUTE)
        check_all(store, BASE + MINUTE)
        for _ in range(4):
            store.read(lambda reading: None)
        reads.HistoryReader(mapping, store.recent).totals(BASE - DAY, BASE + MINUTE, NUMBERS)
    assert not store.recent.running.tails.by_series


def test_a_reading_of_before_an_hour_was_merged_says_the_same_after_others_know_of_it(stores):
    """Their sums begin behind that hour."""
    store, now = Measuring(stores), BASE + HOUR + 10 * MINUTE
    for at in range(BASE, now, FINE):
        check_all(store, at)

    def told(reading):
        return reading.totals(BASE - DAY, now, NUMBERS, percentiles=True), reading.days(now, [*NUMBERS, *FURTHER])

    with stores.begin() as root:
        older = reads.HistoryReader(root._p_jar.get_connection("history").root(), store.recent)
        totals, days = told(older)
        store.settle(now)
        newer, _ = store.read(told)
        assert store.recent.running.tails.by_series
        assert told(older) == (totals, days)
        assert [total.checks for total in newer.values()] == [total.checks for total in totals.values()] == [14] * 23
        assert not older._tails_follow()


def test_batches_that_were_dropped_unseen_are_missed_by_no_sum(stores):
    store, other = Measuring(stores), Measuring(stores, "n2")
    check_all(other, BASE)
    ask(store, BASE + MINUTE)
    for minute in range(1, 140):
        check_all(other, BASE + minute * MINUTE // 4)
        if minute % 50 == 0:
            other.fold(BASE + HOUR)
    total = store.totals(BASE - DAY, BASE + HOUR, NUMBERS)[1]
    assert total.checks == 140


def test_means_have_what_came_late_into_an_hour_in_which_nothing_was(stores):
    store = Measuring(stores)
    now = BASE + 5 * HOUR
    for at in (BASE, now):
        check_all(store, at)
    store.settle(now + MINUTE)
    ask(store, now + MINUTE)
    store.journal.add(7, now - 90 * MINUTE, 11.0, UP, 90)
    store.commit(now + MINUTE)
    ask(store, now + MINUTE)
    store.settle(now + 2 * MINUTE)
    end = now // WIDTH * WIDTH + WIDTH
    assert 11.0 in store.read(lambda reading: reading.means(7, end - 8 * WIDTH, end, WIDTH))


def test_what_was_asked_for_is_prepared_once_another_hour_is_merged(stores, monkeypatch):
    """Whoever asks next reads no merged hour. What nobody has asked for in the last hour is not prepared."""
    store, numbers, read = Measuring(stores), range(1, 400), []
    decode = reads.codec.decode_summary
    monkeypatch.setattr(reads.codec, "decode_summary", lambda *data, **how: read.append(1) or decode(*data, **how))

    def measure(now, until):
        for at in range(now, until, FINE):
            for number in numbers:
                store.journal.add(number, at, float(number), UP, 900)
            store.commit(at)
        store.settle(until)
        return until

    def ask(now):
        read.clear()
        days = store.read(lambda reading: reading.days(now + 1, numbers))
        month = store.read(lambda reading: reading.totals(now - 30 * DAY, now + 1, numbers))
        assert (days[399].p95, month[399].checks) == (399.0, (now - BASE) // FINE)
        return [days[7].p95_of(now // HOUR - back) for back in range(5)], len(read)

    def prepare(now):
        read.clear()
        store.read(lambda reading: reading.prepare(now))
        return len(read)

    now = measure(BASE, BASE + 3 * HOUR + HOUR // 4)
    assert prepare(now) == 0, "nobody has asked"
    line, of_hours = ask(now)
    assert (line, of_hours > 0) == ([7.0] * 4 + [None], True)
    assert ask(now) == (line, 0)
    now = measure(now, now + HOUR)
    assert prepare(now) > 0
    assert prepare(now) == 0
    assert ask(now) == ([7.0] * 5, 0)
    now = measure(now, now + 3 * HOUR)
    assert prepare(now) == 0, "it was asked for too long ago"
