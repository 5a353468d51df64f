"""Makes messages of what happened, and rows of the queues of messages, one page of subscribers in each transaction.
What happens within `gather_s` is told together: 200 monitors that fail at once are one message."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice

from BTrees.OOBTree import OOBTree

from opsapp.lib.ids import new_id
from opsapp.lib.pagenames import MAIN, OWN
from opsapp.maintenance.config import MaintenanceSettings
from opsapp.maintenance.engine import upcoming
from opsapp.monitoring.engine import PUBLIC_TAG, open_notices, published
from opsapp.monitoring.notices import StatusNotice
from opsapp.monitoring.records import IncidentNote
from opsapp.monitoring.resources import Incident, monitors_of
from opsapp.runtime.cluster import leases
from opsapp.runtime.node import Node, node_of, now_of
from opsapp.runtime.wakes import wake_after_commit
from opsapp.statuspages.logic import letters
from opsapp.statuspages.logic.calendar import PlannedTime, compared
from opsapp.statuspages.logic.letters import NewsItem
from opsapp.statuspages.logic.settings import StatusPageSettings
from opsapp.statuspages.resources import Announcement, ListedSubscriber, StatusPageStore, ToldNotice, store_of
from opsapp.tree.root import Root

from .audiences import shown_on_own, subscribed_pages
from .settings import LEASE, NEWS

ROWS_AT_ONCE = 2_000
SUBSCRIBERS_AT_ONCE = 500
KEEP_S = 30 * 86_400.0
KEEP_CALENDAR_S = 400 * 86_400.0


def heard(root: Root, incident: Incident, change: str, now: float, update: IncidentNote | None) -> None:
    store = store_of(root)
    what = {"opened": letters.BEGINS, "updated": letters.UPDATE, "resolved": letters.OVER}.get(change)
    if what is None or not store.confirmed or (update is not None and not update.public):
        return
    item = _of_monitor(root, incident, what, int(now)) if incident.monitor_id else _by_hand(incident, what, int(now))
    if item is not None:
        _put(root, item._replace(stage=update.stage, message=update.message) if update else item)


def _of_monitor(root: Root, incident: Incident, what: str, now: int) -> NewsItem | None:
    monitor = monitors_of(root).find(incident.monitor_id)
    pages = () if monitor is None else _pages_of(root, incident.monitor_id, monitor.record.tags)
    if monitor is None or not pages:
        return None
    if what == letters.OVER and incident.closed_because:
        what = letters.CLOSED
    return NewsItem(now, what, incident.id, monitor.name, (incident.monitor_id,), pages=pages)


def _pages_of(root: Root, monitor_id: str, tags: Collection[str]) -> tuple[str, ...]:
    """What stands for the pages on which the monitor is."""
    return ((MAIN,) if PUBLIC_TAG in tags else ()) + ((OWN,) if shown_on_own(root, monitor_id) else ())


def _by_hand(incident: Incident, what: str, now: int) -> NewsItem | None:
    """One that a person put on pages; its name as its visitors read it."""
    if incident.told is None or not incident.pages:
        return None
    what = {letters.BEGINS: letters.OPENED, letters.OVER: letters.ENDED}.get(what, what)
    return NewsItem(now, what, incident.id, incident.told.name, (), pages=incident.pages)


def _put(root: Root, item: NewsItem) -> None:
    store_of(root).inbox.put(node_of(root).writer(), tuple(item))
    wake_after_commit(root, NEWS)


# -- the calendar ----------------------------------------------------------------------------------------------------


def look_at_windows(node: Node) -> bool:
    """What is planned goes into the calendar; what is new or other in it is told."""
    for pages in (MAIN, OWN):
        if node.transact(_differing, pages)[0]:
            node.transact(_note_windows, pages)
    return False


def look(node: Node) -> bool:
    return look_at_windows(node) or look_at_notices(node)


def _note_windows(root: Root, pages: str) -> None:
    leases.check(root, LEASE)
    store, now = store_of(root), int(now_of(root))
    stored, told = _differing(root, pages)
    for entry in stored:
        store.keep(entry, own=pages == OWN)
    for what, entry in told if store.confirmed else ():
        about = (entry.uid, entry.name, entry.monitors)
        _put(root, NewsItem(now, what, *about, start=entry.start, end=entry.end, pages=(pages,)))


def _differing(root: Root, pages: str) -> tuple[list[PlannedTime], list[tuple[str, PlannedTime]]]:
    store, now = store_of(root), int(now_of(root))
    if pages == MAIN:
        names: Collection[str] = published(node_of(root), root)
    else:
        own = store.own_pages().values()
        names = {monitor_id for page in own for group in page.record.groups for monitor_id in group.monitors}
    return compared(store.entries(own=pages == OWN), _planned(root, names, now) if names else [], now)


def _planned(root: Root, names: Collection[str], now: int) -> list[PlannedTime]:
    """The maintenance to come of these monitors."""
    within = node_of(root).config[MaintenanceSettings].announce_days * 86_400
    current = []
    for window in upcoming(root, now, within):
        monitors = tuple(
            sorted(monitor_id for monitor_id in names if window.scope is None or monitor_id in window.scope)
        )
        if monitors:
            uid = f"{window.id}-{window.start}" if window.recurs else window.id
            current.append(PlannedTime(uid, window.name, window.start, window.end, monitors))
    return current


# -- notices ---------------------------------------------------------------------------------------------------------


def look_at_notices(node: Node) -> bool:
    """Told once, and once more when it is over: ended, taken away, or by its time, which nothing else notices."""
    if node.transact(_other_notices):
        node.transact(_note_notices)
    return False


def _other_notices(root: Root) -> bool:
    now_open = {notice.id for notice in open_notices(root, now_of(root))}
    return now_open != store_of(root).told_notices().keys()


def _note_notices(root: Root) -> None:
    leases.check(root, LEASE)
    store, now = store_of(root), now_of(root)
    told, now_open = store.told_notices(), {notice.id: notice for notice in open_notices(root, now)}
    items = [_over(name, told[name], int(now)) for name in told.keys() - now_open.keys()]
    items += [_begun(now_open[name], int(now)) for name in now_open.keys() - told.keys()]
    fresh = {name: ToldNotice(notice.stored.title, notice.stored.pages) for name, notice in now_open.items()}
    store.keep_notices(fresh | {name: notice for name, notice in told.items() if name in fresh})  # as people read it
    for item in items if store.confirmed else ():
        _put(root, item)


def _over(name: str, told: ToldNotice, now: int) -> NewsItem:
    return NewsItem(now, letters.NOTICE_OVER, name, told.title, (), pages=told.pages)


def _begun(notice: StatusNotice, now: int) -> NewsItem:
    said = notice.stored
    return NewsItem(
        now, letters.NOTICE, notice.id, said.title, (), stage=said.severity, message=said.text, pages=said.pages
    )


# -- messages --------------------------------------------------------------------------------------------------------


def step(node: Node) -> bool:
    now = node.clock.now()
    if not node.transact(anything, now):
        return False
    return bool(node.transact(gather, now)) | bool(node.transact(fan_out, now))


def anything(root: Root, now: float) -> bool:
    """A look that costs nothing."""
    store = store_of(root)
    return bool(store.fanning) or _is_ripe(root, store, now)


def _is_ripe(root: Root, store: StatusPageStore, now: float) -> bool:
    if not store.inbox:
        return False
    oldest, gather_s = min(NewsItem(*row).at for row in store.inbox), node_of(root).config[StatusPageSettings].gather_s
    # One from far ahead was put in before the clock was set back: nobody waits until it comes there again.
    return not now - gather_s < oldest <= now + gather_s


def gather(root: Root, now: float) -> bool:
    leases.check(root, LEASE)
    store = store_of(root)
    if not _is_ripe(root, store, now):
        return False
    items = tuple(sorted(NewsItem(*row) for row in store.inbox.take(ROWS_AT_ONCE)))
    announcement_id = f"{int(now * 1000):012x}{new_id()}"
    store.announcements[announcement_id] = Announcement(items, now)
    store.fanning[announcement_id] = ""
    return True


def fan_out(root: Root, now: float) -> bool:
    leases.check(root, LEASE)
    store = store_of(root)
    if not store.fanning:
        return False
    announcement_id = store.fanning.minKey()
    items, pages = store.announcements[announcement_id].items, subscribed_pages(root)
    after = store.fanning[announcement_id]
    page = list(islice(store.confirmed.items(after, excludemin=bool(after)), SUBSCRIBERS_AT_ONCE))
    for subscriber_id, listed in page:
        subscriber = ListedSubscriber(*listed)
        of = pages.get(subscriber.page)
        if of is not None and any(of.audience.hears(subscriber.groups, item) for item in items):
            row = f"{announcement_id}/{subscriber_id}"
            store.queues[subscriber.kind].agenda(row).add(now, row)
    if len(page) < SUBSCRIBERS_AT_ONCE:
        del store.fanning[announcement_id]
    else:
        store.fanning[announcement_id] = page[-1][0]
    wake_after_commit(root, *(f"status-{kind}" for kind in store.queues))
    return True


def purge(root: Root, now: float) -> None:
    store = store_of(root)
    for announcement_id in list(store.announcements.keys(None, f"{int((now - KEEP_S) * 1000):012x}")):
        if announcement_id not in store.fanning:
            del store.announcements[announcement_id]
    for calendar in (store.calendar, store.own_calendar):
        if calendar is not None:
            _forget_old(calendar, now)


def _forget_old(calendar: OOBTree, now: float) -> None:
    for uid, row in list(calendar.items()):
        if PlannedTime(*row).end < now - KEEP_CALENDAR_S:
            del calendar[uid]
