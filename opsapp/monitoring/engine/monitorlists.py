"""Monitors as the API shows them: the register's plain values beside the live ones. No persistent object is loaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any, NamedTuple

from opsapp.lib.addresses import public
from opsapp.maintenance.engine import board_of
from opsapp.monitoring.engine import metrics, recent
from opsapp.monitoring.engine.register import Entry, ShownStatus
from opsapp.monitoring.engine.reports import uptime_of
from opsapp.monitoring.engine.shownstates import CHECKED, is_down_in_window, state_at
from opsapp.monitoring.engine.watch import watch_of
from opsapp.monitoring.logic.settings import searched
from opsapp.monitoring.queries import MonitorQuery
from opsapp.monitoring.records import LatelyMeasured, MonitorRecord
from opsapp.runtime.node import Node
from opsapp.tree.damage import NAMELESS
from opsapp.tree.rights import Sight
from opsapp.tree.root import Root
from opsapp.wire.records import extended

WORST_FIRST = ("down", "degraded", "unknown", "pending", "maintenance", "up", "paused")
DAY_MS = 86_400_000


def tags_of_all(node: Node, root: Root, sight: Sight | None = None) -> list[tuple[str, ...]]:
    return [entry.settings.tags for entry in seen(watch_of(node).entries(root).values(), sight)]


def seen(entries: Iterable[Entry], sight: Sight | None) -> list[Entry]:
    """Those that the caller's teams see; all, where there are none."""
    return list(entries) if sight is None else [entry for entry in entries if sight.sees(entry.settings.tags)]


def page(
    node: Node, root: Root, query: MonitorQuery, *, secrets: bool, sight: Sight | None = None
) -> tuple[list[MonitorRecord], int]:
    """Records ordered by name, and how many there are. `sight`: of those that it sees."""
    now = node.clock.now()
    words, tag, status, ids = query.words, query.tag, query.status, query.ids
    register = watch_of(node).register
    register.catch_up(root)
    entries = seen(register.ordered(), sight)
    if ids is not None:
        entries = [entry for entry in entries if entry.id in ids]
    if tag is not None:
        entries = [entry for entry in entries if tag in entry.settings.tags]
    if query.type is not None:
        entries = [entry for entry in entries if entry.target.type == query.type]
    if words:
        entries = [entry for entry in entries if _holds(entry, words)]
    if status is not None:
        watch_of(node).states.look(now)
        entries = [entry for entry in entries if entry.shown == status]
    chosen = query.cut(_in_order(node, root, entries, query.sort, now))
    measure_uptime(node, root, chosen, now)
    lately = recent.of_monitors(node, root, chosen, query.recent, now) if query.recent else {}
    look = StateLook(state_at(node, now), is_down_in_window(node, now))
    shown = [record(node, entry, now, secrets=secrets, recent=lately.get(entry.id), look=look) for entry in chosen]
    lost = unread(node) if not (words or tag or status or query.type or sight) else []
    if ids is not None:
        lost = [row for row in lost if row.id in ids]
    room = None if query.limit is None else max(0, query.limit - len(shown))
    after = max(0, query.offset - len(entries))
    return shown + lost[after:][:room], len(entries) + len(lost)


def _in_order(node: Node, root: Root, entries: list[Entry], sort: str, now: float) -> list[Entry]:
    """The worst of what the list is sorted by comes first; those that agree keep their order."""
    name, backward = sort.removeprefix("-"), sort.startswith("-")
    if name == "worst":
        watch_of(node).states.look(now)
        is_down = is_down_in_window(node, now)
        worst = [(0.5 if is_down(entry) else WORST_FIRST.index(entry.shown), entry) for entry in entries]
        return [entry for _, entry in sorted(worst, key=itemgetter(0), reverse=backward)]
    if name == "response":
        return _measured_first([(response_of(node, entry), entry) for entry in entries], high_first=not backward)
    if name == "uptime":
        measure_uptime(node, root, entries, now)
        return _measured_first([(entry.uptime[1], entry) for entry in entries], high_first=backward)
    return entries[::-1] if backward else entries


def _measured_first(figures: list[tuple[float | None, Entry]], *, high_first: bool) -> list[Entry]:
    """Sorted by the figure. Those without one come last, in either order."""
    known = [(figure, entry) for figure, entry in figures if figure is not None]
    known.sort(key=itemgetter(0), reverse=high_first)
    return [entry for _, entry in known] + [entry for figure, entry in figures if figure is None]


def response_of(node: Node, entry: Entry) -> float | None:
    value: Any = node.series.live.value(entry.subject, "response_time_ms")
    return value


def unread(node: Node) -> list[MonitorRecord]:
    """Monitors that this node could never read: all but the id and the reason are placeholders."""
    register = watch_of(node).register
    lost = [damage for monitor_id, damage in register.damaged.items() if monitor_id not in register.entries]
    return [
        MonitorRecord(id=row.id, name=row.name or NAMELESS, type="http", enabled=False, unreadable=row.reason)
        for row in lost
    ]


def _holds(entry: Entry, words: list[str]) -> bool:
    text = searched(entry.name, entry.target.url, entry.settings.tags)
    return all(word in text for word in words)


def one(node: Node, root: Root, monitor_id: str, *, secrets: bool) -> MonitorRecord:
    entry = watch_of(node).entry(root, monitor_id)
    now = node.clock.now()
    measure_uptime(node, root, [entry], now)
    return record(node, entry, now, secrets=secrets)


