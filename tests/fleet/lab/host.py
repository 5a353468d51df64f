"""One host of the lab: a systemd-nspawn container with an address, a disk of limited size and a bounded memory."""

import os
import re
import signal
import subprocess
import uuid
from pathlib import Path

from tests.support.waiting import patience

from . import machine
from .machine import PATH, run

DISK_MB, MEMORY_MB = 512, 768


class Host:
    def __init__(self, lab, number):
        self.lab, self.number = lab, number
        self.name = f"h{number}"
        self.address = f"{lab.bridge.prefix}.{10 + number}"
        self.dir = lab.dir / self.name
        self.root = self.dir / "root"
        self.namespace = self.cable = f"{lab.bridge.name}{self.name}"
        self.cgroup = f"{lab.bridge.name}/{self.name}"
        self.groups = []
        self.nspawn = None
        self.leader = self.leader_born = None
        self.is_cut = False

    # --- power

    def start(self):
        """Boots the host, and waits until its systemd says that it is up."""
        self._attach_disk()
        self.lab.bridge.plug(self.namespace, self.cable, self.address, self.number)
        self.groups = machine.make_cgroup(self.cgroup, MEMORY_MB)
        command = [
            "systemd-nspawn", "-q", "-b", "-D", str(self.root), "-M", self.name, f"--hostname={self.name}",
            "--register=no", "--keep-unit", f"--network-namespace-path=/run/netns/{self.namespace}",
            "--capability=all", "--drop-capability=CAP_SYS_TIME,CAP_SYS_MODULE,CAP_SYS_RAWIO",
            "--system-call-filter=@keyring bpf", "--resolv-conf=off", "--timezone=off", "--link-journal=no",
            "--console=read-only",
        ]  # fmt: skip
        if self.lab.figures:
            command.append(f"--bind={self.lab.figures}:/var/lib/lxcfs")
        with open(self.dir / "console.log", "wb") as log:
            self.nspawn = subprocess.Popen(
                [*machine.joining(self.groups), *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, env={"PATH": PATH, "SYSTEMD_NSPAWN_TMPFS_TMP": "0", "LANG": "C.UTF-8"},
            )  # fmt: skip
        self._await(self._find_leader, 20, "its systemd")
        self._await(self._booted, 60, "the end of its boot")

    def kill(self):
        """Power loss: every process dies at once, the disk stays."""
        machine.thaw(self.cgroup)
        machine.end(self.leader, self.leader_born)
        if self.nspawn is not None:
            try:
                self.nspawn.wait(5)
            except subprocess.TimeoutExpired:
                self.nspawn.kill()
                self.nspawn.wait(5)
        self.nspawn = self.leader = None
        machine.remove_cgroup(self.cgroup)
        self.lab.bridge.unplug(self.namespace, self.cable)

    def stop(self):
        """An orderly shutdown, cut short after 20 s."""
        machine.end(self.leader, self.leader_born, signal.SIGRTMIN + 4, timeout=20)
        self.kill()

    @property
    def running(self):
        return self.leader is not None and machine.born(self.leader) == self.leader_born

    def remove(self):
        self.kill()
        if self.is_cut:
            self.mend()
        machine.unmount(self.dir)

    # --- what tests do with it

    def exec(self, *words, check=True, timeout=30, stdin=None):
        """Runs a command as root inside, as at its console: no network is involved. `.stdout` has both streams."""
        if not self.running:
            raise RuntimeError(f"{self.name} is off")
        bounded = ["timeout", "-k", "2", str(timeout * patience()), *map(str, words)]
        return run(*machine.joining(self.groups), *self.enter(), *bounded, check=check, timeout=timeout + 10,
                   stdin=stdin)  # fmt: skip

    def enter(self):
        """The beginning of a command line that runs inside, where the machine's variables name places that are not."""
        nsenter = ["nsenter", "-t", str(self.leader), "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w", "--"]
        return [*nsenter, "env", "-i", "HOME=/root", "LANG=C.UTF-8", "TERM=linux", f"PATH={PATH}"]

    def write(self, path, text, mode=0o644):
        """Puts a file on the host's disk (not under /run, /proc, /sys or /dev, which are not on it)."""
        place = self.root / str(path).lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, bytes):
            place.write_bytes(text)
        else:
            place.write_text(text)
        place.chmod(mode)

    def read(self, path):
        """A file of the host's disk; empty text when there is none."""
        place = self.root / str(path).lstrip("/")
        return place.read_text() if place.exists() else ""

    def cut(self):
        self.lab.bridge.cut(self.address)
        self.is_cut = True

    def mend(self):
        self.lab.bridge.mend(self.address)
        self.is_cut = False

    # --- how

    def _attach_disk(self):
        disk = self.dir / "disk"
        if os.path.ismount(self.root):
            return
        disk.mkdir(parents=True, exist_ok=True)
        image = self.dir / "disk.img"
        with open(image, "wb") as file:
            file.truncate(DISK_MB << 20)
        lazy = "lazy_itable_init=1,lazy_journal_init=1,nodiscard"
        run("mkfs.ext4", "-q", "-F", "-m", "0", "-E", lazy, image)
        run("mount", "-o", "loop", image, disk)
        for directory in (disk / "upper", disk / "work", self.root):
            directory.mkdir()
        lower = ":".join(map(str, self.lab.layers))
        run("mount", "-t", "overlay", self.namespace, "-o",
            f"lowerdir={lower},upperdir={disk}/upper,workdir={disk}/work", self.root)  # fmt: skip
        self._make_itself()

    def _make_itself(self):
        """What makes a host this host: its name, machine id, ssh keys, and the names it knows."""
        self.write("/etc/hostname", self.name + "\n")
        self.write("/etc/machine-id", uuid.uuid4().hex + "\n", 0o444)
        self.write("/etc/hosts", f"127.0.0.1 localhost\n{self.address} {self.name}\n{self.lab.bridge.address} server\n")
        resolv = self.root / "etc/resolv.conf"
        resolv.unlink(missing_ok=True)
        resolv.write_text("")
        key = self.root / "etc/ssh/ssh_host_ed25519_key"
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", self.name, "-f", key)
        public = self.lab.ssh_key.with_suffix(".pub").read_text()
        for home in ("root", "home/ops", "home/plain"):
            self.write(f"/{home}/.ssh/authorized_keys", public, 0o600)
            owner = (self.root / home).stat()
            for place in (self.root / home / ".ssh", self.root / home / ".ssh/authorized_keys"):
                os.chown(place, owner.st_uid, owner.st_gid)
            (self.root / home / ".ssh").chmod(0o700)

    def _find_leader(self):
        if self.nspawn.poll() is not None:
            raise RuntimeError(f"{self.name} did not start: {self._console()}")
        for pid in machine.children(self.nspawn.pid):
            try:
                status = Path(f"/proc/{pid}/status").read_text()
            except OSError:
                continue
            if re.search(r"^Name:\s+systemd$", status, re.M) and re.search(r"^NSpid:\s+\d+.*\s1$", status, re.M):
                self.leader, self.leader_born = pid, machine.born(pid)
                return True
        return False

    def _console(self):
        return (self.dir / "console.log").read_text(errors="replace")[-800:]

    def _booted(self):
        if not self.running:
            raise RuntimeError(f"{self.name} died while booting")
        state = self.exec("systemctl", "is-system-running", check=False).stdout.strip()
        return state in ("running", "degraded")

    def _await(self, come_true, seconds, what):
        if not machine.came_true(come_true, seconds):
            raise RuntimeError(f"{self.name}: {what} did not come: {self._console()}")
