"""What all hosts begin with: a debootstrapped Debian, and above it a layer of our own files. Both are built once per
recipe into the cache and never changed afterwards, so that hosts of several labs can share them."""

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path

from .machine import CACHE, Unavailable, run

SUITE = "bookworm"
PACKAGES = [
    *("systemd", "systemd-sysv", "dbus", "libpam-systemd", "openssh-server", "python3", "nginx-light", "iproute2"),
    *("iputils-ping", "procps", "cron", "curl", "sudo", "logrotate", "nftables", "e2fsprogs", "podman", "runc"),
    *("netavark", "busybox-static", "ca-certificates", "wireguard-tools", "wireguard-go", "btrfs-progs"),
    *("dnsmasq-base", "systemd-resolved", "unattended-upgrades"),
]
USERS = ("ops", "plain")
FILES = {
    "etc/nginx/conf.d/lab.conf": (
        "server { listen 80; root /var/www/html;\n"
        '  location = /health { default_type text/plain; return 200 "ok\\n"; } }\n'
    ),
    "etc/systemd/journald.conf.d/lab.conf": "[Journal]\nStorage=persistent\nSystemMaxUse=64M\nSystemMaxFileSize=8M\n",
    "etc/ssh/sshd_config.d/lab.conf": "PermitRootLogin prohibit-password\nPasswordAuthentication no\nUseDNS no\n",
    "etc/sudoers.d/ops": "ops ALL=(ALL) NOPASSWD: ALL\n",
    "etc/apt/sources.list": "# the lab has no way out\n",
    # crun refuses hybrid cgroups, and an overlay cannot lie on an overlay
    "etc/containers/containers.conf": (
        '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n'
    ),
    "etc/containers/storage.conf": (
        '[storage]\ndriver = "vfs"\ngraphroot = "/var/lib/containers/storage"\nrunroot = "/run/containers/storage"\n'
    ),
    # nspawn mounts the old cgroup controllers read-only; containers and their limits need them
    "etc/systemd/system/lab-cgroups.service": (
        "[Unit]\nDefaultDependencies=no\nBefore=sysinit.target\n"
        "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c '"
        "for d in /sys/fs/cgroup/*/; do mount -o remount,rw,bind $$d || true; done'\n"
    ),
    # a host's own memory and processor figures instead of the machine's
    "etc/systemd/system/lab-figures.service": (
        "[Unit]\nDefaultDependencies=no\nBefore=sysinit.target\nConditionPathExists=/var/lib/lxcfs/proc/meminfo\n"
        "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh -c '"
        "cd /var/lib/lxcfs/proc; for f in meminfo stat uptime cpuinfo; do mount --bind $$f /proc/$$f; done'\n"
    ),
}
MODES = {"etc/sudoers.d/ops": 0o440}
MASKED = [
    *("console-getty.service", "getty@.service", "systemd-networkd.service", "systemd-timesyncd.service"),
    *("apt-daily.timer", "apt-daily-upgrade.timer", "man-db.timer", "dpkg-db-backup.timer"),
    *("e2scrub_all.timer", "e2scrub_reap.service"),
    *("podman.service", "podman.socket", "podman-restart.service", "podman-auto-update.service"),
    *("podman-auto-update.timer", "unattended-upgrades.service"),
]
GONE = ("etc/nginx/sites-enabled/default",)


def layers():
    """The overlay's lower directories, topmost first; built when they are missing."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with _alone():
        base = _built("base", [SUITE, PACKAGES, USERS], _bootstrap)
        files = _built("files", [FILES, MODES, MASKED, GONE], _write_files)
    return [files, base]


@contextmanager
def _alone():
    with open(CACHE / "build.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _built(name, recipe, build):
    place = CACHE / f"{name}-{hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()[:12]}"
    if not place.exists():
        half = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=CACHE))
        half.chmod(0o755)
        try:
            build(half)
        except BaseException:
            shutil.rmtree(half, ignore_errors=True)
            raise
        half.rename(place)
    return place


def archive():
    """Where this machine's own apt gets Debian from, and the keyring it trusts."""
    form = "$(REPO_URI)|$(CODENAME)|$(COMPONENT)|$(ORIGIN)|$(SIGNED_BY)"
    lines = run("apt-get", "indextargets", "--format", form, "Created-By: Packages").stdout.splitlines()
    rows = [line.split("|") for line in lines if line.count("|") == 4]
    debian = [(uri, suite, key) for uri, suite, part, origin, key in rows if origin == "Debian" and part == "main"]
    for uri, suite, key in sorted(debian, key=lambda row: row[1] != SUITE):
        if "-" not in suite:
            return uri, key
    raise Unavailable("this machine's apt sources name no Debian archive")


def _bootstrap(root):
    uri, key = archive()
    debs = CACHE / "debs"
    debs.mkdir(exist_ok=True)
    print(f"lab: building the hosts' root file system in {CACHE}, a few minutes, once", flush=True)
    command = ["debootstrap", "--variant=minbase", f"--cache-dir={debs}", "--include=" + ",".join(PACKAGES)]
    if key and Path(key).exists():
        command.append(f"--keyring={key}")
    done = run(*command, SUITE, root, uri, check=False, timeout=1500)
    if done.returncode:
        raise Unavailable("debootstrap failed: " + done.stdout[-600:])
    for user in USERS:
        run("chroot", root, "useradd", "-m", "-s", "/bin/bash", user)
    for pattern in ("etc/ssh/ssh_host_*", "var/cache/apt/archives/*.deb", "var/lib/apt/lists/*_*", "etc/machine-id"):
        for path in root.glob(pattern):
            path.unlink()


def _write_files(root):
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(MODES.get(name, 0o644))
    units = root / "etc/systemd/system"
    for unit in MASKED:
        (units / unit).symlink_to("/dev/null")
    (units / "sysinit.target.wants").mkdir()
    for name in ("lab-figures", "lab-cgroups"):
        (units / f"sysinit.target.wants/{name}.service").symlink_to(f"/etc/systemd/system/{name}.service")
    for name in GONE:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        os.mknod(root / name, 0o600, os.makedev(0, 0))  # overlayfs's mark for a file that is not there
    (root / "var/log/journal").mkdir(parents=True)
