"""What a report says under which name, when an agent counts as online. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase, translate
from functools import lru_cache
from typing import Any, NamedTuple

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.visible import visible
from opsapp.wire.commands import FINAL_STATES
from opsapp.wire.readings import NUMBERS, STARTS_COUNTED, of_report
from opsapp.wire.reports import AgentMetrics, HostProfile, Measurement

STATUSES = ("pending", "online", "offline", "dead")
MEASURED = ("cpu_percent", "mem_percent", "disk_percent")  # by which the list can be sorted
ONLINE_INTERVALS = 2
DEAD_INTERVALS = 20
BACK_WITHIN_S = 60.0  # an agent whose server was away tries again within this time at the latest
FAILED_STATES = ("failed", "dead", "unhealthy")  # of a service or a container
KEPT = ("cpu_percent", "mem_percent", "disk_percent", "swap_percent", "load1", "load5", "load15")
KEPT_METRICS = ("rx_bytes_s", "tx_bytes_s")  # what all links but the loopback carry
LOGS = "/var/log"
PRIVATE_LOGS = ("opsapp*", "ssh*", "sudo", "auth", "!*.service")
UNIT_TYPES = ("service", "socket", "device", "mount", "automount", "swap", "target", "path", "timer", "slice", "scope")
MOST_DISKS = 32
MOST_NAMED = 64  # metrics of one host that are history because the configuration names them
KEPT_SILENCES = 50
PROFILE = ("hostname", "os", "version", "machine_id", "kernel", "arch")

# What may follow a state. A final one is never left.
FOLLOWING = {
    "queued": ("delivered", "running", "cancelled", "expired", "done", "failed", "timeout", "lost"),
    "delivered": ("running", "done", "failed", "timeout", "cancelled", "lost"),
    "running": ("done", "failed", "timeout", "cancelled", "lost"),
}


def may_follow(state: str, following: str) -> bool:
    return following in FOLLOWING.get(state, ())


def waited_for_s(interval: float) -> float:
    """How long agents have to come back after their server was away."""
    return max(BACK_WITHIN_S, ONLINE_INTERVALS * interval)


def is_final(state: str) -> bool:
    return state in FINAL_STATES


def status_of(
    last_seen: float | None, connected: bool, now: float, interval: float, silent_at: float | None = None
) -> str:
    """`silent_at`: when its session was ended because it was silent; it is online again when it is heard after that."""
    if connected:
        return "online"
    if last_seen is None:
        return "pending"
    silent = now - last_seen
    if silent <= ONLINE_INTERVALS * interval and (silent_at is None or last_seen > silent_at):
        return "online"
    return "offline" if silent <= DEAD_INTERVALS * interval else "dead"


def is_stopped(last_seen: float | None, connected: bool, stopped_at: float | None) -> bool:
    """Whether its last word was that it was stopped."""
    return stopped_at is not None and not connected and (last_seen is None or last_seen <= stopped_at)


class KeptNumbers(NamedTuple):
    """The numbers of a report that become history, and how many of those that are named are too many."""

    values: dict[str, float]
    left_out: int


def kept_of(report: Measurement, named: Sequence[str] = ()) -> KeptNumbers:
    """What is always kept, and what fits a name of the configuration: of those the first by name."""
    values = _always_kept(report)
    if not named:
        return KeptNumbers(values, 0)
    fits, numbers = _fitting(tuple(named)), of_report(report)
    more = sorted(name for name in numbers.keys() - values.keys() if _is_number(numbers[name]) and fits(name))
    values |= {name: float(numbers[name]) for name in more[:MOST_NAMED]}
    return KeptNumbers(values, max(0, len(more) - MOST_NAMED))


@lru_cache(maxsize=8)
def _fitting(patterns: tuple[str, ...]) -> Any:
    return re.compile("|".join(translate(pattern) for pattern in patterns)).match


def _always_kept(report: AgentMetrics) -> dict[str, float]:
    values = {name: float(value) for name in KEPT if (value := getattr(report, name)) is not None}
    values |= {name: float(report.metrics[name]) for name in KEPT_METRICS if name in report.metrics}
    disks = sorted(report.disks.items())[:MOST_DISKS]
    return values | {f"disk.{mount}.percent": float(value) for mount, value in disks}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def failing_in(metrics: AgentMetrics) -> list[str]:
    """The names of what fails, each once: a service is a unit too."""
    units = {unit.removesuffix(".service") for unit in metrics.failed_units}
    states = (*metrics.services.items(), *metrics.containers.items())
    return sorted(units | {name.removesuffix(".service") for name, state in states if state in FAILED_STATES})


def metrics_of_values(values: Mapping[str, tuple[Any, float]]) -> AgentMetrics:
    """The metrics from the live view alone: after a restart, or on a node that it does not report to."""
    metrics, numbers = AgentMetrics(), {}
    counted_at = values.get(STARTS_COUNTED, (None, None))[1]
    states = {"service": metrics.services, "container": metrics.containers}
    for name, (value, at) in values.items():
        kind, _, rest = name.partition(".")
        if name in NUMBERS:
            numbers[name] = value
        elif kind == "disk" and rest.endswith(".percent"):
            metrics.disks[rest.removesuffix(".percent")] = value
        elif kind in states and rest.endswith(".state"):
            states[kind][rest.removesuffix(".state")] = value
        elif kind == "service" and rest.endswith(".starts"):
            if at == counted_at:  # else it is of an earlier report: it has not started since
                metrics.starts[rest.removesuffix(".starts")] = value
        elif name != STARTS_COUNTED:
            metrics.metrics[name] = value
    return replace(metrics, **numbers)


def changed_profile(known: Mapping[str, str], report: HostProfile) -> dict[str, str]:
    shown = {name: visible(value) for name in PROFILE if (value := getattr(report, name))}
    return {name: value for name, value in shown.items() if known.get(name) != value}


def is_outdated(version: str, served: str) -> bool:
    """Whether an agent is of another version than this server hands out. One never heard has none."""
    return bool(version) and version != served


def usable_tools(manifest: JsonObject | None) -> frozenset[str] | None:
    """The tools that can be used; None while nobody knows."""
    if manifest is None:
        return None
    tools: JsonObject = manifest.get("capabilities") or {}
    return frozenset(name for name, about in tools.items() if isinstance(about, Mapping) and about.get("usable"))


def with_silence(known: Sequence[tuple[float, float]], since: float, until: float) -> tuple[tuple[float, float], ...]:
    """An agent that is back is noticed more than once."""
    before = [silence for silence in known if silence[0] != since]
    return (*before, (since, until))[-KEPT_SILENCES:]


def skew_of(seen: Iterable[float]) -> float | None:
    """How far a host's clock is ahead of ours. Each difference is its time when a message began, less ours when it
    arrived, so each is too small by the time that the message took."""
    skews = list(seen)
    return max(skews) if skews else None


def by_our_clock(at: float, skew: float | None, now: float) -> float:
    """The time by our clock; nothing that is told of lies in the future."""
    return max(0.0, min(at - (skew or 0.0), now))


def is_private_log(unit: str | None, patterns: Sequence[str]) -> bool:
    """Whether it is for admins alone. A pattern is of the name, with or without `.service`; one that begins with `!`
    takes in whatever it does not fit. Without a unit it is the whole journal."""
    if unit is None:
        return bool(patterns)
    is_whole = unit.rpartition(".")[2] in UNIT_TYPES
    whole = unit if is_whole else f"{unit}.service"
    return any(_fits(whole, pattern) for pattern in patterns)


def is_private_file(path: str, patterns: Sequence[str]) -> bool:
    """The journal itself, and a log that has the name of such a unit (`/var/log/auth.log.1`, `/var/log/sudo-io/...`).
    Of other files no name says what is in them."""
    real = posixpath.normpath(f"/{path.lstrip('/')}")
    if not real.startswith(f"{LOGS}/"):
        return False
    parts = real.removeprefix(f"{LOGS}/").split("/")
    if parts[0] == "journal":
        return bool(patterns)
    named = [pattern for pattern in patterns if not pattern.startswith("!")]
    return any(_fits(f"{part.partition('.')[0]}.service", pattern) for part in parts for pattern in named)


def _fits(whole: str, pattern: str) -> bool:
    if pattern.startswith("!"):
        return not fnmatchcase(whole, pattern[1:])
    return fnmatchcase(whole, pattern) or fnmatchcase(whole.removesuffix(".service"), pattern)
