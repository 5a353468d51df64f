"""The files of Uptime Kuma: the backup of 1.x, the list of monitors of 2.x as JSON, or the database `kuma.db` of both.

Tables and columns: db/knex_init_db.js and db/knex_migrations in github.com/louislam/uptime-kuma; a table that an older
version does not have is empty here.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from opsapp.wire.dataclass import frozen

from .foreign import NotImported, named, read, read_leniently
from .kumarecords import (
    KumaBackup,
    KumaBeside,
    KumaDay,
    KumaDomain,
    KumaGroup,
    KumaGroupTie,
    KumaMonitor,
    KumaNotificationTie,
    KumaPage,
    KumaRecord,
    KumaSetting,
    KumaTag,
    KumaTagTie,
    KumaWindow,
    KumaWindowTie,
)

# What else there is: in the file, in the database, how the report calls it, and which field is its name.
BESIDES = (
    ("status_page_list", "", "status page", "title"),
    ("maintenance_list", "", "window", "title"),
    ("", "incident", "incident", "title"),
    ("proxy_list", "proxy", "proxy", "host"),
    ("docker_host_list", "docker_host", "Docker host", "name"),
    ("remote_browser_list", "remote_browser", "remote browser", "name"),
    ("api_key_list", "api_key", "API key", "name"),
)
HISTORY = ("heartbeat", "heartbeats")
DAYS = "stat_daily"
PLACE, ODD = "weight", "rows"
MOST_DAYS = 366  # of each monitor: years of thousands would fill the memory
_SQLITE = b"SQLite format 3\0"


@frozen
class KumaFile:
    monitors: tuple[KumaMonitor, ...]
    channels: tuple[Any, ...]  # not read yet
    besides: tuple[tuple[str, str], ...]  # how the report calls it, its name
    windows: tuple[KumaWindow, ...] = ()
    window_ties: tuple[KumaWindowTie, ...] = ()
    pages: tuple[KumaPage, ...] = ()
    groups: tuple[KumaGroup, ...] = ()
    group_ties: tuple[KumaGroupTie, ...] = ()
    domains: tuple[KumaDomain, ...] = ()
    days: tuple[KumaDay, ...] = ()
    zone: str | None = None  # that of its server, if anybody has said it


def read_file(path: str) -> KumaFile:
    """ValueError when this is no file of Uptime Kuma."""
    with Path(path).open("rb") as file:
        is_database = file.read(len(_SQLITE)) == _SQLITE
    return _from_database(path) if is_database else _from_json(json.loads(Path(path).read_bytes()))


def _from_json(document: Any) -> KumaFile:
    file = KumaBackup(monitor_list=document) if isinstance(document, list) else read(KumaBackup, document)
    listed = file.monitors if file.monitor_list is None else file.monitor_list
    monitors = list(listed.values()) if isinstance(listed, dict) else listed
    if not isinstance(monitors, list) or not all(isinstance(monitor, dict) for monitor in monitors):
        raise ValueError("it has no list of monitors (monitorList)")
    besides = (
        (kind, str(getattr(read(KumaBeside, row), title)))
        for name, _, kind, title in BESIDES
        for row in _listed(getattr(file, name, None))
    )
    return KumaFile(tuple(map(_monitor, monitors)), tuple(file.notification_list or ()), tuple(besides))


def _monitor(given: Any) -> KumaMonitor:
    try:
        return read_leniently(KumaMonitor, given)
    except NotImported as reason:  # it is told in its place
        return KumaMonitor(name=named(given), wrong=str(reason))


def _listed(given: Any) -> list[Any]:
    rows = list(given.values()) if isinstance(given, dict) else given or []
    return [row for row in rows if isinstance(row, dict)]


def _from_database(path: str) -> KumaFile:
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        database.row_factory = sqlite3.Row
        try:
            return _from_tables(Tables(database))
        except sqlite3.DatabaseError as problem:
            raise ValueError(f"it is no database of Uptime Kuma: {problem}") from None


class Tables:
    def __init__(self, database: sqlite3.Connection):
        self.database = database
        self.odd = Counter[str]()  # rows that are left because they say no number, by their table
        self.present = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def rows(self, table: str) -> Iterator[dict[str, object]]:
        return map(dict, self._select(table))

    def _select(self, table: str) -> Iterator[sqlite3.Row]:
        return self.database.execute(f'SELECT * FROM "{table}"')  # a name of ours

    def read(self, record: type[KumaRecord], table: str) -> tuple[KumaRecord, ...]:
        return tuple(self.sound(record, table, self._select(table)))

    def sound(self, record: type[KumaRecord], table: str, rows: Iterable[sqlite3.Row]) -> Iterator[KumaRecord]:
        """A row without its number would tie what is not tied, or count what was not; its place is only a place."""
        for row in rows:
            told = read_leniently(record, dict(row))
            if all(doubt.startswith(f"{PLACE} ") for doubt in told.doubts):
                yield told
            else:
                self.odd[table] += 1

    def if_present(self, record: type[KumaRecord], table: str) -> tuple[KumaRecord, ...]:
        return self.read(record, table) if table in self.present else ()


def _from_tables(tables: Tables) -> KumaFile:
    monitors = tuple(_monitors(tables))
    told = [row.value for row in tables.if_present(KumaSetting, "setting") if row.key == "serverTimezone"]
    file = KumaFile(
        monitors,
        tuple(tables.rows("notification")),
        (),
        tables.if_present(KumaWindow, "maintenance"),
        tables.if_present(KumaWindowTie, "monitor_maintenance"),
        tables.if_present(KumaPage, "status_page"),
        tables.if_present(KumaGroup, "group"),
        tables.if_present(KumaGroupTie, "monitor_group"),
        tables.if_present(KumaDomain, "status_page_cname"),
        tuple(_days(tables)),
        str(told[0]) if told and told[0] else None,
    )
    return replace(file, besides=tuple(_besides(tables)))  # at the end: what could not be understood is among it


def _monitors(tables: Tables) -> Iterator[KumaMonitor]:
    """Monitors with their tags and their notifications, as the JSON file has them."""
    names = {tag.id: tag.name for tag in tables.read(KumaTag, "tag")}
    tags: dict[int, list[KumaTag]] = {}
    for tie in tables.read(KumaTagTie, "monitor_tag"):
        if tie.tag_id in names:
            tags.setdefault(tie.monitor_id, []).append(KumaTag(name=names[tie.tag_id], value=tie.value))
    told: dict[int, dict[str, bool]] = {}
    for to in tables.read(KumaNotificationTie, "monitor_notification"):
        told.setdefault(to.monitor_id, {})[str(to.notification_id)] = True
    for row in tables.rows("monitor"):
        monitor = _monitor(row)
        of = monitor.id or 0
        codes = monitor.accepted_statuscodes_json
        yield replace(
            monitor, tags=tuple(tags.get(of, ())), notification_idlist=told.get(of, {}), accepted_statuscodes=codes
        )


def _days(tables: Tables) -> Iterator[KumaDay]:
    """The last days of each monitor, in their order."""
    if DAYS not in tables.present:
        return
    ranked = f"SELECT *, row_number() OVER (PARTITION BY monitor_id ORDER BY timestamp DESC) AS place FROM {DAYS}"
    wanted = "SELECT monitor_id, timestamp, up, down"
    text = f"{wanted} FROM ({ranked}) WHERE place <= ? ORDER BY monitor_id, timestamp"
    yield from tables.sound(KumaDay, DAYS, tables.database.execute(text, (MOST_DAYS,)))


def _besides(tables: Tables) -> Iterator[tuple[str, str]]:
    for _, table, kind, title in BESIDES:
        if table in tables.present:
            yield from ((kind, str(getattr(row, title))) for row in tables.read(KumaBeside, table))
    if HISTORY[0] in tables.present:
        (count,) = tables.database.execute(f"SELECT count(*) FROM {HISTORY[0]}").fetchone()
        if count:
            yield "history", f"{count} {HISTORY[1]}"
    yield from ((ODD, f"{count} of {table}") for table, count in sorted(tables.odd.items()))
