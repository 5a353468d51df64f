"""A monitor's settings: defaults, what fits together, and what a probe gets to know. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from opsapp.lib.addresses import public, public_text
from opsapp.lib.networks import METADATA_NETWORKS
from opsapp.wire.jsonpath import parse_path
from opsapp.wire.urls import is_host, is_name, text_problem

TYPES = ("http", "tcp", "ping", "dns", "tls", "keyword", "json", "push", "agent")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
DNS_TYPES = ("A", "AAAA", "CAA", "CNAME", "MX", "NS", "PTR", "SOA", "SRV", "TXT")
DEFAULTS: dict[str, Any] = {
    "url": "",
    "interval": 60,
    "retries": 2,
    "expected_status": None,
    "tags": [],
    "agent_id": None,
    "enabled": True,
    "method": "GET",
    "headers": {},
    "follow_redirects": True,
    "verify_tls": True,
    "degraded_ms": None,
    "probe_from": [],
    "quorum": 1,
    "keyword": None,
    "keyword_absent": False,
    "json_path": None,
    "expected_value": None,
}
# The section `monitoring` of the configuration.
OPTIONS: dict[str, Any] = {
    "allow_networks": (),
    "deny_networks": METADATA_NETWORKS,
    "connectivity": (),
    "connectivity_timeout_s": 3.0,
    "connectivity_remember_s": 5.0,
    "certificate_warn_days": 14,
    "retry_spacing_s": 10.0,
    "flapping_changes": 6,
    "flapping_window_s": 600.0,
    "max_redirects": 5,
    "max_body_bytes": 256 * 1024,
    "ca_file": "",
    "max_checks": 1000,
    "defaults": {"interval": 60, "timeout": 10, "retries": 2},
}
WITH_ADDRESSES = ("url", "headers", "cause", "keyword", "expected_value")  # the others of a record can hold none
_AGENT = re.compile(r"agent://[A-Za-z0-9]{1,64}/?")
_PORT_NEEDED = {"tcp", "tls"}
_WEB = {"http", "keyword", "json"}


def options(config: dict[str, Any]) -> dict[str, Any]:
    """The section of a whole configuration, its defaults filled in where they are not yet."""
    section = {**OPTIONS, **(config.get("monitoring") or {})}
    section["defaults"] = {**OPTIONS["defaults"], **(section["defaults"] or {})}
    return section


def complete(given: dict[str, Any], defaults: dict[str, Any] | None = None) -> dict[str, Any]:
    """What was given over the service's defaults; the time-out follows the interval when it is not given."""
    settings = {**DEFAULTS, **(defaults or {}), **given}
    settings.setdefault("timeout", 10)
    if "timeout" not in given:
        settings["timeout"] = max(1, min(settings["timeout"], settings["interval"] - 1))
    return settings


def problems(settings: dict[str, Any]) -> dict[str, str]:
    """What does not fit together, by field. Only fields that are there are looked at."""
    found: dict[str, str] = {}
    kind, url = settings.get("type"), settings.get("url")
    if kind is not None:
        wrong = url_problem(kind, url or "")
        if wrong:
            found["url"] = wrong
    if "interval" in settings and "timeout" in settings and settings["timeout"] >= settings["interval"]:
        found["timeout"] = "must be less than the interval"
    if kind == "keyword" and not settings.get("keyword"):
        found["keyword"] = "is required for this type"
    if kind == "json":
        if settings.get("json_path") is None:
            found["json_path"] = "is required for this type"
        if settings.get("expected_value") is None:
            found["expected_value"] = "is required for this type"
    if len(settings.get("probe_from") or ()) and settings.get("quorum", 1) > len(settings["probe_from"]):
        found["quorum"] = "is more than the agents of probe_from"
    return found


def url_problem(kind: str, url: str) -> str | None:
    """Why this is no address for a monitor of this type."""
    if kind == "push":
        return "a push monitor has no url: it is called itself" if url else None
    if not url:
        return "is required for this type"
    if text_problem(url):
        return text_problem(url)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return "is not a URL"
    schemes = ("http", "https") if kind in _WEB else (kind,)
    if parts.scheme not in schemes:
        return f"must begin with {' or '.join(scheme + '://' for scheme in schemes)}"
    if not host or not is_host(host):
        return "names no host"
    if kind == "agent" and not _AGENT.fullmatch(url):
        return "must look like agent://AGENT_ID"
    if port == 0 or (kind in _PORT_NEEDED and port is None):
        return f"must name a port, as in {kind}://host:port"
    return _dns_problem(parts) if kind == "dns" else None


def agent_of(url: str) -> str:
    """The agent that a monitor of type `agent` looks at."""
    return url.partition("://")[2].strip("/")


def _dns_problem(parts) -> str | None:
    name = parts.path.strip("/")
    if not name or not is_name(name):
        return "must name what to ask for, as in dns://resolver/name?type=A"
    kind = parse_qs(parts.query).get("type", ["A"])[0].upper()
    return None if kind in DNS_TYPES else f"type must be one of {', '.join(DNS_TYPES)}"


def path_problem(path: str | None) -> str | None:
    if path is None:
        return None
    try:
        parse_path(path)
    except ValueError as problem:
        return str(problem)
    return None


def for_viewers(record: dict[str, Any]) -> dict[str, Any]:
    """The record as a viewer sees it: the public part of its addresses, no headers, no push address."""
    shown = public({name: record[name] for name in WITH_ADDRESSES if name in record})
    return record | shown | ({"push_url": None} if "push_url" in record else {})


def searched(settings: Mapping[str, Any]) -> str:
    """What the words of a query are looked for in: nothing that a viewer may not see, for whoever may search for it
    piece by piece knows it in the end."""
    return f"{settings['name']} {public_text(settings['url'])} {' '.join(settings['tags'])}".casefold()
