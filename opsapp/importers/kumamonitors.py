"""Monitors of Uptime Kuma: the settings that one has here.

Must not: take a monitor over that would say something else than there. One that looks at less says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from opsapp.wire.jsonpath import parse_path
from opsapp.wire.typesettings import COMPARISONS

from .estate import MOST_RETRIES, MonitorEntry, host_and_port, timed, with_user
from .foreign import NotImported, json_value
from .kumaports import PORT_OF, only_port
from .kumarecords import KumaMonitor

WEB = {"http": "http", "keyword": "keyword", "json-query": "json"}
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
# What a monitor may have that nothing here stands for: the field, and how its file calls it.
NOT_TAKEN = {
    "resend_interval": "resendInterval",
    "packet_size": "packetSize",
    "cache_bust": "cacheBust",
    "tls_cert": "tlsCert",
}
PLAIN = KumaMonitor()


def monitor_as_code(monitor: KumaMonitor, notes: list[str]) -> MonitorEntry:
    is_web = monitor.type in WEB
    if monitor.proxy_id:
        raise NotImported("it asks through a proxy")
    if is_web:
        entry = _web(monitor, notes)
    elif monitor.type in OTHERS:
        entry = OTHERS[monitor.type](monitor, notes)
    else:
        raise NotImported(ELSEWHERE.get(str(monitor.type), f"there is no monitor of its type {monitor.type}"))
    entry = timed(entry, monitor.interval or 60.0, monitor.timeout or None if is_web else None, notes)
    retries = monitor.maxretries
    if retries > MOST_RETRIES:
        notes.append(f"{MOST_RETRIES} retries instead of {retries}")
    left = [told for name, told in NOT_TAKEN.items() if getattr(monitor, name) != getattr(PLAIN, name)]
    if retries and monitor.retry_interval not in (0, monitor.interval):
        left.append("retryInterval")
    if left:
        notes.append(f"not taken of it: {', '.join(left)}")
    return replace(
        entry,
        name=monitor.told,
        retries=min(retries, MOST_RETRIES),
        enabled=bool(monitor.active),
        upside_down=monitor.upside_down,
        description=monitor.description[:LONGEST_DESCRIPTION],
        ip_family=monitor.ip_family if monitor.ip_family in ("ipv4", "ipv6") else entry.ip_family,
    )


def _made(monitor: KumaMonitor, kind: str, url: str = "") -> MonitorEntry:
    return MonitorEntry(name=monitor.name, type=kind, url=url)


def _web(monitor: KumaMonitor, notes: list[str]) -> MonitorEntry:
    expected, accepted = _status(monitor.accepted_statuscodes or USUAL_CODES[0], notes)
    entry = replace(
        _made(monitor, WEB[str(monitor.type)], _with_credentials(monitor)),
        method=monitor.method or "GET",
        verify_tls=not monitor.ignore_tls,
        follow_redirects=monitor.maxredirects != 0,
        headers=_headers(monitor.headers),
        expected_status=expected,
        accepted_statuses=accepted,
    )
    if monitor.body:
        entry = replace(entry, body=monitor.body, content_type=_content_type(monitor))
    if monitor.maxredirects not in (None, 0, *USUAL_REDIRECTS):
        entry = replace(entry, max_redirects=min(monitor.maxredirects, MOST_REDIRECTS))
    if entry.type == "keyword":
        if not monitor.keyword:
            raise NotImported("it has no keyword")
        return entry.having(keyword=monitor.keyword, keyword_absent=monitor.invert_keyword)
    return _json(entry, monitor, notes) if entry.type == "json" else entry


def _with_credentials(monitor: KumaMonitor) -> str:
    if monitor.auth_method not in ("", "basic"):
        raise NotImported(f"it signs in by {monitor.auth_method}")
    user = monitor.basic_auth_user
    return with_user(monitor.url, user, monitor.basic_auth_pass) if user else monitor.url


def _headers(given: Any) -> dict[str, str]:
    headers = json_value(given or "{}")
    if not isinstance(headers, dict):
        raise NotImported("its headers are no JSON object")
    return {str(name): str(value) for name, value in headers.items()}


def _content_type(monitor: KumaMonitor) -> str:
    encoding = monitor.http_body_encoding or "json"
    if encoding not in CONTENT_TYPES:
        raise NotImported(f"its body is written as {encoding}")
    return CONTENT_TYPES[encoding]


def _status(codes: Any, notes: list[str]) -> tuple[int | None, tuple[str, ...]]:
    """The expected status, and which are accepted."""
    if len(codes) == 1 and re.fullmatch(r"\d{3}", str(codes[0])):
        return int(codes[0]), ()
    if codes not in USUAL_CODES:
        return None, tuple(dict.fromkeys(map(str, codes)))
    if codes == USUAL_CODES[0]:
        notes.append("a last answer of 300 to 399 counts as up here")
    return None, ()


def _json(entry: MonitorEntry, monitor: KumaMonitor, notes: list[str]) -> MonitorEntry:
    comparison = _comparison(monitor)
    path = monitor.json_path if monitor.json_path.startswith("$") else f"$.{monitor.json_path}"
    try:
        parse_path(path)
    except ValueError:
        raise NotImported(f"its query {monitor.json_path!r} is more than a path") from None
    expected = json_value(monitor.expected_value)
    if not isinstance(expected, str):
        given = str(monitor.expected_value)
        notes.append(f"the value is compared as JSON: {json.dumps(expected)} is not the text {given!r}")
    return entry.having(json_path=path, expected_value=expected, comparison=comparison)


def _comparison(monitor: KumaMonitor) -> str:
    operator = monitor.json_path_operator or COMPARISONS[0]
    if operator not in COMPARISONS:
        raise NotImported(f"it compares by {operator}")
    return operator


def _port(monitor: KumaMonitor, notes: list[str]) -> MonitorEntry:
    if not monitor.port:
        raise NotImported("it has no port")
    return _made(monitor, "tcp", "tcp://" + host_and_port(monitor.hostname, monitor.port))


def _ping(monitor: KumaMonitor, notes: list[str]) -> MonitorEntry:
    return _made(monitor, "ping", f"ping://{monitor.hostname}")


def _dns(monitor: KumaMonitor, notes: list[str]) -> MonitorEntry:
    if monitor.conditions not in (None, "", "[]", []):
        raise NotImported("it has conditions on the records")
    resolver, *others = [word.strip() for word in (monitor.dns_resolve_server or "1.1.1.1").split(",")]
    if others:
        notes.append(f"asks {resolver} only, not {', '.join(others)}")
    port = monitor.port or 53
    server = resolver if port == 53 else host_and_port(resolver, port)
    return _made(monitor, "dns", f"dns://{server}/{monitor.hostname}?type={monitor.dns_resolve_type or 'A'}")


def _snmp(monitor: KumaMonitor, notes: list[str]) -> MonitorEntry:
    version = monitor.snmp_version or "2c"
    if version != "2c":
        raise NotImported(f"it asks by SNMP version {version}: " + SNMP_BY_HAND.get(version, "there is none such here"))
    if monitor.json_path not in ("", "$"):
        raise NotImported(f"its query {monitor.json_path!r} looks into the value")
    expected = monitor.expected_value
    return _made(monitor, "snmp", "snmp://" + host_and_port(monitor.hostname, monitor.port or 161)).having(
        snmp_oid=monitor.snmp_oid,
        snmp_community=monitor.radius_password or "public",
        expected_value=None if expected in (None, "") else json_value(expected),
        comparison=_comparison(monitor),
    )


def _push(monitor: KumaMonitor, notes: list[str]) -> MonitorEntry:
    notes.append("has a new address: whoever called the old one has to call that")
    return _made(monitor, "push")


def _smtp(monitor: KumaMonitor, notes: list[str]) -> MonitorEntry:
    notes.append("only whether its port opens is looked at, not what the mail server says")
    return _port(replace(monitor, port=monitor.port or 25), notes)


def _of_tailscale(monitor: KumaMonitor, notes: list[str]) -> MonitorEntry:
    notes.append("a plain ping: whoever looks has to be in its Tailscale network")
    return _ping(monitor, notes)


def _browser(monitor: KumaMonitor, notes: list[str]) -> MonitorEntry:
    notes.append("the page is asked for without a browser: what scripts do in it is not seen")
    return _web(replace(monitor, type="http"), notes)


def _rabbitmq(monitor: KumaMonitor, notes: list[str]) -> MonitorEntry:
    user, nodes = monitor.rabbitmq_username, monitor.rabbitmq_nodes
    if not isinstance(nodes, list) or not nodes:
        raise NotImported("it names no server")
    if len(nodes) > 1:
        notes.append(f"asks {nodes[0]} only, not the {len(nodes) - 1} others")
    url = str(nodes[0]).rstrip("/") + "/api/health/checks/alarms/"
    url = with_user(url, user, monitor.rabbitmq_password) if user else url
    return replace(_made(monitor, "http", url), expected_status=200)


OTHERS: dict[str | None, Callable[[KumaMonitor, list[str]], MonitorEntry]] = {
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
