"""What a report says under which name, when an agent counts as online, which states a command may go through. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase, translate
from functools import lru_cache
from typing import Any, NamedTuple, TypedDict, cast

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.visible import visible
from opsapp.wire.commands import FINAL_STATES
from opsapp.wire.readings import NUMBERS, STARTS_COUNTED, of_report

STATUSES = ("pending", "online", "offline", "dead")
MEASURED = ("cpu_percent", "mem_percent", "disk_percent")  # by which the list can be sorted
WORST_FIRST = ("offline", "dead", "pending", "online")
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


class CommandResult(TypedDict, total=False):
    """How a command ended, as `wire.commands.RESULT`; the service's own word on it has a status and a reason."""

    command_id: str
    status: str
    exit_code: int | None
    output: str
    truncated: bool
    reason: str | None
    started_at: float | None
    finished_at: float | None
    data: JsonObject | None


class HeldCommand(TypedDict):
    """A command that an agent still has."""

    command_id: str
    state: str  # running, finished


class LocalOutcome(TypedDict):
    """A heal that an agent did alone, as `wire.messages.OUTCOME`."""

    outcome_id: str
    case_id: str | None
    rule_id: str
    condition: str
    target: str
    action_type: str | None
    action_params: JsonObject
    escalation_step: int
    escalated: bool
    executed: bool
    action_success: int
    verified: int
    outcome: str
    verdict: str | None
    reason: str | None
    worse: list[JsonObject]
    duration_s: float
    created_at: float
    policy_version: int
    metrics_before: JsonObject
    metrics_after: JsonObject


class HostProfile(TypedDict, total=False):
    """Who a host says it is, in a report and in the hello of a session."""

    hostname: str
    os: str
    version: str | None
    ip: str | None
    kernel: str | None
    arch: str | None
    machine_id: str | None
    boot_id: str | None


class HostReport(HostProfile, total=False):
    """What an agent says of its host, as `wire.messages.REPORT`. A number that is None, or missing, is unknown."""

    cpu_percent: float | None
    mem_percent: float | None
    disk_percent: float | None
    swap_percent: float | None
    uptime_s: int | None
    load1: float | None
    load5: float | None
    load15: float | None
    time: float | None
    reason: str | None
    metrics: dict[str, float]
    services: dict[str, str]
    starts: dict[str, int]
    starts_counted_s: float | None
    failed_units: list[str]
    containers: dict[str, str]
    disks: dict[str, float]
    temperatures: dict[str, float]
    network: dict[str, dict[str, float]]
    top_processes: list[JsonObject]
    results: list[CommandResult]
    outcomes: list[LocalOutcome]
    held: list[HeldCommand] | None
    capabilities: JsonObject | None
    policy_version: int | None
    features: list[str]


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
    """What an agent is, from when it was last heard. `silent_at`: when its session was ended because it was silent; it
    is online again when it is heard after that."""
    if connected:
        return "online"
    if last_seen is None:
        return "pending"
    silent = now - last_seen
    if silent <= ONLINE_INTERVALS * interval and (silent_at is None or last_seen > silent_at):
        return "online"
    return "offline" if silent <= DEAD_INTERVALS * interval else "dead"


class KeptNumbers(NamedTuple):
    """The numbers of a report that become history, and how many of those that are named are too many."""

    values: dict[str, float]
    left_out: int


def kept_of(report: HostReport, named: Sequence[str] = ()) -> KeptNumbers:
    """What is always kept, and what fits a name of the configuration: of those the first by name."""
    values = _always_kept(report)
    if not named:
        return KeptNumbers(values, 0)
    fits, numbers = _fitting(tuple(named)), of_report(cast(JsonObject, report))
    more = sorted(name for name in numbers.keys() - values.keys() if _is_number(numbers[name]) and fits(name))
    values |= {name: float(numbers[name]) for name in more[:MOST_NAMED]}
    return KeptNumbers(values, max(0, len(more) - MOST_NAMED))


@lru_cache(maxsize=8)
def _fitting(patterns: tuple[str, ...]) -> Any:
    return re.compile("|".join(translate(pattern) for pattern in patterns)).match


def _always_kept(report: HostReport) -> dict[str, float]:
    reported = cast(JsonObject, report)
    values = {name: float(reported[name]) for name in KEPT if reported.get(name) is not None}
    measured = report.get("metrics") or {}
    values |= {name: float(measured[name]) for name in KEPT_METRICS if _is_number(measured.get(name))}
    disks = sorted(report.get("disks", {}).items())[:MOST_DISKS]
    return values | {f"disk.{mount}.percent": float(value) for mount, value in disks}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def snapshot(report: HostReport) -> JsonObject:
    """The latest report as the detail and the metrics stream show it: unknown numbers are left out."""
    reported = cast(JsonObject, report)
    shown = {name: reported[name] for name in NUMBERS if reported.get(name) is not None}
    for key in ("disks", "services", "starts", "containers", "metrics", "network", "temperatures"):
        shown[key] = dict(reported.get(key) or {})
    for key in ("failed_units", "top_processes"):
        shown[key] = list(reported.get(key) or ())
    return shown


