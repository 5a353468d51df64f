"""What is wrong with a host, in words, and from which figure on: the default rules begin at the same figures.

Pure. Must not: know the store, or what was healed or told.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opsapp.wire.readings import split
from opsapp.wire.reports import AgentMetrics

from .logic import failing_in
from .records import HostProblem

CPU_ABOVE = MEMORY_ABOVE = FULL = 90
NEARLY_FULL = 97  # from here on it is no longer only a warning
CLOCK_OFF_FROM_S = 30
HUNG_FROM_S = 60
MOST_NAMES = 3


def problems_of(metrics: AgentMetrics, clock_off_s: float | None) -> tuple[HostProblem, ...]:
    """The host's problems, the grave ones first."""
    problems = (*_services(metrics), *_load(metrics), *_disks(metrics), *_clock(clock_off_s))
    return tuple(sorted(problems, key=lambda problem: not problem.grave))


def silent_since(last_seen: int | None) -> HostProblem:
    """Whatever it measured is from before."""
    return HostProblem("silent", "not connected since", grave=True, since=last_seen)


def stopped_since(stopped_at: float, *, grave: bool) -> HostProblem:
    """Somebody has stopped its agent. `grave`: it has had the time to come back."""
    return HostProblem("silent", "agent stopped at", grave=grave, since=int(stopped_at))


def listed(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _services(metrics: AgentMetrics) -> Iterator[HostProblem]:
    failing = failing_in(metrics)
    if failing:
        yield HostProblem("service", f"{listed(failing)} failed", grave=True)
    if metrics.metrics.get("service_manager.hung_s", 0) >= HUNG_FROM_S:
        yield HostProblem("service_manager", "its service manager does not answer", grave=True)


def _load(metrics: AgentMetrics) -> Iterator[HostProblem]:
    if (metrics.cpu_percent or 0) > CPU_ABOVE:
        yield HostProblem("cpu", f"CPU {metrics.cpu_percent:.0f} %")
    if (metrics.mem_percent or 0) > MEMORY_ABOVE:
        yield HostProblem("memory", f"memory {metrics.mem_percent:.0f} %")


def _disks(metrics: AgentMetrics) -> Iterator[HostProblem]:
    """The fullest first. One that says only how full its fullest disk is does not say which one that is."""
    disks = metrics.disks or ({} if metrics.disk_percent is None else {"a disk": metrics.disk_percent})
    full = [(percent, mount) for mount, percent in disks.items() if percent >= FULL]
    for percent, mount in sorted(full, reverse=True):
        yield HostProblem("disk", f"{mount} {percent:.0f} % full", grave=percent >= NEARLY_FULL)
    for name, value in metrics.metrics.items():
        if not name.startswith(("disk.", "inodes.")):
            continue
        family, mount, attribute = split(name)
        if attribute == "read_only" and value:
            yield HostProblem("read_only", f"{mount} is read-only", grave=True)
        elif family == "inodes" and value >= FULL:
            yield HostProblem("inodes", f"{mount} {value:.0f} % of inodes used", grave=value >= NEARLY_FULL)


def _clock(off_s: float | None) -> Iterator[HostProblem]:
    if abs(off_s or 0) >= CLOCK_OFF_FROM_S:
        yield HostProblem("clock", f"clock {abs(off_s or 0):.0f} s off")
