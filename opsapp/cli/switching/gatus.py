"""Gatus: its YAML file, one monitor for each endpoint. Must not: take a condition over that cannot be kept."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from opsapp.lib.jsontypes import JsonObject

from .estate import Estate, NotImported, json_value, named, note_others, others, seconds, tag, times

USUAL_S, USUAL_TIMEOUT_S = 60, 10
CONDITION = re.compile(r"(\[[A-Z_]+\]\S*|len\(.*?\)|has\(.*?\))\s*(==|!=|<=|>=|<|>)\s*(.+)")
PATTERN = re.compile(r"pat\(\*([^*]+)\*\)")
SCHEMES = {"http": "http", "https": "http", "tcp": "tcp", "icmp": "ping", "tls": "tls"}
WEB = ("http", "keyword", "json")
REACHED = (("==", "true"), ("!=", "false"))
KNOWN = {
    "name", "group", "url", "method", "headers", "body", "dns", "client", "conditions", "interval", "enabled", "alerts",
}  # fmt: skip
KNOWN_OF_CLIENTS = {"insecure", "ignore-redirect", "timeout"}
KNOWN_OF_ALL = {"endpoints", "external-endpoints", "alerting"}


def read(path: str) -> Estate:
    """ValueError when this is no file of Gatus."""
    document = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    if not isinstance(document, dict) or not isinstance(document.get("endpoints"), list):
        raise ValueError("it has no list of endpoints")
    estate = Estate()
    for endpoint in document["endpoints"]:
        with estate.entry("endpoint", named(endpoint)) as notes:
            settings = _settings(endpoint, notes)
            if endpoint.get("alerts"):
                notes.append("its alerts are not taken: channels get everything, or what has one of their tags")
            note_others(endpoint, KNOWN, notes)
            estate.take("monitor", {"name": named(endpoint), **settings}, notes)
    for external in document.get("external-endpoints") or []:
        estate.leave("external endpoint", named(external), "make a push monitor: its callers need its new address")
    for name in document.get("alerting") or {}:
        estate.leave("alerting", str(name), "make a channel for it")
    for name in others(document, KNOWN_OF_ALL):
        estate.leave("section", name, "only endpoints are taken")
    return estate


def _settings(endpoint: JsonObject, notes: list[str]) -> JsonObject:
    client = endpoint.get("client") or {}
    odd = others(client, KNOWN_OF_CLIENTS)  # a proxy, certificates, a resolver: another way to the target
    if odd:
        raise NotImported(f"its client has {', '.join(odd)}")
    settings = _dns(endpoint) if endpoint.get("dns") else _address(endpoint)
    if settings["type"] == "http":
        settings |= {
            "method": endpoint.get("method") or "GET",
            "headers": {str(key): str(value) for key, value in (endpoint.get("headers") or {}).items()},
            "verify_tls": not client.get("insecure"),
            "follow_redirects": not client.get("ignore-redirect"),
        }
    _conditions(endpoint.get("conditions") or [], settings, notes)
    interval = seconds(endpoint.get("interval", USUAL_S))
    settings |= times(interval, min(seconds(client.get("timeout", USUAL_TIMEOUT_S)), interval), notes)
    settings["tags"] = [tag(endpoint["group"])] if endpoint.get("group") else []
    settings["enabled"] = endpoint.get("enabled", True)
    return settings


def _address(endpoint: JsonObject) -> JsonObject:
    url = str(endpoint.get("url") or "")
    scheme, _, rest = url.partition("://")
    if scheme not in SCHEMES:
        raise NotImported(f"there is no monitor for {scheme or 'an address without a scheme'}")
    if endpoint.get("body"):
        raise NotImported("it sends a body")
    return {"type": SCHEMES[scheme], "url": f"ping://{rest}" if scheme == "icmp" else url}


def _dns(endpoint: JsonObject) -> JsonObject:
    asked = endpoint["dns"]
    name, kind = str(asked.get("query-name")).rstrip("."), asked.get("query-type") or "A"
    return {"type": "dns", "url": f"dns://{endpoint.get('url')}/{name}?type={kind}"}


def _conditions(conditions: list[Any], settings: JsonObject, notes: list[str]) -> None:
    """All of them, or the endpoint is not taken."""
    for condition in conditions:
        match = CONDITION.fullmatch(str(condition).strip())
        if match is None:
            raise NotImported(f"its condition {condition} has no counterpart")
        left, operator, right = match.groups()
        if not _known(left, operator, right, settings, notes):
            raise NotImported(f"its condition {condition} has no counterpart")
    if settings["type"] in WEB and not any(str(condition).startswith("[STATUS]") for condition in conditions):
        notes.append("its status is not looked at there; here an answer of 400 or more is down")


def _known(left: str, operator: str, right: str, settings: JsonObject, notes: list[str]) -> bool:
    if left == "[STATUS]":
        return _status(operator, right, settings, notes)
    if left == "[RESPONSE_TIME]" and operator in ("<", "<="):
        settings["degraded_ms"] = int(right)
        notes.append(f"slower than {right} ms is degraded here, not down")
        return True
    if left == "[CONNECTED]":
        return (operator, right) in REACHED
    if left == "[CERTIFICATE_EXPIRATION]" and operator in (">", ">="):
        notes.append("certificates are watched for all monitors alike: monitoring.certificate_warn_days")
        return True
    if left == "[DNS_RCODE]":
        return (operator, right) == ("==", "NOERROR")
    return left.startswith("[BODY]") and operator == "==" and _body(left, right, settings, notes)


def _status(operator: str, right: str, settings: JsonObject, notes: list[str]) -> bool:
    if settings["type"] not in WEB:
        return False
    if operator == "==" and re.fullmatch(r"\d{3}", right) and settings.get("expected_status") in (None, int(right)):
        settings["expected_status"] = int(right)
        return True
    if (operator, right) in (("<", "400"), ("<=", "399")):
        return True
    if (operator, right) in (("<", "300"), ("<=", "299")):
        notes.append("a last answer of 300 to 399 counts as up here")
        return True
    return False


def _body(left: str, right: str, settings: JsonObject, notes: list[str]) -> bool:
    """A value or a word in the answer, once an endpoint."""
    path, word = left.removeprefix("[BODY]"), PATTERN.fullmatch(right)
    if settings["type"] == "dns" and not path and "expected_value" not in settings:
        settings["expected_value"] = right
        return True
    if settings["type"] != "http":
        return False
    if not path and word:
        settings |= {"type": "keyword", "keyword": word[1]}
        return True
    if path and not re.search(r"pat\(|any\(", right):
        settings |= {"type": "json", "json_path": "$" + path, "expected_value": json_value(right)}
        if not isinstance(settings["expected_value"], str):
            notes.append(f"the value is compared as JSON: {right} is not the text {right!r}")
        return True
    return False