def failing_in(shown: HostReport | JsonObject) -> list[str]:
    """Names of the services, units and containers that a report or a snapshot calls failed, each once: a service is a
    unit too."""
    units = {unit.removesuffix(".service") for unit in shown.get("failed_units") or ()}
    states = (*(shown.get("services") or {}).items(), *(shown.get("containers") or {}).items())
    return sorted(units | {name.removesuffix(".service") for name, state in states if state in FAILED_STATES})


def snapshot_of_values(values: Mapping[str, tuple[Any, float]]) -> JsonObject:
    """The same from the live view alone: after a restart, or on a node that the agent does not report to."""
    report: JsonObject = {"disks": {}, "services": {}, "containers": {}, "starts": {}, "metrics": {}}
    counted_at = values.get(STARTS_COUNTED, (None, None))[1]
    for name, (value, at) in values.items():
        kind, _, rest = name.partition(".")
        if name in NUMBERS:
            report[name] = value
        elif kind == "disk" and rest.endswith(".percent"):
            report["disks"][rest.removesuffix(".percent")] = value
        elif kind in ("service", "container") and rest.endswith(".state"):
            report[kind + "s"][rest.removesuffix(".state")] = value
        elif kind == "service" and rest.endswith(".starts"):
            if at == counted_at:  # else it is of an earlier report: it has not started since
                report["starts"][rest.removesuffix(".starts")] = value
        elif name != STARTS_COUNTED:
            report["metrics"][name] = value
    return snapshot(cast(HostReport, report))


def changed_profile(known: JsonObject, report: HostProfile) -> JsonObject:
    """What a report says about the host that is not what the record says."""
    values = cast(JsonObject, report)
    shown = {name: _shown(values[name]) for name in PROFILE if values.get(name)}
    return {name: value for name, value in shown.items() if known.get(name) != value}


def _shown(value: Any) -> Any:
    return visible(value) if isinstance(value, str) else value


def is_outdated(version: str, served: str) -> bool:
    """Whether an agent is of another version than this server hands out. One never heard has none."""
    return bool(version) and version != served


def usable_tools(manifest: JsonObject | None) -> frozenset[str] | None:
    """The tools that were tried and work; None while nobody knows."""
    if manifest is None:
        return None
    tools: JsonObject = manifest.get("capabilities") or {}
    return frozenset(name for name, about in tools.items() if isinstance(about, Mapping) and about.get("usable"))


def matches(row: JsonObject, q: str | None, status: str | None, tag: str | None) -> bool:
    """Whether a list's filters let an agent through."""
    words: Iterable[str] = (row["label"], row["hostname"], row["ip"], row["os"], row["id"], *row["tags"])
    return (
        (status is None or row["status"] == status)
        and (tag is None or tag in row["tags"])
        and (q is None or any(q.lower() in word.lower() for word in words))
    )


def with_silence(known: Sequence[tuple[float, float]], since: float, until: float) -> tuple[tuple[float, float], ...]:
    """The times of silence with one that has just ended. An agent that is back is noticed more than once."""
    before = [silence for silence in known if silence[0] != since]
    return (*before, (since, until))[-KEPT_SILENCES:]


def skew_of(seen: Iterable[float]) -> float | None:
    """By how much a host's clock is ahead of ours, from differences (its time at the beginning of a message, less ours
    at its arrival). Each is too small by the time that the message took."""
    skews = list(seen)
    return max(skews) if skews else None


def by_our_clock(at: float, skew: float | None, now: float) -> float:
    """When it was, by our clock, that a host's clock showed `at`. Nothing that is told of lies in the future."""
    return max(0.0, min(at - (skew or 0.0), now))


def is_private_log(unit: str | None, patterns: Sequence[str]) -> bool:
    """Whether the journal of this unit is for admins alone. A pattern is of the name, with or without `.service`; one
    that begins with `!` takes in whatever it does not fit. Without a unit it is the whole journal."""
    if unit is None:
        return bool(patterns)
    is_whole = unit.rpartition(".")[2] in UNIT_TYPES
    whole = unit if is_whole else f"{unit}.service"
    return any(_fits(whole, pattern) for pattern in patterns)


def is_private_file(path: str, patterns: Sequence[str]) -> bool:
    """Whether a file holds what is for admins alone in the journal: the journal itself, and a log that has the name of
    such a unit (`/var/log/auth.log.1`, `/var/log/sudo-io/...`). Of other files no name says what is in them."""
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
