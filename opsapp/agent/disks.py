"""How full the host's own file systems are. One that hangs is left out, unknown, and holds nothing else up.

Remote ones are not asked. A local one may hang as well: a disk that dies, a mount below a dead remote one, a file
system in a process that stands still. Must not: wait for one longer than ONE_S, or for it again.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from typing import Dict, Iterator, List, NamedTuple, Tuple

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
_REMOTE = {"nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p", "afs", "ceph", "glusterfs", "fuse.glusterfs"}


class Mount(NamedTuple):
    device: str
    place: str
    kind: str


class Disks:
    def __init__(self) -> None:
        self._hanging: Dict[Mount, threading.Thread] = {}

    def look(self) -> Tuple[Dict[str, float], Dict[str, float]]:
        """Percent used of each real file system, and of its inodes."""
        used: Dict[str, float] = {}
        inodes: Dict[str, float] = {}
        for mount, stat in self._ask(_mounts()):
            taken = stat.f_blocks - stat.f_bfree
            if not stat.f_blocks or not taken + stat.f_bavail:
                continue
            if mount.kind == "tmpfs" and not mount.place.startswith(("/tmp", "/var/tmp", "/srv")):
                continue
            used[mount.place] = round(100 * taken / (taken + stat.f_bavail), 2)
            if stat.f_files and not mount.device.startswith("tmpfs"):
                inodes[mount.place] = round(100 * (stat.f_files - stat.f_ffree) / stat.f_files, 2)
        return used, inodes

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
    """What a thread asks, and how far it has come; `over`: nobody waits for the rest of it."""

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


def _mounts() -> List[Mount]:
    mounts: Dict[str, Mount] = {}
    for line in (maybe("/proc/self/mounts") or "").splitlines():
        parts = line.split()
        if len(parts) < 3 or parts[2] in _PSEUDO or parts[2] in _REMOTE:
            continue
        place = parts[1].replace("\\040", " ")
        if parts[2] == "overlay" and place != "/":
            continue
        if place.startswith(("/proc/", "/sys/", "/dev/", "/run/")) or place in ("/dev", "/run"):
            continue
        mounts[place] = Mount(parts[0], place, parts[2])
    return list(mounts.values())
