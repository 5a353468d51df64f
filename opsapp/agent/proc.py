"""Reading /proc: a file that may be gone, and every process.

Must not: judge what it reads.
"""

from __future__ import annotations

import os
from typing import List, NamedTuple, Optional

_PAGE = os.sysconf("SC_PAGE_SIZE")


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


def processes() -> List[Process]:
    running = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        stat = maybe(f"/proc/{name}/stat")
        if not stat:
            continue
        head, _, tail = stat.rpartition(")")
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
