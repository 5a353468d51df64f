"""A store that is measured into and folded by hand, on a clock of the test's own."""

from opsapp.series import folds
from opsapp.series.journal import Journal
from opsapp.series.reads import HistoryReader
from opsapp.series.recent import Recent
from opsapp.series.rollup import DAY

WHOLE = 1 << 62  # a bucket that takes everything
RAW, FINE_KEPT, HOURLY_KEPT = 7 * DAY, 90 * DAY, 730 * DAY


class Measuring:
    def __init__(self, stores, node="n1", keep=(RAW, FINE_KEPT, HOURLY_KEPT)):
        self.stores = stores
        self.keep = keep
        self.journal = Journal(node)
        self.recent = Recent()

    def commit(self, now):
        self.journal.pack(now)
        self.journal.settle(self.stores.measured(self.journal.flush))

    def fold(self, now):
        return self.stores.measured(folds.fold, now, self.keep[0])

    def merge(self, now):
        """Slices of work done."""
        return _all(lambda: self.stores.measured(folds.merge, now))

    def seal(self, now):
        return _all(lambda: self.stores.measured(folds.seal, now))

    def retire(self, now):
        return self.stores.measured(folds.retire, now, self.keep)

    def settle(self, now):
        """Everything that is due."""
        return self.fold(now), self.merge(now), self.seal(now), self.retire(now)

    def read(self, fn):
        """`fn(reading)`, with what this process remembers of the journal."""
        return self.stores.measured(lambda mapping: fn(HistoryReader(mapping, self.recent)))

    def totals(self, start, end, numbers):
        """As the reading gives them; asked for a few series and for many it says the same."""
        few = self.read(lambda reading: reading.totals(start, end, numbers, percentiles=True))
        others = range(10**6, 10**6 + 100)
        many = self.read(lambda reading: reading.totals(start, end, [*numbers, *others], percentiles=True))
        plain = [{n: total._replace(p95=None) for n, total in totals.items()} for totals in (few, many)]
        assert plain[0] == plain[1]
        return many

    def store(self, fn):
        from opsapp.series.history import open_history

        return self.stores.measured(lambda mapping: fn(open_history(mapping)))


def _all(step):
    done = 0
    while step():
        done += 1
    return done
