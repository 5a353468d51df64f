"""Host metrics from /proc and /sys. A number that cannot be read is left out: unknown, never zero.

Must not: start a process, block on a dead file system.
"""
from __future__ import annotations

import os
import platform
import socket
import time
from typing import Dict, List, Optional, Tuple

_PSEUDO = {"proc", "sysfs", "devtmpfs", "devpts", "cgroup", "cgroup2", "pstore", "bpf", "securityfs", "debugfs",
           "tracefs", "mqueue", "hugetlbfs", "configfs", "fusectl", "autofs", "binfmt_misc", "rpc_pipefs", "nsfs",
           "squashfs", "efivarfs", "ramfs", "iso9660", "fuse.lxcfs", "fuse.gvfsd-fuse", "fuse.portal"}
_REMOTE = {"nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p", "afs", "ceph", "glusterfs", "fuse.glusterfs"}
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
TOP = 10


def read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def maybe(path: str) -> Optional[str]:
    try:
        return read(path)
    except OSError:
        return None


class Metrics:
    """Samples the host. Rates and CPU shares are means since the sample before."""

    def __init__(self) -> None:
        self.os = os_name()
        self.kernel = platform.release()
        self.arch = platform.machine()
        self.boot_id = (maybe("/proc/sys/kernel/random/boot_id") or "").strip()
        self._cpu: Optional[Tuple[float, float]] = _cpu_times()
        self._net: Tuple[float, Dict[str, Tuple[float, float]]] = (time.monotonic(), _net_counters())
        self._processes: Dict[Tuple[int, int], int] = {}
        self._processes_at = 0.0

    def sample(self) -> dict:
        mem, swap = _memory()
        disks, inodes = _disks()
        top, counts = self._top()
        network = self._network()
        metrics: Dict[str, float] = {**counts, **_pressure()}
        if "/" in inodes:
            metrics["inode_percent"] = inodes["/"]
        metrics.update({f"inodes.{mount}.percent": value for mount, value in inodes.items()})
        if network:
            metrics["rx_bytes_s"] = sum(each["rx_bytes"] for name, each in network.items() if name != "lo")
            metrics["tx_bytes_s"] = sum(each["tx_bytes"] for name, each in network.items() if name != "lo")
        metrics["reboot_required"] = float(os.path.exists("/run/reboot-required"))
        found = {
            "hostname": socket.gethostname(), "os": self.os, "kernel": self.kernel, "arch": self.arch,
            "boot_id": self.boot_id, "cpu_percent": self._cpu_percent(), "mem_percent": mem, "swap_percent": swap,
            "disk_percent": disks.get("/"), "disks": disks, "uptime_s": _uptime(), **_load(), "metrics": metrics,
            "network": network, "temperatures": _temperatures(), "top_processes": top,
        }
        return {name: value for name, value in found.items() if value is not None}

    def _cpu_percent(self) -> Optional[float]:
        now, before = _cpu_times(), self._cpu
        self._cpu = now
        if not now or not before or now[1] <= before[1]:
            return None
        return round(min(100.0, max(0.0, 100 * (now[0] - before[0]) / (now[1] - before[1]))), 2)

    def _network(self) -> Dict[str, Dict[str, float]]:
        at, counters = time.monotonic(), _net_counters()
        before_at, before = self._net
        self._net = (at, counters)
        spent = at - before_at
        if spent <= 0:
            return {}
        return {name: {"rx_bytes": round(max(0.0, rx - before[name][0]) / spent, 1),
                       "tx_bytes": round(max(0.0, tx - before[name][1]) / spent, 1)}
                for name, (rx, tx) in counters.items() if name in before}

    def _top(self) -> Tuple[List[dict], Dict[str, float]]:
        now, before = time.monotonic(), self._processes
        spent = (now - self._processes_at) if self._processes_at else 0.0
        seen = processes()
        self._processes = {(each["pid"], each["started"]): each["ticks"] for each in seen}
        self._processes_at = now
        for each in seen:
            past = before.get((each["pid"], each["started"]))
            known = past is not None and spent > 0
            each["cpu_percent"] = round(100 * (each["ticks"] - past) / _TICKS / spent, 1) if known else 0.0
        by_cpu = sorted(seen, key=lambda each: -each["cpu_percent"])[:TOP]
        by_memory = sorted(seen, key=lambda each: -each["rss"])[:TOP]
        chosen = {each["pid"]: each for each in by_cpu + by_memory}
        top = [{"pid": each["pid"], "name": each["name"], "cpu_percent": each["cpu_percent"], "rss_bytes": each["rss"]}
               for each in chosen.values()]
        zombies = sum(each["state"] == "Z" for each in seen)
        return top, {"processes": float(len(seen)), "zombies": float(zombies)}


def processes() -> List[dict]:
    """Every process: pid, name, state, CPU ticks, memory, start time."""
    found = []
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
        found.append({"pid": int(name), "name": head.partition("(")[2], "state": parts[0], "ppid": int(parts[1]),
                      "ticks": int(parts[11]) + int(parts[12]), "nice": int(parts[16]), "started": int(parts[19]),
                      "rss": int(parts[21]) * _PAGE})
    return found


