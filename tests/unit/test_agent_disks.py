"""How full file systems are: this host's own, and none that hangs holds the others up."""

import os
import threading
import types

import pytest

from opsapp.agent import disks
from opsapp.agent.disks import Disks
from tests.support.waiting import until

MOUNTS = """/dev/sda1 / ext4 rw 0 0
/dev/sdb1 /data\\040old xfs rw 0 0
nas:/x /nas nfs4 rw 0 0
overlay /var/lib/containers/x overlay rw 0 0
tmpfs /tmp tmpfs rw 0 0
tmpfs /home/x tmpfs rw 0 0
proc /proc proc rw 0 0
/dev/sdc1 /run/media ext4 rw 0 0
/dev/sdd1 /gone ext4 rw 0 0
/dev/sde1 /empty vfat rw 0 0
short"""


def test_only_disks_of_this_host_are_measured(monkeypatch):
    def statvfs(path):
        if path == "/gone":
            raise OSError(5, "Input/output error")
        blocks = 0 if path == "/empty" else 100
        return types.SimpleNamespace(f_blocks=blocks, f_bfree=40, f_bavail=20, f_files=200, f_ffree=50)

    monkeypatch.setattr(disks, "maybe", lambda path: MOUNTS)
    monkeypatch.setattr(os, "statvfs", statvfs)
    seen = Disks().look()
    assert seen.used == {"/": 75.0, "/data old": 75.0, "/tmp": 75.0}  # of what is for everybody: 60 of 80
    assert seen.inodes == {"/": 75.0, "/data old": 75.0}
    assert set(seen.read_only.values()) == {0.0}


@pytest.mark.parametrize(("before", "now"), [("rw", "ro,relatime"), ("rw", "rw,emergency_ro"), ("ro", "rw")])
def test_a_mount_that_turned_read_only_is_told_apart_from_one_that_always_was(monkeypatch, before, now):
    texts = {
        "/etc/fstab": "UUID=1 / ext4 errors=remount-ro 0 1\n/dev/sdb1 /iso ext4 ro 0 0\n/dev/sdc1 /usb ext4 noauto 0 0"
    }
    monkeypatch.setattr(disks, "maybe", texts.get)
    monkeypatch.setattr(os, "statvfs", lambda path: types.SimpleNamespace(f_blocks=0, f_bfree=0))

    def mounted(srv):
        rows = [f"/dev/{place} /{place} ext4 ro 0 0" for place in ("", "iso", "usb")]
        texts["/proc/self/mounts"] = "\n".join([*rows, f"/dev/sdd1 /srv xfs {srv} 0 0"])

    looks = Disks()
    mounted(before)
    first = looks.look().read_only
    assert first == {"/": 1.0, **({} if before == "ro" else {"/srv": 0.0})}  # / should be writable by fstab
    mounted(now)
    assert looks.look().read_only == {"/": 1.0, "/srv": float("ro" in now)}


def test_one_that_hangs_is_unknown_and_the_others_are_not(monkeypatch):
    stuck, asked, hanging = threading.Event(), [], []

    def statvfs(path):
        asked.append(path)
        if path == "/data old":
            hanging.append(threading.current_thread())
            stuck.wait()
        return types.SimpleNamespace(f_blocks=100, f_bfree=40, f_bavail=20, f_files=200, f_ffree=50)

    def join(thread, timeout=None):
        """Until it has ended or hangs: how long that takes is the machine's."""
        assert timeout == disks.ONE_S
        until(lambda: not thread.is_alive() or (thread in hanging and not stuck.is_set()), what="an answer")

    monkeypatch.setattr(disks, "maybe", lambda path: MOUNTS)
    monkeypatch.setattr(disks, "ALL_S", 600.0)
    monkeypatch.setattr(threading.Thread, "join", join)
    monkeypatch.setattr(os, "statvfs", statvfs)
    looks = Disks()
    for _ in range(2):
        assert sorted(looks.look()[0]) == ["/", "/empty", "/gone", "/tmp"]
    assert asked.count("/data old") == 1, "one that hangs is not asked again"
    stuck.set()
    until(lambda: "/data old" in looks.look()[0], what="the disk that has answered being asked again")
