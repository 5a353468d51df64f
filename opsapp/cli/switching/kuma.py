"""Uptime Kuma: the backup file of 1.x, the list of monitors of 2.x as JSON, or its database `kuma.db`.

Must not: take a monitor over that would say something else than it says there.
"""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from opsapp.lib.jsontypes import JsonObject
from opsapp.notify.interfaces import BY_NAME, wrong_fields
from opsapp.wire.jsonpath import parse_path
from opsapp.wire.typesettings import COMPARISONS

from .estate import MOST_RETRIES, Estate, NotImported, host_and_port, json_value, named, tag, times, with_user

WEB = ("http", "keyword", "json-query")
USUAL_CODES = (["200-299"], ["200-399"], ["200-299", "300-399"])
USUAL_REDIRECTS, MOST_REDIRECTS, LONGEST_DESCRIPTION = (5, 10), 20, 2000
CONTENT_TYPES = {
    "json": "application/json",
    "xml": "text/xml; charset=utf-8",
    "form": "application/x-www-form-urlencoded",
}
OF_A_HOST = "watch the host of it with an agent instead"
ELSEWHERE = {
    "docker": OF_A_HOST,
    "mqtt": "there is no monitor for MQTT",
    "real-browser": "there is no monitor with a browser",
    "steam": "there is no monitor for game servers",
    "gamedig": "there is no monitor for game servers",
    **dict.fromkeys(
        ("mysql", "postgres", "sqlserver", "mongodb", "redis", "radius"), "watch its port with tcp instead"
    ),
}
# What a monitor may have that nothing here stands for, with the values that say nothing.
NOT_TAKEN: dict[str, tuple[Any, ...]] = {
    "resendInterval": (None, 0),
    "packetSize": (None, 56),
    "cacheBust": (None, False, 0),
}
# What else there is: in the file, in the database, how the report calls it, and which field is its name.
BESIDES = (
    ("statusPageList", "status_page", "status page", "title"),
    ("maintenanceList", "maintenance", "maintenance", "title"),
    ("proxyList", "proxy", "proxy", "host"),
    ("dockerHostList", "docker_host", "Docker host", "name"),
    ("remoteBrowserList", "remote_browser", "remote browser", "name"),
    ("apiKeyList", "api_key", "API key", "name"),
)
HISTORY = ("heartbeat", "heartbeats")
_SQLITE = b"SQLite format 3\0"


def read(path: str) -> Estate:
    """ValueError when this is no file of Uptime Kuma."""
    content = Path(path).read_bytes()
    in_database = content.startswith(_SQLITE)
    file = _from_database(path) if in_database else _from_json(content)
    monitors, estate = file.monitors, Estate()
    used = _channels(estate, file.channels, monitors)
    parents = {monitor.get("id"): monitor for monitor in monitors}
    for monitor in monitors:
        if monitor.get("type") == "group":
            estate.leave("group", named(monitor), "its monitors have its name as a tag")
            continue
        with estate.entry("monitor", named(monitor)) as notes:
            settings = _settings(monitor, notes)
            tags = [*map(_tag, monitor.get("tags") or []), *_groups(monitor, parents), *used(monitor)]
            estate.take("monitor", {**settings, "tags": tags}, notes)
    for kind, name in file.besides:
        estate.leave(kind, name, "only monitors and notifications are taken")
    return estate


# ---- the file


class KumaFile(NamedTuple):
    monitors: list[JsonObject]
    channels: list[JsonObject]
    besides: list[tuple[str, str]]  # how the report calls it, its name


def _from_json(content: bytes) -> KumaFile:
    document = json.loads(content)
    listed = document.get("monitorList", document.get("monitors")) if isinstance(document, dict) else document
    monitors = list(listed.values()) if isinstance(listed, dict) else listed
    if not isinstance(monitors, list) or not all(isinstance(monitor, dict) for monitor in monitors):
        raise ValueError("it has no list of monitors (monitorList)")
    channels = document.get("notificationList", []) if isinstance(document, dict) else []
    given = document if isinstance(document, dict) else {}
    besides = [(kind, str(row.get(title))) for key, _, kind, title in BESIDES for row in _listed(given.get(key))]
    return KumaFile(monitors, channels, besides)


def _listed(given: Any) -> list[JsonObject]:
    rows = list(given.values()) if isinstance(given, dict) else given or []
    return [row for row in rows if isinstance(row, dict)]