def os_name() -> str:
    release = os_release()
    return release.get("PRETTY_NAME") or f"{platform.system()} {platform.release()}"


def os_release() -> Dict[str, str]:
    text = maybe("/etc/os-release") or maybe("/usr/lib/os-release") or ""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return {name: value.strip().strip("\"'") for name, _, value in pairs}


def machine_id() -> str:
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        found = (maybe(path) or "").strip()
        if found and found != "uninitialized":
            return found[:64]
    return ""


def _cpu_times() -> Optional[Tuple[float, float]]:
    line = (maybe("/proc/stat") or "").partition("\n")[0].split()
    if len(line) < 5 or line[0] != "cpu":
        return None
    times = [float(value) for value in line[1:9]]
    idle = times[3] + (times[4] if len(times) > 4 else 0.0)
    return sum(times) - idle, sum(times)


def _memory() -> Tuple[Optional[float], Optional[float]]:
    lines = (line.split() for line in (maybe("/proc/meminfo") or "").splitlines())
    size = {parts[0].rstrip(":"): float(parts[1]) for parts in lines if len(parts) >= 2}
    total, free = size.get("MemTotal"), size.get("MemAvailable", size.get("MemFree"))
    mem = round(100 * (total - free) / total, 2) if total and free is not None else None
    swap_total = size.get("SwapTotal")
    if swap_total is None:
        return mem, None
    return mem, round(100 * (swap_total - size.get("SwapFree", 0.0)) / swap_total, 2) if swap_total else 0.0


def _disks() -> Tuple[Dict[str, float], Dict[str, float]]:
    """Percent used of each real file system, and of its inodes. Remote ones are not asked: they may hang."""
    used: Dict[str, float] = {}
    inodes: Dict[str, float] = {}
    for device, mount, kind in _mounts():
        try:
            stat = os.statvfs(mount)
        except OSError:
            continue
        taken = stat.f_blocks - stat.f_bfree
        if not stat.f_blocks or not taken + stat.f_bavail:
            continue
        if kind == "tmpfs" and not mount.startswith(("/tmp", "/var/tmp", "/srv")):
            continue
        used[mount] = round(100 * taken / (taken + stat.f_bavail), 2)
        if stat.f_files and not device.startswith("tmpfs"):
            inodes[mount] = round(100 * (stat.f_files - stat.f_ffree) / stat.f_files, 2)
    return used, inodes


def _mounts() -> List[Tuple[str, str, str]]:
    found: Dict[str, Tuple[str, str, str]] = {}
    for line in (maybe("/proc/self/mounts") or "").splitlines():
        parts = line.split()
        if len(parts) < 3 or parts[2] in _PSEUDO or parts[2] in _REMOTE:
            continue
        mount = parts[1].replace("\\040", " ")
        if parts[2] == "overlay" and mount != "/":
            continue
        if mount.startswith(("/proc/", "/sys/", "/dev/", "/run/")) or mount in ("/dev", "/run"):
            continue
        if os.path.isfile(mount):
            continue    # a file bound over another (containers do this with /etc/hosts)
        found[mount] = (parts[0], mount, parts[2])
    return list(found.values())


def _uptime() -> Optional[int]:
    text = maybe("/proc/uptime")
    return int(float(text.split()[0])) if text else None


def _load() -> Dict[str, float]:
    try:
        one, five, fifteen = os.getloadavg()
    except OSError:
        return {}
    return {"load1": round(one, 2), "load5": round(five, 2), "load15": round(fifteen, 2)}


def _net_counters() -> Dict[str, Tuple[float, float]]:
    found = {}
    for line in (maybe("/proc/net/dev") or "").splitlines()[2:]:
        name, _, rest = line.partition(":")
        parts = rest.split()
        if len(parts) >= 9:
            found[name.strip()] = (float(parts[0]), float(parts[8]))
    return dict(sorted(found.items())[:200])


def _pressure() -> Dict[str, float]:
    found = {}
    for kind in ("cpu", "memory", "io"):
        for word in (maybe(f"/proc/pressure/{kind}") or "").partition("\n")[0].split():
            if word.startswith("avg10="):
                found[f"pressure_{kind}"] = float(word[6:])
    return found


def _temperatures() -> Dict[str, float]:
    found: Dict[str, float] = {}
    base = "/sys/class/thermal"
    for zone in sorted(os.listdir(base)) if os.path.isdir(base) else []:
        if not zone.startswith("thermal_zone"):
            continue
        value, kind = maybe(f"{base}/{zone}/temp"), (maybe(f"{base}/{zone}/type") or zone).strip()
        if value and value.strip().lstrip("-").isdigit():
            name = kind if kind not in found else f"{kind}-{zone[12:]}"
            found[name] = round(int(value) / 1000, 1)
    return found
