"""Names and meanings of readings, and how old one may be: `disk./var.percent` is the family `disk`, the name `/var` and
the attribute `percent`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Callable, Dict, Optional

from .reports import Measurement

Lookup = Callable[[str], Any]

STALE_AFTER_INTERVALS = 3
EVENT = "event."  # what an event from elsewhere says: `event.name`, or of one event `event.KEY.name`
PLUGIN = "plugin."  # performance data of a monitor of type `plugin`: `plugin.LABEL`
NAME_LENGTH = 100
NO_PART_OF_A_NAME = frozenset("\"'()<>=!,;&|*")
FAMILIES = ("service", "container", "disk", "inodes", "vpn", "backup")
NUMBERS = ("cpu_percent", "mem_percent", "disk_percent", "swap_percent", "load1", "load5", "load15", "uptime_s")
STARTS_COUNTED = "starts_counted_s"
CLOCK_OFF = "clock_off_s"  # by how much the clocks of a host and of the service differ
RUNS = ("active", "reloading")
MOVES = ("activating", "deactivating", "unknown")
STOPPED = ("failed", "inactive", "masked")  # the service manager starts it no more
WINDOW_S = 300.0  # in which starts are counted
LOOP_STARTS = 5  # so many starts within the window are a crash loop
MASKED = "masked"  # somebody has forbidden it to run: it has not failed


def split(key: str) -> tuple[str, str, str]:
    """A name without a middle part has "" there."""
    family, dot, rest = key.partition(".")
    middle, dot, attribute = rest.rpartition(".")
    return (family, middle, attribute) if dot else (family, "", rest)


def key_of(family: str, name: str, attribute: str) -> str:
    """systemd's suffix is left out for services."""
    if family == "service" and name.endswith(".service"):
        name = name[: -len(".service")]
    return f"{family}.{name}.{attribute}"


def metric_name(label: str) -> str:
    """A label of performance data as a condition can name it, after `plugin.`; "" where nothing is left."""
    plain = (char if char.isprintable() and not char.isspace() else "_" for char in label)
    name = "".join("_" if char in NO_PART_OF_A_NAME else char for char in plain)
    return re.sub(r"\.{2,}", ".", name)[:NAME_LENGTH].strip(".")


def fresh(samples: Mapping[str, tuple[Any, float]], now: float, interval: float) -> Lookup:
    """The samples that are fresh: one older than three intervals does not exist. Samples are (value, time)."""
    oldest = now - STALE_AFTER_INTERVALS * interval

    def lookup(name: str) -> Any:
        sample = samples.get(name)
        return None if sample is None or sample[1] < oldest else sample[0]

    return lookup


def of_report(report: Measurement) -> Dict[str, Any]:
    """What is missing is missing: unknown."""
    values: Dict[str, Any] = dict(report.metrics)
    values.update((name, value) for name in NUMBERS if (value := getattr(report, name)) is not None)
    for kind, states in (("service", report.services), ("container", report.containers)):
        values.update((f"{kind}.{name}.state", state) for name, state in states.items())
    values.update((f"disk.{mount}.percent", value) for mount, value in report.disks.items())
    if report.starts_counted_s is not None:  # what has not started is not named: it would be most units
        values[STARTS_COUNTED] = report.starts_counted_s
        values.update((f"service.{name}.starts", count) for name, count in report.starts.items())
    return values


def restarts(starts: Optional[int], counted_s: Optional[float]) -> Optional[int]:
    """The starts within the last five minutes. An agent names units that have started, and says for how long it has
    counted: before that is a whole window, a small count says nothing."""
    if counted_s is None:
        return None
    known = starts or 0
    return known if counted_s >= WINDOW_S or known >= LOOP_STARTS else None


def crash_looping(state: str, count: Optional[int]) -> Optional[int]:
    """One that the service manager has given up is failed, not looping."""
    return None if count is None else int(count >= LOOP_STARTS and state not in STOPPED)


def of_service(state: Any, *, ran: bool, starts: Optional[int], counted_s: Optional[float]) -> Dict[str, int]:
    """A service's readings by attribute; what is unknown is left out. `failed` is 1 while it does not run, if it ran
    before (`ran`) or its host calls it failed; 0 while it runs or is masked; missing while it starts or stops. Of a
    masked one its host says whether it ran before. `starts` are those within the time for which they were counted."""
    count = restarts(starts, counted_s)
    failed = None if state in MOVES else int(state not in (*RUNS, MASKED) and (state == "failed" or ran))
    masked = None if state == MASKED else 0
    values = {"failed": failed, "masked": masked, "restarts_5m": count, "crash_looping": crash_looping(state, count)}
    return {attribute: value for attribute, value in values.items() if value is not None}