def _from_database(path: str) -> KumaFile:
    """The tables, with the names that the JSON file uses."""
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        database.row_factory = sqlite3.Row
        try:
            rows = {name: _rows(database, name) for name in ("monitor", "notification", "monitor_notification")}
            tags = database.execute(
                "SELECT monitor_tag.monitor_id AS monitor_id, tag.name AS name, monitor_tag.value AS value "
                "FROM monitor_tag JOIN tag ON tag.id = monitor_tag.tag_id"
            ).fetchall()
            besides = _besides(database)
        except sqlite3.DatabaseError as problem:
            raise ValueError(f"it is no database of Uptime Kuma: {problem}") from None
    monitors = [_as_in_json(row) for row in rows["monitor"]]
    for monitor in monitors:
        monitor["tags"] = [dict(row) for row in tags if row["monitor_id"] == monitor["id"]]
        tied = [row for row in rows["monitor_notification"] if row["monitor_id"] == monitor["id"]]
        monitor["notificationIDList"] = {str(row["notification_id"]): True for row in tied}
    return KumaFile(monitors, rows["notification"], besides)


def _besides(database: sqlite3.Connection) -> list[tuple[str, str]]:
    tables = {row["name"] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    wanted = [(table, kind, title) for _, table, kind, title in BESIDES if table in tables]
    besides = [(kind, str(row.get(title))) for table, kind, title in wanted for row in _rows(database, table)]
    if HISTORY[0] in tables:
        count = database.execute(f"SELECT count(*) FROM {HISTORY[0]}").fetchone()[0]
        besides += [("history", f"{count} {HISTORY[1]}")] if count else []
    return besides


def _rows(database: sqlite3.Connection, table: str) -> list[JsonObject]:
    return [dict(row) for row in database.execute(f"SELECT * FROM {table}")]  # a name of ours


def _as_in_json(row: JsonObject) -> JsonObject:
    """`retry_interval` is `retryInterval` there, and so on; lists are stored as JSON."""
    kept = ("accepted_statuscodes", "dns_resolve_type", "dns_resolve_server", "basic_auth_user", "basic_auth_pass")
    monitor = {
        name if name in kept else re.sub(r"_([a-z])", lambda match: match[1].upper(), name): value
        for name, value in row.items()
    }
    monitor["accepted_statuscodes"] = json_value(row.get("accepted_statuscodes_json") or "null")
    return monitor


# ---- a monitor


def _settings(monitor: JsonObject, notes: list[str]) -> JsonObject:
    kind = monitor.get("type")
    if monitor.get("proxyId"):
        raise NotImported("it asks through a proxy")
    if kind in WEB:
        own = _web(monitor, notes)
    elif kind in OTHERS:
        own = OTHERS[kind](monitor, notes)
    else:
        raise NotImported(ELSEWHERE.get(str(kind), f"there is no monitor of its type {kind}"))
    timeout = monitor.get("timeout") if kind in WEB else None
    general = times(float(monitor.get("interval") or 60), float(timeout) if timeout else None, notes)
    retries = int(monitor.get("maxretries") or 0)
    if retries > MOST_RETRIES:
        notes.append(f"{MOST_RETRIES} retries instead of {retries}")
    left = [name for name, without_meaning in NOT_TAKEN.items() if monitor.get(name) not in without_meaning]
    if retries and monitor.get("retryInterval") not in (None, 0, monitor.get("interval")):
        left.append("retryInterval")
    if left:
        notes.append(f"not taken of it: {', '.join(left)}")
    enabled = bool(monitor.get("active", True))
    settings = {"name": named(monitor), **own, **general, "retries": min(retries, MOST_RETRIES), "enabled": enabled}
    return settings | _besides_usual(monitor)


def _besides_usual(monitor: JsonObject) -> JsonObject:
    """What few have, where it says something."""
    told: JsonObject = {}
    if monitor.get("upsideDown"):
        told["upside_down"] = True
    if monitor.get("description"):
        told["description"] = str(monitor["description"])[:LONGEST_DESCRIPTION]
    if monitor.get("ipFamily") in ("ipv4", "ipv6"):
        told["ip_family"] = monitor["ipFamily"]
    return told


def _web(monitor: JsonObject, notes: list[str]) -> JsonObject:
    settings: JsonObject = {"type": {"http": "http", "keyword": "keyword", "json-query": "json"}[monitor["type"]]}
    settings["url"] = _with_credentials(monitor)
    settings["method"] = monitor.get("method") or "GET"
    settings["verify_tls"] = not monitor.get("ignoreTls")
    settings["follow_redirects"] = monitor.get("maxredirects") != 0
    settings["headers"] = _headers(monitor.get("headers"))
    settings |= _status(monitor.get("accepted_statuscodes") or USUAL_CODES[0], notes)
    if monitor.get("body"):
        settings |= {"body": str(monitor["body"]), "content_type": _content_type(monitor)}
    if monitor.get("maxredirects") not in (None, 0, *USUAL_REDIRECTS):
        settings["max_redirects"] = min(int(monitor["maxredirects"]), MOST_REDIRECTS)
    if settings["type"] == "keyword":
        settings["keyword"] = monitor.get("keyword") or ""
        settings["keyword_absent"] = bool(monitor.get("invertKeyword"))
        if not settings["keyword"]:
            raise NotImported("it has no keyword")
    elif settings["type"] == "json":
        settings |= _json(monitor, notes)
    return settings


def _with_credentials(monitor: JsonObject) -> str:
    url, method = str(monitor.get("url") or ""), monitor.get("authMethod")
    if method in (None, "", "basic"):
        user = monitor.get("basic_auth_user")
        return with_user(url, user, monitor.get("basic_auth_pass") or "") if user else url
    raise NotImported(f"it signs in by {method}")


def _headers(text: Any) -> JsonObject:
    headers = json_value(text or "{}")
    if not isinstance(headers, dict):
        raise NotImported("its headers are no JSON object")
    return {str(name): str(value) for name, value in headers.items()}


def _content_type(monitor: JsonObject) -> str:
    encoding = monitor.get("httpBodyEncoding") or "json"
    if encoding not in CONTENT_TYPES:
        raise NotImported(f"its body is written as {encoding}")
    return CONTENT_TYPES[encoding]


def _status(codes: list[str], notes: list[str]) -> JsonObject:
    if len(codes) == 1 and re.fullmatch(r"\d{3}", str(codes[0])):
        return {"expected_status": int(codes[0])}
    if codes not in USUAL_CODES:
        return {"expected_status": None, "accepted_statuses": list(dict.fromkeys(map(str, codes)))}
    if codes == USUAL_CODES[0]:
        notes.append("a last answer of 300 to 399 counts as up here")
    return {"expected_status": None}


def _json(monitor: JsonObject, notes: list[str]) -> JsonObject:
    operator = monitor.get("jsonPathOperator") or "=="
    if operator not in COMPARISONS:
        raise NotImported(f"it compares by {operator}")
    path = str(monitor.get("jsonPath") or "")
    path = path if path.startswith("$") else f"$.{path}"
    try:
        parse_path(path)
    except ValueError:
        raise NotImported(f"its query {monitor.get('jsonPath')!r} is more than a path") from None
    expected = json_value(monitor.get("expectedValue"))
    if not isinstance(expected, str):
        notes.append(f"the value is compared as JSON: {json.dumps(expected)} is not the text {str(expected)!r}")
    compared = {} if operator == COMPARISONS[0] else {"comparison": operator}
    return {"json_path": path, "expected_value": expected, **compared}


def _port(monitor: JsonObject, notes: list[str]) -> JsonObject:
    return {"type": "tcp", "url": "tcp://" + host_and_port(str(monitor.get("hostname")), monitor.get("port"))}


def _ping(monitor: JsonObject, notes: list[str]) -> JsonObject:
    return {"type": "ping", "url": f"ping://{monitor.get('hostname')}"}


def _dns(monitor: JsonObject, notes: list[str]) -> JsonObject:
    if monitor.get("conditions") not in (None, "", "[]", []):
        raise NotImported("it has conditions on the records")
    resolvers = [word.strip() for word in str(monitor.get("dns_resolve_server") or "1.1.1.1").split(",")]
    if len(resolvers) > 1:
        notes.append(f"asks {resolvers[0]} only, not {', '.join(resolvers[1:])}")
    port = int(monitor.get("port") or 53)
    resolver = resolvers[0] if port == 53 else host_and_port(resolvers[0], port)
    return {
        "type": "dns",
        "url": f"dns://{resolver}/{monitor.get('hostname')}?type={monitor.get('dns_resolve_type') or 'A'}",
    }


def _push(monitor: JsonObject, notes: list[str]) -> JsonObject:
    notes.append("has a new address: whoever called the old one has to call that")
    return {"type": "push"}


OTHERS = {"port": _port, "ping": _ping, "dns": _dns, "push": _push}


def _tag(named: JsonObject) -> str:
    return tag(f"{named['name']}:{named['value']}" if named.get("value") else named["name"])


def _groups(monitor: JsonObject, parents: dict[Any, JsonObject]) -> list[str]:
    names: list[str] = []
    parent = parents.get(monitor.get("parent"))
    while parent is not None and tag(parent["name"]) not in names:
        names.append(tag(parent["name"]))
        parent = parents.get(parent.get("parent"))
    return names


# ---- channels


def _channels(estate: Estate, rows: list[JsonObject], monitors: list[JsonObject]) -> Any:
    """Channels are tied to monitors by tags here: a function that answers those of a monitor."""
    tags: dict[str, str] = {}
    for row in rows:
        with estate.entry("notification", named(row)) as notes:
            number = str(row["id"])
            settings: JsonObject = {"name": named(row), "url": _address(_config(row)), "tags": []}
            settings["enabled"] = bool(row.get("active", True))
            using = [monitor for monitor in monitors if (monitor.get("notificationIDList") or {}).get(number)]
            if not using:
                settings["enabled"] = False
                notes.append("no monitor uses it: it is disabled")
            elif len(using) < len([monitor for monitor in monitors if monitor.get("type") != "group"]):
                tags[number] = _tag_of_channel(named(row), number, set(tags.values()))
                settings["tags"] = [tags[number]]
            estate.take("channel", settings, notes)
    return lambda monitor: [
        tags[number] for number, on in (monitor.get("notificationIDList") or {}).items() if on and number in tags
    ]


def _tag_of_channel(name: str, number: str, taken: set[str]) -> str:
    """Two channels whose names look alike must not get each other's monitors."""
    wanted = "to:" + (re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-") or number)[:50]
    return wanted if wanted not in taken else f"{wanted}-{number}"


def _config(row: JsonObject) -> JsonObject:
    config = json_value(row.get("config"))
    if not isinstance(config, dict):
        raise NotImported("it has no settings")
    return config


def _address(config: JsonObject) -> str:
    kind = str(config.get("type"))
    if kind not in ADDRESSES:
        raise NotImported(f"there is no address for its type {kind}: make the channel by hand")
    name, given = ADDRESSES[kind](config)
    fields = {key: str(value) for key, value in given.items() if value}
    wrong = wrong_fields(name, fields)
    if wrong:
        raise NotImported("; ".join(f"{field} {text}" for field, text in wrong.items()))
    return BY_NAME[name].write(fields)


def _mail(config: JsonObject) -> tuple[str, JsonObject]:
    return "mail", {
        "host": config["smtpHost"], "port": config.get("smtpPort"), "from": config["smtpFrom"], "to": config["smtpTo"],
        "user": config.get("smtpUsername"), "password": config.get("smtpPassword"),
        "security": "tls" if config.get("smtpSecure") else "starttls",
    }  # fmt: skip


def _ntfy(config: JsonObject) -> tuple[str, JsonObject]:
    given = {
        "server": config.get("ntfyserverurl"),
        "topic": config["ntfytopic"],
        "token": config.get("ntfyaccesstoken"),
    }
    return "ntfy", given


def _web_address(url: str) -> str:
    if urlsplit(url).scheme not in ("http", "https"):
        raise NotImported("its address is none of the web")
    return url


ADDRESSES = {
    "smtp": _mail,
    "telegram": lambda config: (
        "telegram", {"token": config["telegramBotToken"], "chat": config["telegramChatID"]}),
    "discord": lambda config: ("discord", {"address": _web_address(config["discordWebhookUrl"])}),
    "slack": lambda config: ("slack", {"address": _web_address(config["slackwebhookURL"])}),
    "webhook": lambda config: ("webhook", {"address": _web_address(config["webhookURL"])}),
    "ntfy": _ntfy,
    "gotify": lambda config: (
        "gotify", {"server": config["gotifyserverurl"], "token": config["gotifyapplicationToken"]}),
    "pushover": lambda config: (
        "pushover", {"user": config["pushoveruserkey"], "token": config["pushoverapptoken"]}),
}  # fmt: skip
