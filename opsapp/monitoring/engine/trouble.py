"""Which monitors are in trouble, worst first, and how many stand how: for the overview.

Read-only, in the caller's transaction. Must not: know what a failure comes from; healing does, by the graph.
"""

from __future__ import annotations

from typing import NamedTuple

from opsapp.monitoring.engine import monitorlists
from opsapp.monitoring.engine.register import Entry
from opsapp.monitoring.engine.reports import STATUSES as BY_CODE
from opsapp.monitoring.engine.watch import watch_of
from opsapp.monitoring.records import CertificateEnd
from opsapp.monitoring.resources import incidents_of
from opsapp.runtime.node import Node
from opsapp.tree.rights import Sight
from opsapp.tree.root import Root

WORST = ("down", "degraded", "unknown")  # in this order; the others want nobody
SOON_DAYS, MOST_CERTIFICATES = 14, 5
HALF_HOUR_MS, SLOTS = 1_800_000, 48


class TroubledMonitor(NamedTuple):
    """A monitor that is not well. `acknowledged_by` has its incident."""

    id: str
    name: str
    status: str
    since: int
    cause: str
    incident_id: str | None
    acknowledged_by: str | None
    series: int


class MonitorsStanding(NamedTuple):
    """Counts, and those in trouble: the worst first, of alike ones the oldest trouble first."""

    counts: dict[str, int]
    down_in_windows: int
    troubled: list[TroubledMonitor]


def standing_of_all(node: Node, root: Root, now: float, sight: Sight | None = None) -> MonitorsStanding:
    """`sight`: of those that it sees."""
    watch = watch_of(node)
    watch.register.catch_up(root)
    entries = monitorlists.seen(watch.states.look(now), sight)
    statuses = {entry.id: entry.shown for entry in entries}
    unreadable = {damage.id for damage in watch.register.damaged.values()}
    statuses |= dict.fromkeys(unreadable if sight is None else unreadable & statuses.keys(), "unknown")
    troubled = [entry for entry in entries if statuses[entry.id] in WORST]
    since = {entry.id: monitorlists.since_when(node, entry, statuses[entry.id]) for entry in troubled}
    troubled.sort(key=lambda entry: (WORST.index(statuses[entry.id]), since[entry.id], entry.name.casefold()))
    counts, down_in_windows, _ = monitorlists.tally(node, root, sight)
    return MonitorsStanding(
        {status: counts[status] for status in BY_CODE},
        down_in_windows,
        [_troubled(root, entry, statuses[entry.id], since[entry.id]) for entry in troubled],
    )


def _troubled(root: Root, entry: Entry, status: str, since: int) -> TroubledMonitor:
    incident = incidents_of(root).find(entry.incident_id)
    owner = None if incident is None else incident.acknowledged_by
    told = entry.told
    return TroubledMonitor(entry.id, entry.name, status, since, told.cause, entry.incident_id, owner, entry.series)


def ending_certificates(node: Node, root: Root, sight: Sight | None = None) -> list[CertificateEnd]:
    ending = []
    for entry in monitorlists.seen(watch_of(node).entries(root).values(), sight):
        days = node.series.live.value(entry.subject, "cert_days")
        if isinstance(days, int | float) and days <= SOON_DAYS and entry.settings.enabled:
            ending.append(CertificateEnd(entry.id, entry.name, int(days)))
    return sorted(ending, key=lambda certificate: certificate.days)[:MOST_CERTIFICATES]


def last_day(node: Node, root: Root, series: int, now: float) -> list[str]:
    """The worst status of each half-hour, the present one last; `unknown` where nobody looked."""
    end = int(now * 1000) + 1
    last = end - end % HALF_HOUR_MS
    start = last - (SLOTS - 1) * HALF_HOUR_MS
    buckets = node.series.reading(root).buckets(series, start, end, HALF_HOUR_MS)
    worst = {bucket.start: BY_CODE[bucket.worst] for bucket in buckets if bucket.checks}
    return [worst.get(start + slot * HALF_HOUR_MS, "unknown") for slot in range(SLOTS)]
