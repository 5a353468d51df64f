"""How full the host's own file systems are, and which turned read-only.

A local one may hang: a disk that dies, a mount below a dead remote one. It is left out, unknown, and holds nothing
else up. Remote ones are not asked. Must not: wait for one longer than ONE_S, or for it again.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import Dict, Iterator, List, NamedTuple, Set, Tuple

from .proc import maybe

log = logging.getLogger("disks")
ONE_S, ALL_S = 3.0, 6.0
_PSEUDO = {
    "proc",
    "sysfs",
    "devtmpfs",
    "devpts",
    "cgroup",
    "cgroup2",
    "pstore",
    "bpf",
    "securityfs",
    "debugfs",
    "tracefs",
    "mqueue",
    "hugetlbfs",
    "configfs",
    "fusectl",
    "autofs",
    "binfmt_misc",
    "rpc_pipefs",
    "nsfs",
    "squashfs",
    "efivarfs",
    "ramfs",
    "iso9660",
    "fuse.lxcfs",
    "fuse.gvfsd-fuse",
    "fuse.portal",
}
IMAGES = ("squashfs", "iso9660", "erofs", "cramfs", "udf")  # never anything but read-only
READ_ONLY = {"ro", "emergency_ro"}  # the second after an error of the disk, from Linux 6.15 on
_REMOTE = {"nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p", "afs", "ceph", "glusterfs", "fuse.glusterfs"}


class Mount(NamedTuple):
    device: str
    place: str
    kind: str


class DiskFigures(NamedTuple):
    """Figures by mount point; `read_only`: 1 where it turned so."""

    used: Dict[str, float]
    inodes: Dict[str, float]
    read_only: Dict[str, float]


class Disks:
    def __init__(self) -> None:
        self._hanging: Dict[Mount, threading.Thread] = {}
        self._written: Set[str] = set()  # mount points that were not read-only once

    def look(self) -> DiskFigures:
        """Figures of each real file system."""
        used: Dict[str, float] = {}
        inodes: Dict[str, float] = {}
        mounts = _mounts()
        for mount, stat in self._ask(list(mounts)):
            taken = stat.f_blocks - stat.f_bfree
            if not stat.f_blocks or not taken + stat.f_bavail:
                continue
            used[mount.place] = round(100 * taken / (taken + stat.f_bavail), 2)
            if stat.f_files and not mount.device.startswith("tmpfs"):
                inodes[mount.place] = round(100 * (stat.f_files - stat.f_ffree) / stat.f_files, 2)
        return DiskFigures(used, inodes, self._turned({mount.place: is_so for mount, is_so in mounts.items()}))

    def _turned(self, read_only: Dict[str, bool]) -> Dict[str, float]:
        """What was always mounted read-only is left out, unless /etc/fstab wants to write there: that is on purpose."""
        self._written &= read_only.keys()
        self._written |= {place for place, is_so in read_only.items() if not is_so}
        known = self._written | _to_be_written()
        return {place: float(is_so) for place, is_so in read_only.items() if place in known}

    def _ask(self, mounts: List[Mount]) -> Iterator[Tuple[Mount, os.statvfs_result]]:
        """One thread asks them all. Should it hang in one, another goes on behind it, and that one is not asked again
        before it has answered."""
        self._hanging = {mount: thread for mount, thread in self._hanging.items() if thread.is_alive()}
        left = [mount for mount in mounts if mount not in self._hanging]
        until = time.monotonic() + ALL_S
        while left and time.monotonic() < until:
            asking = MountQuestion(left)
            thread = threading.Thread(target=asking.run, daemon=True, name="disks")
            thread.start()
            thread.join(ONE_S)
            asking.over = True
            passed = asking.passed
            for mount in left[passed : passed + 1]:
                log.warning("%s hangs: how full it is is unknown", mount.place)
                self._hanging[mount] = thread
            left = left[passed + 1 :]
            yield from asking.told[:]


class MountQuestion:
    """`over`: nobody waits for the rest of it."""

    def __init__(self, mounts: List[Mount]):
        self.told: List[Tuple[Mount, os.statvfs_result]] = []
        self.passed = 0
        self.over = False
        self._mounts = mounts

    def run(self) -> None:
        for mount in self._mounts:
            if self.over:
                return
            try:
                if not os.path.isfile(mount.place):  # a file bound over another (containers do this with /etc/hosts)
                    self.told.append((mount, os.statvfs(mount.place)))
            except OSError as error:
                log.debug("%s: %s", mount.place, error)
            self.passed += 1


def rows_of(path: str) -> List[List[str]]:
    rows = [line.split() for line in (maybe(path) or "").splitlines()]
    return [[word.replace("\\040", " ") for word in row] for row in rows if len(row) > 3 and row[0][:1] != "#"]


def is_read_only(options: str) -> bool:
    """Whether these options of a mount say so."""
    return not READ_ONLY.isdisjoint(options.split(","))


def is_read_only_at(place: str) -> bool:
    """The last file system mounted there is what programs see."""
    here = [row for row in rows_of("/proc/self/mounts") if row[1] == place]
    return bool(here) and here[-1][2] not in IMAGES and is_read_only(here[-1][3])


def _to_be_written() -> Set[str]:
    return {row[1] for row in rows_of("/etc/fstab") if not {"ro", "noauto"} & set(row[3].split(","))}


def _mounts() -> Dict[Mount, bool]:
    """Real file systems. The last one at a place is what programs see."""
    mounts: Dict[str, Tuple[Mount, bool]] = {}
    for parts in rows_of("/proc/self/mounts"):
        if parts[2] in _PSEUDO or parts[2] in _REMOTE:
            continue
        place = parts[1]
        if parts[2] == "overlay" and place != "/":
            continue
        if place.startswith(("/proc/", "/sys/", "/dev/", "/run/")) or place in ("/dev", "/run"):
            continue
        if parts[2] == "tmpfs" and not place.startswith(("/tmp", "/var/tmp", "/srv")):
            continue
        mounts[place] = Mount(parts[0], place, parts[2]), is_read_only(parts[3])
    return dict(mounts.values())
