"""What a report says under which name, when an agent counts as online, which states a command may go through. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from opsapp.lib.jsontypes import JsonObject
from opsapp.lib.visible import visible
from opsapp.wire.commands import FINAL_STATES
from opsapp.wire.readings import NUMBERS, STARTS_COUNTED

STATUSES = ("pending", "online", "offline", "dead")
ONLINE_INTERVALS = 2
DEAD_INTERVALS = 20
KEPT = ("cpu_percent", "mem_percent", "disk_percent", "swap_percent", "load1", "load5", "load15")
PRIVATE_LOGS = ("opsapp*", "ssh*", "sudo", "auth", "!*.service")
UNIT_TYPES = ("service", "socket", "device", "mount", "automount", "swap", "target", "path", "timer", "slice", "scope")
MOST_DISKS = 32
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


def is_final(state: str) -> bool:
    return state in FINAL_STATES


def status_of(last_seen: float | None, connected: bool, now: float, interval: float) -> str:
    """What an agent is, from when it was last heard."""
    if connected:
        return "online"
    if last_seen is None:
        return "pending"
    silent = now - last_seen
    if silent <= ONLINE_INTERVALS * interval:
        return "online"
    return "offline" if silent <= DEAD_INTERVALS * interval else "dead"


def kept_values(report: JsonObject) -> dict[str, float]:
    """The numbers that become history."""
    found = {name: float(report[name]) for name in KEPT if report.get(name) is not None}
    disks = sorted(report.get("disks", {}).items())[:MOST_DISKS]
    return found | {f"disk.{mount}.percent": float(value) for mount, value in disks}


def snapshot(report: JsonObject) -> JsonObject:
    """The latest report as the detail and the metrics stream show it: unknown numbers are left out."""
    shown = {name: report[name] for name in NUMBERS if report.get(name) is not None}
    for key in ("disks", "services", "starts", "containers", "metrics", "network", "temperatures"):
        shown[key] = dict(report.get(key) or {})
    for key in ("failed_units", "top_processes"):
        shown[key] = list(report.get(key) or ())
    return shown


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
    return snapshot(report)


def changed_profile(known: JsonObject, report: JsonObject) -> JsonObject:
    """What a report says about the host that is not what the record says."""
    said = {name: _shown(report[name]) for name in PROFILE if report.get(name)}
    return {name: value for name, value in said.items() if known.get(name) != value}


def _shown(value: Any) -> Any:
    return visible(value) if isinstance(value, str) else value


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
    before = [one for one in known if one[0] != since]
    return (*before, (since, until))[-KEPT_SILENCES:]


def skew_of(seen: Iterable[float]) -> float | None:
    """By how much a host's clock is ahead of ours, from differences (its time at the beginning of a message, less ours
    at its arrival). Each is too small by the time that the message took."""
    found = list(seen)
    return max(found) if found else None


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


def _fits(whole: str, pattern: str) -> bool:
    if pattern.startswith("!"):
        return not fnmatchcase(whole, pattern[1:])
    return fnmatchcase(whole, pattern) or fnmatchcase(whole.removesuffix(".service"), pattern)
