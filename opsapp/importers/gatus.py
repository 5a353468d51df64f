"""Gatus: its YAML file, one monitor for each endpoint. Must not: take a condition over that cannot be kept."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import yaml

from opsapp.wire.dataclass import frozen

from .estate import Estate, MonitorEntry, seconds, timed
from .foreign import (
    MANY,
    AsItIs,
    ForeignRecord,
    Label,
    NotImported,
    PartOf,
    Switch,
    Word,
    json_value,
    named,
    note_besides,
)
from .foreign import read as read_record

USUAL_S, USUAL_TIMEOUT_S = 60, 10
CONDITION = re.compile(r"(\[[A-Z_]+\]\S*|len\(.*?\)|has\(.*?\))\s*(==|!=|<=|>=|<|>)\s*(.+)")
PATTERN = re.compile(r"pat\(\*([^*]+)\*\)")
SCHEMES = {"http": "http", "https": "http", "tcp": "tcp", "icmp": "ping", "tls": "tls"}
WEB = ("http", "keyword", "json")
REACHED = (("==", "true"), ("!=", "false"))


@frozen
class GatusQuery(ForeignRecord):
    query_name: Word | None = None
    query_type: Word = "A"


@frozen
class GatusClient(ForeignRecord):
    insecure: Switch = False
    ignore_redirect: Switch = False
    timeout: AsItIs = USUAL_TIMEOUT_S


@frozen
class GatusEndpoint(ForeignRecord):
    name: Word = ""
    group: Word = ""
    url: Word = ""
    method: Word = "GET"
    headers: dict[str, Label] | None = None
    body: AsItIs = None
    dns: Annotated[GatusQuery | None, PartOf(GatusQuery)] = None
    client: Annotated[GatusClient, PartOf(GatusClient)] = GatusClient()
    conditions: Annotated[tuple[Word, ...], MANY] = ()
    interval: AsItIs = USUAL_S
    enabled: Switch = True
    alerts: AsItIs = None


@frozen
class GatusFile(ForeignRecord):
    endpoints: Annotated[tuple[AsItIs, ...], MANY]
    external_endpoints: Annotated[tuple[AsItIs, ...], MANY] = ()
    alerting: dict[str, AsItIs] | None = None


def read(path: str) -> Estate:
    """ValueError when this is no file of Gatus."""
    document = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    if not isinstance(document, dict) or not isinstance(document.get("endpoints"), list):
        raise ValueError("it has no list of endpoints")
    file, estate = read_record(GatusFile, document), Estate()
    for given in file.endpoints:
        with estate.entry("endpoint", named(given)) as notes:
            endpoint = read_record(GatusEndpoint, given)
            entry = _monitor(replace(endpoint, name=named(given)), notes)
            if endpoint.alerts:
                notes.append("its alerts are not taken: channels get everything, or what has one of their tags")
            note_besides(endpoint, notes)
            estate.take(entry, notes)
    for external in file.external_endpoints:
        estate.leave("external endpoint", named(external), "make a push monitor: its callers need its new address")
    for name in file.alerting or ():
        estate.leave("alerting", name, "make a channel for it")
    for name in file.besides:
        estate.leave("section", name, "only endpoints are taken")
    return estate


def _monitor(endpoint: GatusEndpoint, notes: list[str]) -> MonitorEntry:
    client = endpoint.client
    if client.besides:  # a proxy, certificates, a resolver: another way to the target
        raise NotImported(f"its client has {', '.join(client.besides)}")
    entry = _dns(endpoint, endpoint.dns) if endpoint.dns else _address(endpoint)
    if entry.type == "http":
        entry = replace(
            entry,
            method=endpoint.method or "GET",
            headers=endpoint.headers or {},
            verify_tls=not client.insecure,
            follow_redirects=not client.ignore_redirect,
        )
    entry = _conditions(endpoint.conditions, entry, notes)
    interval = seconds(endpoint.interval)
    entry = timed(entry, interval, min(seconds(client.timeout), interval), notes)
    return replace(entry, tags=(endpoint.group.strip(),) if endpoint.group else (), enabled=endpoint.enabled)


def _address(endpoint: GatusEndpoint) -> MonitorEntry:
    scheme, _, rest = endpoint.url.partition("://")
    if scheme not in SCHEMES:
        raise NotImported(f"there is no monitor for {scheme or 'an address without a scheme'}")
    if endpoint.body:
        raise NotImported("it sends a body")
    url = f"ping://{rest}" if scheme == "icmp" else endpoint.url
    return MonitorEntry(name=endpoint.name, type=SCHEMES[scheme], url=url)


def _dns(endpoint: GatusEndpoint, asked: GatusQuery) -> MonitorEntry:
    name = str(asked.query_name).rstrip(".")
    url = f"dns://{endpoint.url}/{name}?type={asked.query_type or 'A'}"
    return MonitorEntry(name=endpoint.name, type="dns", url=url)


def _conditions(conditions: tuple[str, ...], entry: MonitorEntry, notes: list[str]) -> MonitorEntry:
    """All of them, or the endpoint is not taken."""
    for condition in conditions:
        match = CONDITION.fullmatch(condition.strip())
        met = _with_condition(match[1], match[2], match[3], entry, notes) if match else None
        if met is None:
            raise NotImported(f"its condition {condition} has no counterpart")
        entry = met
    if entry.type in WEB and not any(condition.startswith("[STATUS]") for condition in conditions):
        notes.append("its status is not looked at there; here an answer of 400 or more is down")
    return entry


def _with_condition(left: str, operator: str, right: str, entry: MonitorEntry, notes: list[str]) -> MonitorEntry | None:
    """The monitor that keeps it, too; None where there is none."""
    if left == "[STATUS]":
        return _status(operator, right, entry, notes)
    if left == "[RESPONSE_TIME]" and operator in ("<", "<="):
        notes.append(f"slower than {right} ms is degraded here, not down")
        return replace(entry, degraded_ms=int(right))
    if left == "[CONNECTED]":
        return entry if (operator, right) in REACHED else None
    if left == "[CERTIFICATE_EXPIRATION]" and operator in (">", ">="):
        notes.append("certificates are watched for all monitors alike: monitoring.certificate_warn_days")
        return entry
    if left == "[DNS_RCODE]":
        return entry if (operator, right) == ("==", "NOERROR") else None
    return _body(left, right, entry, notes) if left.startswith("[BODY]") and operator == "==" else None


def _status(operator: str, right: str, entry: MonitorEntry, notes: list[str]) -> MonitorEntry | None:
    if entry.type not in WEB:
        return None
    if operator == "==" and re.fullmatch(r"\d{3}", right) and entry.expected_status in (None, int(right)):
        return replace(entry, expected_status=int(right))
    if (operator, right) in (("<", "400"), ("<=", "399")):
        return entry
    if (operator, right) in (("<", "300"), ("<=", "299")):
        notes.append("a last answer of 300 to 399 counts as up here")
        return entry
    return None


def _body(left: str, right: str, entry: MonitorEntry, notes: list[str]) -> MonitorEntry | None:
    """A value or a word in the answer, once an endpoint."""
    path, word = left.removeprefix("[BODY]"), PATTERN.fullmatch(right)
    if entry.type == "dns" and not path and entry.expected_value is None:
        return entry.having(expected_value=right)
    if entry.type != "http":
        return None
    if not path and word:
        return entry.having(type="keyword", keyword=word[1])
    if path and not re.search(r"pat\(|any\(", right):
        expected = json_value(right)
        if not isinstance(expected, str):
            notes.append(f"the value is compared as JSON: {right} is not the text {right!r}")
        return entry.having(type="json", json_path="$" + path, expected_value=expected)
    return None
