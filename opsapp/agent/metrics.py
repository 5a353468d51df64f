"""Host metrics from /proc and /sys. A number that cannot be read is left out: unknown, never zero.

Must not: start a process, block on a dead file system.
"""

from __future__ import annotations

import os
import platform
import socket
import time
from typing import Dict, List, Optional, Tuple

from opsapp.wire.reports import HostReport

from .disks import Disks
from .proc import boot_id, maybe, memory, processes
from .rates import SPAN_S, Rates

_TICKS = os.sysconf("SC_CLK_TCK")
TOP = 10


class Metrics:
    """Rates are means since the sample before, or over a moment when they must be fresh."""

    def __init__(self) -> None:
        self.os = os_name()
        self.kernel = platform.release()
        self.arch = platform.machine()
        self.boot_id = boot_id()
        self.rates = Rates()
        self._disks = Disks()
        self._processes: Dict[Tuple[int, int], int] = {}
        self._processes_at = 0.0

    def sample(self, fresh: bool = False) -> HostReport:
        self.rates.take(fresh)
        mem, swap = _memory()
        disks, inodes, read_only = self._disks.look()
        top, counts = self._top()
        network = self.rates.network()
        metrics: Dict[str, float] = {**counts, **_pressure()}
        if "/" in inodes:
            metrics["inode_percent"] = inodes["/"]
        metrics.update({f"inodes.{mount}.percent": value for mount, value in inodes.items()})
        metrics.update({f"disk.{mount}.read_only": value for mount, value in read_only.items()})
        if network:
            metrics["rx_bytes_s"] = sum(link["rx_bytes"] for name, link in network.items() if name != "lo")
            metrics["tx_bytes_s"] = sum(link["tx_bytes"] for name, link in network.items() if name != "lo")
        metrics["reboot_required"] = float(os.path.exists("/run/reboot-required"))
        load1, load5, load15 = _load()
        return HostReport(
            socket.gethostname(),
            self.os,
            kernel=self.kernel,
            arch=self.arch,
            boot_id=self.boot_id,
            cpu_percent=self.rates.cpu_percent(),
            mem_percent=mem,
            swap_percent=swap,
            disk_percent=disks.get("/"),
            disks=disks,
            uptime_s=_uptime(),
            load1=load1,
            load5=load5,
            load15=load15,
            metrics=metrics,
            network=network,
            temperatures=_temperatures(),
            top_processes=tuple(top),
        )

    def _top(self) -> Tuple[List[dict], Dict[str, float]]:
        now, before = time.monotonic(), self._processes
        spent, known = now - self._processes_at, bool(before)
        seen = processes()
        if not known or spent >= SPAN_S:
            self._processes = {(process.pid, process.started): process.ticks for process in seen}
            self._processes_at = now
        share = {}
        for process in seen if known and spent >= SPAN_S else ():  # one that is new has begun meanwhile, from nothing
            past = before.get((process.pid, process.started), 0)
            share[process.pid] = round(100 * (process.ticks - past) / _TICKS / spent, 1)
        by_cpu = sorted(seen, key=lambda process: -share[process.pid])[:TOP] if share else []
        by_memory = sorted(seen, key=lambda process: -process.rss)[:TOP]
        chosen = {process.pid: process for process in by_cpu + by_memory}
        top = [
            {
                "pid": process.pid,
                "name": process.name,
                "rss_bytes": process.rss,
                **({"cpu_percent": share[process.pid]} if share else {}),
            }
            for process in chosen.values()
        ]
        zombies = sum(process.state == "Z" for process in seen)
        return top, {"processes": float(len(seen)), "zombies": float(zombies)}


def os_name() -> str:
    release = os_release()
    return release.get("PRETTY_NAME") or f"{platform.system()} {platform.release()}"


def os_release() -> Dict[str, str]:
    text = maybe("/etc/os-release") or maybe("/usr/lib/os-release") or ""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {name: value.strip().strip("\"'") for name, _, value in pairs}


def machine_id() -> str:
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        text = (maybe(path) or "").strip()
        if text and text != "uninitialized":
            return text[:64]
    return ""


def _memory() -> Tuple[Optional[float], Optional[float]]:
    size = memory()
    total, free = size.get("MemTotal"), size.get("MemAvailable", size.get("MemFree"))
    mem = round(100 * (total - free) / total, 2) if total and free is not None else None
    swap_total = size.get("SwapTotal")
    if swap_total is None:
        return mem, None
    return mem, round(100 * (swap_total - size.get("SwapFree", 0)) / swap_total, 2) if swap_total else 0.0


def _uptime() -> Optional[int]:
    text = maybe("/proc/uptime")
    return int(float(text.split()[0])) if text else None


def _load() -> Tuple[Optional[float], ...]:
    try:
        return tuple(round(load, 2) for load in os.getloadavg())
    except OSError:
        return (None, None, None)


def _pressure() -> Dict[str, float]:
    values = {}
    for kind in ("cpu", "memory", "io"):
        for word in (maybe(f"/proc/pressure/{kind}") or "").partition("\n")[0].split():
            if word.startswith("avg10="):
                values[f"pressure_{kind}"] = float(word[6:])
    return values


def _temperatures() -> Dict[str, float]:
    temperatures: Dict[str, float] = {}
    base = "/sys/class/thermal"
    for zone in sorted(os.listdir(base)) if os.path.isdir(base) else []:
        if not zone.startswith("thermal_zone"):
            continue
        value, kind = maybe(f"{base}/{zone}/temp"), (maybe(f"{base}/{zone}/type") or zone).strip()
        if value and value.strip().lstrip("-").isdigit():
            name = kind if kind not in temperatures else f"{kind}-{zone[12:]}"
            temperatures[name] = round(int(value) / 1000, 1)
    return temperatures
