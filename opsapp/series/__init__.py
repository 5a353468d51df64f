"""What was measured: journal, packed segments, roll-ups, retention, and the node's live view.

Lives here: how observations are kept and read. Must not: know what a monitor or an agent is, HTTP, gevent.

An observation is `(number, time in ms, value or None, status code, hold in s)`. A series is named by a number that its
owner keeps in its own record; no persistent reference crosses into or out of the `history` database.

    observations.py   the plain tuple, the status codes
    columns.py        columns of integers to bytes and back; framing with a checksum
    codec.py          chunks (one series), batches (many series), roll-up chunks
    journal.py        the node's collector, the append-only log it writes
    history.py        the persistent shape: logs, hours, days
    folds.py          journal → pieces → hours → sealed days, retention
    erasure.py        the series of owners that are gone, out of all of it
    rollup.py         buckets of time: sums, percentiles, how long each state lasted
    recent.py         the journal's tail in memory
    tails.py          what a series comes to since its hours were merged last
    lines.py          the last states and means of a series
    running.py        both, of the series that are asked for, kept up with what is committed
    totals.py         long spans: of what is merged and what is not
    reads.py          reads over all of it
    live.py           the latest value of everything, in memory

Other rooms use the names below.
"""

from opsapp.series import erasure, folds
from opsapp.series.history import history_root
from opsapp.series.live import Live, Value
from opsapp.series.observations import CODES, FOREVER, NAMES, NONE, PAUSED
from opsapp.series.process import Series
from opsapp.series.reads import HistoryReader
from opsapp.series.rollup import DAY, FINE, HOUR, STATES, Rollup, merge
from opsapp.series.totals import Total
