"""The files of Uptime Kuma: the backup of 1.x, the list of monitors of 2.x as JSON, or the database `kuma.db` of both.

The names of tables and columns are those of its schema (db/knex_init_db.js and db/knex_migrations in
github.com/louislam/uptime-kuma); a table that an older version does not have is empty here.
"""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from pathlib import Path
from typing import Any, NamedTuple

from opsapp.lib.jsontypes import JsonObject

from .estate import json_value

Tables = dict[str, list[JsonObject]]
NEEDED = ("monitor", "notification", "monitor_notification", "tag", "monitor_tag")
USED = (
    "maintenance",
    "monitor_maintenance",
    "status_page",
    "group",
    "monitor_group",
    "status_page_cname",
    "stat_daily",
    "setting",
)
# What else there is: in the file, in the database, how the report calls it, and which field is its name.
BESIDES = (
    ("statusPageList", "", "status page", "title"),
    ("maintenanceList", "", "window", "title"),
    ("", "incident", "incident", "title"),
    ("proxyList", "proxy", "proxy", "host"),
    ("dockerHostList", "docker_host", "Docker host", "name"),
    ("remoteBrowserList", "remote_browser", "remote browser", "name"),
    ("apiKeyList", "api_key", "API key", "name"),
)
HISTORY = ("heartbeat", "heartbeats")
_SQLITE = b"SQLite format 3\0"
_AS_IN_JSON = ("accepted_statuscodes", "dns_resolve_type", "dns_resolve_server", "basic_auth_user", "basic_auth_pass")


class KumaFile(NamedTuple):
    monitors: list[JsonObject]
    channels: list[JsonObject]
    tables: Tables
    besides: list[tuple[str, str]]  # how the report calls it, its name

    def rows(self, table: str) -> list[JsonObject]:
        return self.tables.get(table, [])

    @property
    def zone(self) -> str | None:
        """That of its server, if anybody has said it."""
        told = [json_value(row.get("value")) for row in self.rows("setting") if row.get("key") == "serverTimezone"]
        return str(told[0]) if told and told[0] else None


def read_file(path: str) -> KumaFile:
    """ValueError when this is no file of Uptime Kuma."""
    content = Path(path).read_bytes()
    return _from_database(path) if content.startswith(_SQLITE) else _from_json(content)


def title_of(row: JsonObject) -> str:
    return str(row.get("title") or "without a title")


def _from_json(content: bytes) -> KumaFile:
    document = json.loads(content)
    listed = document.get("monitorList", document.get("monitors")) if isinstance(document, dict) else document
    monitors = list(listed.values()) if isinstance(listed, dict) else listed
    if not isinstance(monitors, list) or not all(isinstance(monitor, dict) for monitor in monitors):
        raise ValueError("it has no list of monitors (monitorList)")
    channels = document.get("notificationList", []) if isinstance(document, dict) else []
    given = document if isinstance(document, dict) else {}
    besides = [(kind, str(row.get(title))) for key, _, kind, title in BESIDES for row in _listed(given.get(key))]
    return KumaFile(monitors, channels, {}, besides)


def _listed(given: Any) -> list[JsonObject]:
    rows = list(given.values()) if isinstance(given, dict) else given or []
    return [row for row in rows if isinstance(row, dict)]


def _from_database(path: str) -> KumaFile:
    """The tables, with the names that the JSON file uses for monitors."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        database.row_factory = sqlite3.Row
        try:
            present = {row["name"] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            tables = {name: _rows(database, name) for name in (*NEEDED, *(name for name in USED if name in present))}
            besides = _besides(database, present)
        except sqlite3.DatabaseError as problem:
            raise ValueError(f"it is no database of Uptime Kuma: {problem}") from None
    tags = {row["id"]: row["name"] for row in tables["tag"]}
    monitors = [_as_in_json(row) for row in tables["monitor"]]
    for monitor in monitors:
        tied = [row for row in tables["monitor_tag"] if row["monitor_id"] == monitor["id"] and row["tag_id"] in tags]
        monitor["tags"] = [{"name": tags[row["tag_id"]], "value": row["value"]} for row in tied]
        told = [row for row in tables["monitor_notification"] if row["monitor_id"] == monitor["id"]]
        monitor["notificationIDList"] = {str(row["notification_id"]): True for row in told}
    return KumaFile(monitors, tables["notification"], tables, besides)


def _besides(database: sqlite3.Connection, present: set[str]) -> list[tuple[str, str]]:
    wanted = [(table, kind, title) for _, table, kind, title in BESIDES if table in present]
    besides = [(kind, str(row.get(title))) for table, kind, title in wanted for row in _rows(database, table)]
    if HISTORY[0] in present:
        count = database.execute(f"SELECT count(*) FROM {HISTORY[0]}").fetchone()[0]
        besides += [("history", f"{count} {HISTORY[1]}")] if count else []
    return besides


def _rows(database: sqlite3.Connection, table: str) -> list[JsonObject]:
    return [dict(row) for row in database.execute(f'SELECT * FROM "{table}"')]  # a name of ours


def _as_in_json(row: JsonObject) -> JsonObject:
    """`retry_interval` is `retryInterval` there, and so on; lists are stored as JSON."""
    monitor = {
        name if name in _AS_IN_JSON else re.sub(r"_([a-z])", lambda match: match[1].upper(), name): value
        for name, value in row.items()
    }
    monitor["accepted_statuscodes"] = json_value(row.get("accepted_statuscodes_json") or "null")
    return monitor
