"""Monitors of Uptime Kuma: the settings that one has here.

Must not: take a monitor over that would say something else than it says there. One that looks at less here says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from opsapp.lib.jsontypes import JsonObject
from opsapp.wire.jsonpath import parse_path
from opsapp.wire.typesettings import COMPARISONS

from .estate import MOST_RETRIES, NotImported, host_and_port, json_value, named, times, with_user
from .kumaports import PORT_OF, only_port

WEB = ("http", "keyword", "json-query")
USUAL_CODES = (["200-299"], ["200-399"], ["200-299", "300-399"])
USUAL_REDIRECTS, MOST_REDIRECTS, LONGEST_DESCRIPTION = (5, 10), 20, 2000
CONTENT_TYPES = {
    "json": "application/json",
    "xml": "text/xml; charset=utf-8",
    "form": "application/x-www-form-urlencoded",
}
OF_A_HOST = "watch the host of it with an agent instead"
NO_BROWSER = "there is no monitor with a browser"
ELSEWHERE = {
    "docker": OF_A_HOST,
    "system-service": OF_A_HOST,
    "steam": "there is no monitor for game servers",
    "gamedig": "there is no monitor for game servers",
    "radius": "there is no monitor for RADIUS, and it has no TCP port",
    "manual": "its status is set by hand: write a notice for the status page instead",
}
SNMP_BY_HAND = {"1": "there are 2c and 3", "3": "its user and passwords are to be written in by hand"}
# What a monitor may have that nothing here stands for, with the values that say nothing.
NOT_TAKEN: dict[str, tuple[Any, ...]] = {
    "resendInterval": (None, 0),
    "packetSize": (None, 56),
    "cacheBust": (None, False, 0),
    "tlsCert": (None, ""),
}


def settings(monitor: JsonObject, notes: list[str]) -> JsonObject:
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
    told = {"name": named(monitor), **own, **general, "retries": min(retries, MOST_RETRIES), "enabled": enabled}
    return told | _besides_usual(monitor)


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
    given = monitor.get("expectedValue")
    expected = json_value(given)
    if not isinstance(expected, str):
        notes.append(f"the value is compared as JSON: {json.dumps(expected)} is not the text {str(given)!r}")
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


def _snmp(monitor: JsonObject, notes: list[str]) -> JsonObject:
    version = str(monitor.get("snmpVersion") or "2c")
    if version != "2c":
        raise NotImported(f"it asks by SNMP version {version}: " + SNMP_BY_HAND.get(version, "there is none such here"))
    if monitor.get("jsonPath") not in (None, "", "$"):
        raise NotImported(f"its query {monitor['jsonPath']!r} looks into the value")
    operator = monitor.get("jsonPathOperator") or "=="
    if operator not in COMPARISONS:
        raise NotImported(f"it compares by {operator}")
    expected = monitor.get("expectedValue")
    return {
        "type": "snmp",
        "url": "snmp://" + host_and_port(str(monitor.get("hostname")), monitor.get("port") or 161),
        "snmp_oid": str(monitor.get("snmpOid") or ""),
        "snmp_community": str(monitor.get("radiusPassword") or "public"),
        "expected_value": None if expected in (None, "") else json_value(expected),
        **({} if operator == COMPARISONS[0] else {"comparison": operator}),
    }


def _push(monitor: JsonObject, notes: list[str]) -> JsonObject:
    notes.append("has a new address: whoever called the old one has to call that")
    return {"type": "push"}


def _smtp(monitor: JsonObject, notes: list[str]) -> JsonObject:
    notes.append("only whether its port opens is looked at, not what the mail server says")
    return _port({"port": 25, **monitor}, notes)


def _of_tailscale(monitor: JsonObject, notes: list[str]) -> JsonObject:
    notes.append("a plain ping: whoever looks has to be in its Tailscale network")
    return _ping(monitor, notes)


def _browser(monitor: JsonObject, notes: list[str]) -> JsonObject:
    notes.append("the page is asked for without a browser: what scripts do in it is not seen")
    return _web({**monitor, "type": "http"}, notes)


def _rabbitmq(monitor: JsonObject, notes: list[str]) -> JsonObject:
    nodes = _several(monitor.get("rabbitmqNodes"), notes)
    user, password = monitor.get("rabbitmqUsername") or "", monitor.get("rabbitmqPassword") or ""
    url = nodes.rstrip("/") + "/api/health/checks/alarms/"
    return {"type": "http", "url": with_user(url, user, password) if user else url, "expected_status": 200}


def _several(given: Any, notes: list[str]) -> str:
    """The first of them."""
    listed = json_value(given)
    if not isinstance(listed, list) or not listed:
        raise NotImported("it names no server")
    if len(listed) > 1:
        notes.append(f"asks {listed[0]} only, not the {len(listed) - 1} others")
    return str(listed[0])


OTHERS: dict[str, Callable[[JsonObject, list[str]], JsonObject]] = {
    "port": _port,
    "ping": _ping,
    "dns": _dns,
    "push": _push,
    "snmp": _snmp,
    "smtp": _smtp,
    "tailscale-ping": _of_tailscale,
    "real-browser": _browser,
    "rabbitmq": _rabbitmq,
    **dict.fromkeys(PORT_OF, only_port),
}
