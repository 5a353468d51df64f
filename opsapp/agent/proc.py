"""Reading /proc: a file that may be gone, one process and every process.

Must not: judge what it reads.
"""

from __future__ import annotations

import os
from typing import Dict, Iterator, List, NamedTuple, Optional

_PAGE = os.sysconf("SC_PAGE_SIZE")
DEAD = ("Z", "X")  # the states of what has ended and is not buried yet


class Process(NamedTuple):
    """`ticks` of the processor, `rss` in bytes, `started` in ticks after the boot."""

    pid: int
    name: str
    state: str
    ppid: int
    ticks: int
    nice: int
    started: int
    rss: int


def read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def maybe(path: str) -> Optional[str]:
    try:
        return read(path)
    except OSError:
        return None


def boot_id() -> str:
    """The id of this boot; process numbers mean nothing beyond it."""
    return (maybe("/proc/sys/kernel/random/boot_id") or "").strip()


def pids() -> Iterator[str]:
    return filter(str.isdigit, os.listdir("/proc"))


def stat_of(pid: object) -> List[str]:
    """What stands in its `stat` after its name, from its state on; nothing when it is gone."""
    return (maybe(f"/proc/{pid}/stat") or "").rpartition(")")[2].split()


def start_time(pid: int) -> int:
    """When the process started, which tells it from a later one with its number; 0 when there is none."""
    words = stat_of(pid)
    return int(words[19]) if words else 0


def name_of(pid: object) -> str:
    return (maybe(f"/proc/{pid}/comm") or "").strip()


def cgroup_of(pid: object) -> str:
    """The process's path in the hierarchies of control groups; "" when it is gone."""
    return maybe(f"/proc/{pid}/cgroup") or ""


def memory() -> Dict[str, int]:
    """The host's memory in KB, by the kernel's names."""
    lines = (line.split() for line in (maybe("/proc/meminfo") or "").splitlines())
    return {parts[0].rstrip(":"): int(parts[1]) for parts in lines if len(parts) >= 2}


def processes() -> List[Process]:
    running = []
    for name in pids():
        head, _, tail = (maybe(f"/proc/{name}/stat") or "").rpartition(")")
        parts = tail.split()
        if len(parts) < 22:
            continue
        running.append(
            Process(
                pid=int(name),
                name=head.partition("(")[2],
                state=parts[0],
                ppid=int(parts[1]),
                ticks=int(parts[11]) + int(parts[12]),
                nice=int(parts[16]),
                started=int(parts[19]),
                rss=int(parts[21]) * _PAGE,
            )
        )
    return running
