"""A monitor's settings: defaults, what fits together, and what a probe gets to know. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Annotated

from opsapp.lib.addresses import public, public_text
from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.networks import OutboundSettings
from opsapp.lib.settings import Between, CheckedBy, Length, Most
from opsapp.wire import monitortypes
from opsapp.wire.probes import ProbeTarget

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
DEFAULTS: JsonObject = {
    "url": "",
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


def _reference_problem(address: str) -> str | None:
    kind = _kind_of(address)
    if kind not in {"http", "tcp", "ping"}:
        return "must be an http, https, tcp or ping address"
    return monitortypes.TYPES[kind].url_problem(address)


def _kind_of(address: str) -> str:
    """The type of monitor that looks at such an address."""
    scheme = address.partition("://")[0]
    return "http" if scheme == "https" else scheme


@dataclass(frozen=True)
class MonitorDefaults:
    """What a monitor gets that does not say otherwise."""

    interval: Annotated[int, Between(5, 86400)] = 60
    timeout: Annotated[int, Between(1, 60)] = 10
    retries: Annotated[int, Between(0, 10)] = 2


@dataclass(frozen=True)
class IncidentsRetention:
    """`retention.incidents`: how long those are kept that are over."""

    days: Annotated[int, Between(90, 36_500)] = 730


@dataclass(frozen=True)
class MonitoringSettings(OutboundSettings):
    """`monitoring`"""

    connectivity: Annotated[tuple[Annotated[str, Length(1, 500), CheckedBy(_reference_problem)], ...], Most(20)] = ()
    connectivity_timeout_s: Annotated[float, Between(0.1, 60)] = 3.0
    connectivity_remember_s: Annotated[float, Between(0, 600)] = 5.0
    certificate_warn_days: Annotated[float, Between(0, 365)] = 14
    retry_spacing_s: Annotated[float, Between(0.1, 600)] = 10.0
    flapping_changes: Annotated[int, Between(2, 100)] = 6
    flapping_window_s: Annotated[float, Between(1, 86400)] = 600.0
    max_redirects: Annotated[int, Between(0, 20)] = 5
    max_body_bytes: Annotated[int, Between(1024, 64 << 20)] = 256 * 1024
    ca_file: Annotated[str, Length(0, 1000)] = ""
    max_checks: Annotated[int, Between(10, 20_000)] = 1000
    defaults: MonitorDefaults = MonitorDefaults()

    def references(self) -> list[ProbeTarget]:
        """What tells whether our own network works."""
        return [
            ProbeTarget("connectivity", _kind_of(address), address, self.connectivity_timeout_s)
            for address in self.connectivity
        ]


WITH_ADDRESSES = (
    "url",
    "headers",
    "cause",
    "output",
    "keyword",
    "expected_value",
    "command",
)  # the others of a record can hold none


ADMINS_WRITE = [setting for setting, _ in monitortypes.settings_by_types() if setting.by_admin]


def complete(given: JsonObject, defaults: MonitorDefaults = MonitorDefaults()) -> JsonObject:
    """What was given over the service's defaults; the time-out follows the interval when it is not given."""
    settings = {**DEFAULTS, **asdict(defaults), **given}
    if "timeout" not in given:
        settings["timeout"] = max(1, min(settings["timeout"], settings["interval"] - 1))
    return settings


def problems(settings: JsonObject) -> dict[str, str]:
    """What does not fit together, by field. Only fields that are there are looked at."""
    wrong: dict[str, str] = {}
    declared = monitortypes.TYPES.get(settings.get("type", ""))
    if declared is not None:
        url_problem = declared.url_problem(settings.get("url") or "")
        wrong = declared.problems(settings) | ({"url": url_problem} if url_problem else {})
        if declared.on_host and not lookers(settings):
            wrong["agent_id"] = (
                "is required for this type: the host that runs the command (or name hosts in probe_from)"
            )
    if "interval" in settings and "timeout" in settings and settings["timeout"] >= settings["interval"]:
        wrong["timeout"] = "must be less than the interval"
    if len(settings.get("probe_from") or ()) and settings.get("quorum", 1) > len(settings["probe_from"]):
        wrong["quorum"] = "is more than the agents of probe_from"
    return wrong


def lookers(settings: JsonObject) -> list[str]:
    """The agents that look at it; none: the service does, or nobody has to."""
    declared = monitortypes.TYPES.get(settings.get("type", ""))
    named = list(settings.get("probe_from") or ())
    host = settings.get("agent_id")
    return [host] if not named and host and declared is not None and declared.on_host else named


def needs_admin(before: JsonObject, after: JsonObject) -> bool:
    """Whether it would write what only admins may: a command, or where and that one is run. `before` is empty for a
    new monitor."""
    if any(after.get(setting.name) != before.get(setting.name) for setting in ADMINS_WRITE):
        return True
    moved = after.get("type") != before.get("type") or lookers(after) != lookers(before)
    return moved and monitortypes.TYPES[after["type"]].on_host


def agent_of(url: str) -> str:
    """The agent that a monitor of type `agent` looks at."""
    return url.partition("://")[2].strip("/")


def for_viewers(record: JsonObject) -> JsonObject:
    """The record as a viewer sees it: the public part of its addresses, no headers, no push address."""
    shown = public({name: record[name] for name in WITH_ADDRESSES if name in record})
    return record | shown | ({"push_url": None} if "push_url" in record else {})


def searched(name: str, url: str, tags: Iterable[str]) -> str:
    """What the words of a query are looked for in: nothing that a viewer may not see, for whoever may search for it
    piece by piece knows it in the end."""
    return f"{name} {public_text(url)} {' '.join(tags)}".casefold()