class StateLook(NamedTuple):
    state_of: Callable[[Entry], ShownStatus]
    is_down: Callable[[Entry], bool]


def record(
    node: Node,
    entry: Entry,
    now: float,
    *,
    secrets: bool,
    recent: LatelyMeasured | None = None,
    look: StateLook | None = None,
) -> MonitorRecord:
    """All of a monitor; without `secrets` what a viewer may see."""
    state_of, is_down = look or StateLook(state_at(node, now), is_down_in_window(node, now))
    url, cause, output = entry.target.url, entry.told.cause, entry.output
    if not secrets:
        url, cause, output = entry.public_url, public(cause), public(output)
    status = state_of(entry).status
    response, live = response_of(node, entry), node.series.live
    damage = watch_of(node).register.damaged.get(entry.id)  # what stands here is what this node remembers of it
    return extended(
        MonitorRecord,
        entry.settings.for_editors if secrets else entry.settings.for_viewers,
        id=entry.id,
        name=entry.name,
        url=url,
        status=status if damage is None else "unknown",
        down_in_window=damage is None and is_down(entry),
        response_time_ms=None if response is None else round(response),
        # Pending is "never checked": a push monitor whose first call is late was not, whatever is being tried again.
        last_check=None if status == "pending" else checked_at(node, entry),
        uptime_24h=entry.uptime[1],
        since=since_when(node, entry, status),
        cause=cause,
        flapping=entry.told.flapping,
        cert_days=live.value(entry.subject, "cert_days"),
        phases=entry.shown_phases(),
        protocol=entry.protocol,
        output=output,
        metrics=metrics.current(entry, live, now),
        incident_id=entry.incident_id,
        created_at=entry.created_at,
        unreadable="" if damage is None else damage.reason,
        push_url=push_url(entry.push_token, secrets=secrets),
        run_started=None if entry.run_started is None else int(entry.run_started),
        recent=recent,
    )


def push_url(push_token: str | None, *, secrets: bool) -> str | None:
    """The URL to push to, hidden from viewers; empty where nobody calls the monitor."""
    if not push_token:
        return ""
    return f"/api/monitoring/push/{push_token}" if secrets else None


def current_status(node: Node, entry: Entry, now: float) -> str:
    return state_at(node, now)(entry).status


def since_when(node: Node, entry: Entry, status: str) -> int:
    """A window counts from when it began, before the check that it asks for. What nobody has looked at lately is
    unknown since its last check ceased to speak for it; where this node has heard of none, since the node started."""
    told, now = entry.told, node.clock.now()
    if status == told.status:
        return int(told.since)
    if status == "maintenance":
        began = board_of(node).covered_since(entry.id, now)
        return int(told.since if began is None else max(told.since, began))
    if status != "unknown":
        return int(told.since)
    seen = node.series.live.observed_at(entry.subject, *CHECKED)
    return int(min(now, max(told.since, node.started_at if seen is None else seen + entry.hold_s)))


class MonitorTally(NamedTuple):
    """How many monitors are in each state, as they are shown; of those in maintenance, how many are down."""

    counts: dict[str, int]
    down_in_windows: int
    incidents: int = 0  # open ones, where only what a team sees is counted


def tally(node: Node, root: Root, sight: Sight | None = None) -> MonitorTally:
    """The one count for header, title, sentence and figures. What cannot be read is unknown."""
    watch, now = watch_of(node), node.clock.now()
    register = watch.register
    register.catch_up(root)
    if sight is not None:
        return _tally_of(node, seen(watch.states.look(now), sight), now)
    counts = Counter(watch.states.counts(now))
    damaged = {damage.id for damage in register.damaged.values()}
    if damaged:
        counts.subtract(register.entries[lost].shown for lost in damaged & register.entries.keys())
        counts["unknown"] += len(damaged)
    if not counts["maintenance"]:
        return MonitorTally(counts, 0)
    is_down = is_down_in_window(node, now)
    hidden = (entry.id not in damaged and is_down(entry) for entry in tuple(register.entries.values()))
    return MonitorTally(counts, sum(hidden))


def _tally_of(node: Node, entries: list[Entry], now: float) -> MonitorTally:
    damaged, is_down = watch_of(node).register.damaged, is_down_in_window(node, now)
    counts = Counter("unknown" if entry.id in damaged else entry.shown for entry in entries)
    hidden = sum(entry.id not in damaged and is_down(entry) for entry in entries)
    return MonitorTally(counts, hidden, sum(entry.incident_id is not None for entry in entries))


def statuses_now(node: Node, root: Root) -> dict[str, str]:
    watch = watch_of(node)
    watch.register.catch_up(root)
    return {entry.subject: entry.shown for entry in watch.states.look(node.clock.now())}


def checked_at(node: Node, entry: Entry) -> int | None:
    """When it was last checked, as far as this node knows."""
    newest = node.series.live.observed_at(entry.subject, *CHECKED)
    return None if newest is None else int(newest)


def measure_uptime(node: Node, root: Root, entries: list[Entry], now: float) -> None:
    """The uptime of the last 24 hours, for all monitors at once; kept for half a minute."""
    old = [entry for entry in entries if entry.uptime[0] <= now - recent.keeping(entry, entry.uptime[1])]
    if not old:
        return
    now_ms = int(now * 1000)
    totals = node.series.reading(root).totals(now_ms - DAY_MS, now_ms, [entry.series for entry in old])
    for entry in old:
        entry.uptime = (now, uptime_of(entry, totals.get(entry.series), now_ms - DAY_MS, now_ms))
