"""A monitor's settings: defaults, what fits together, and what a probe gets to know. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opsapp.lib.addresses import public, public_text
from opsapp.lib.networks import METADATA_NETWORKS
from opsapp.wire import monitortypes

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
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
    **monitortypes.defaults(),
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
    declared = monitortypes.TYPES.get(settings.get("type", ""))
    if declared is not None:
        wrong = declared.url_problem(settings.get("url") or "")
        found = declared.problems(settings) | ({"url": wrong} if wrong else {})
    if "interval" in settings and "timeout" in settings and settings["timeout"] >= settings["interval"]:
        found["timeout"] = "must be less than the interval"
    if len(settings.get("probe_from") or ()) and settings.get("quorum", 1) > len(settings["probe_from"]):
        found["quorum"] = "is more than the agents of probe_from"
    return found


def agent_of(url: str) -> str:
    """The agent that a monitor of type `agent` looks at."""
    return url.partition("://")[2].strip("/")


def for_viewers(record: dict[str, Any]) -> dict[str, Any]:
    """The record as a viewer sees it: the public part of its addresses, no headers, no push address."""
    shown = public({name: record[name] for name in WITH_ADDRESSES if name in record})
    return record | shown | ({"push_url": None} if "push_url" in record else {})


def searched(settings: Mapping[str, Any]) -> str:
    """What the words of a query are looked for in: nothing that a viewer may not see, for whoever may search for it
    piece by piece knows it in the end."""
    return f"{settings['name']} {public_text(settings['url'])} {' '.join(settings['tags'])}".casefold()
