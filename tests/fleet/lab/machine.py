"""The outer machine: its commands, its cgroup hierarchies, its mounts, its processes."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

from tests.support.waiting import patience, until

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
TOOLS = ("debootstrap", "systemd-nspawn", "ip", "nft", "nsenter", "mkfs.ext4", "mount", "umount", "ssh-keygen")
CACHE = Path(os.environ.get("OPSAPP_LAB_CACHE") or Path.home() / ".cache/opsapp-lab")
# Of the processors, by the files of either kind of cgroup. Without it a group weighs as much as one process outside of
# all groups: beside other work on the machine a whole lab would get next to nothing.
PROCESSOR_SHARE = {"cpu.shares": "10240", "cpu.weight": "1000"}


class Unavailable(Exception):
    """This machine cannot carry a lab; the message says why."""


def run(*words, check=True, timeout=60.0, stdin=None, env=None):
    """Runs a command of the machine, with `timeout` as patient as tests are; its output, both streams, is `.stdout`."""
    done = subprocess.run(
        [str(word) for word in words],
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=timeout * patience(),
        env={**os.environ, "PATH": PATH, **(env or {})},
    )
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(map(str, words))}: exit {done.returncode}: {done.stdout[-800:]}")
    return done


def came_true(condition, seconds):
    """Waits as tests do; false when the time is up."""
    try:
        until(condition, seconds)
    except AssertionError:
        return False
    return True


def demand():
    """Raises Unavailable unless this machine has what a lab needs."""
    if os.geteuid():
        raise Unavailable("a lab needs root")
    lacking = [tool for tool in TOOLS if not shutil.which(tool, path=PATH)]
    if lacking:
        raise Unavailable("missing: " + " ".join(lacking))
    if "overlay" not in Path("/proc/filesystems").read_text():
        run("modprobe", "overlay", check=False)
        if "overlay" not in Path("/proc/filesystems").read_text():
            raise Unavailable("this kernel has no overlayfs")


# --- processes


def born(pid):
    """A process's start time, so that a reused number is never taken for it; None when it is gone or a zombie."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def end(pid, birth, signum=signal.SIGKILL, timeout=10.0):
    """Sends a signal and waits; true when the process is gone. Without a birth it was gone already."""
    if birth is None or born(pid) != birth:
        return True
    try:
        os.kill(pid, signum)
    except ProcessLookupError:
        return True
    return came_true(lambda: born(pid) != birth, timeout)


def children(pid):
    """All descendants of a process, nearest first."""
    found, todo = [], [pid]
    while todo:
        parent = todo.pop(0)
        try:
            lines = [(task / "children").read_text() for task in Path(f"/proc/{parent}/task").iterdir()]
        except OSError:
            continue
        below = [int(word) for line in lines for word in line.split()]
        found += below
        todo += below
    return found


# --- mounts


def mounts(under):
    """What is mounted at or below a directory, innermost first."""
    places = [line.split()[4].replace("\\040", " ") for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return [place for place in reversed(places) if place == str(under) or place.startswith(f"{under}/")]


def unmount(under):
    for place in mounts(under):
        if not came_true(lambda place=place: not run("umount", place, check=False).returncode, 2):
            run("umount", "-l", place)


def remove_tree(place):
    """Removes a directory; what ends meanwhile may take files of its own away itself, as lxcfs does."""

    def absent(_function, _path, problem):
        if not isinstance(problem[1], FileNotFoundError):
            raise problem[1]

    shutil.rmtree(place, onerror=absent)


# --- cgroups: hybrid (one directory per controller) or unified


def hierarchies():
    lines = [line.split(" - ") for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return [Path(left.split()[4]) for left, right in lines if right.split()[0] in ("cgroup", "cgroup2")]


def joining(groups):
    """The beginning of a command line that runs in these groups."""
    words = " ".join(map(str, groups))
    return ["sh", "-c", f'for group in {words}; do echo $$ > "$group/cgroup.procs" || exit 97; done; exec "$@"', "sh"]


def make_cgroup(name, memory_mb=None):
    """The directories of one group in every hierarchy, ready to take processes."""
    made = []
    for top in hierarchies():
        group = top
        for part in name.split("/"):
            _pass_controllers_down(group)
            parent, group = group, group / part
            group.mkdir(exist_ok=True)
            for knob in ("cpuset.cpus", "cpuset.mems"):
                if (group / knob).exists() and not (group / knob).read_text().strip():
                    (group / knob).write_text((parent / knob).read_text())
            for (
                knob,
                share,
            ) in PROCESSOR_SHARE.items():  # in each level: a group has its share among its neighbours only
                if (group / knob).exists():
                    (group / knob).write_text(share)
        for knob in ("memory.limit_in_bytes", "memory.max"):
            if memory_mb and (group / knob).exists():
                (group / knob).write_text(str(memory_mb << 20))
        made.append(group)
    return made


def _pass_controllers_down(group):
    switch = group / "cgroup.subtree_control"
    if not switch.exists():
        return
    for controller in (group / "cgroup.controllers").read_text().split():
        try:
            switch.write_text(f"+{controller}")
        except OSError as error:
            print(f"lab: {group}: {controller}: {error}")


def thaw(name):
    """What is frozen in a group or below it goes on: a paused container cannot die."""
    for group in [Path(directory) for top in hierarchies() for directory, _, _ in os.walk(top / name)]:
        for file, word in ((group / "freezer.state", "THAWED"), (group / "cgroup.freeze", "0")):
            if file.exists():
                file.write_text(word)


def remove_cgroup(name):
    """Kills what is left in a group and in those below it, and removes them everywhere."""
    thaw(name)
    for group in [top / name for top in hierarchies()]:
        refusals = []

        def is_gone(group=group, refusals=refusals):
            below = [Path(directory) for directory, _names, _files in os.walk(group, topdown=False)]
            refusals[:] = [error for error in map(_remove_one, below) if error]
            return not group.exists()

        if not came_true(is_gone, 10):
            raise RuntimeError(f"{group} cannot be removed: {refusals}")


def _remove_one(group):
    """Removes one group if it is idle; why not, otherwise."""
    try:
        for word in (group / "cgroup.procs").read_text().split():
            end(int(word), born(int(word)), timeout=2)
        group.rmdir()
    except FileNotFoundError:
        return None
    except OSError as error:
        return error
    return None
