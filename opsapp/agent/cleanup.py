"""Cleaning up: old temporary files, caches, rotated logs.

A path is cleaned only if one of its own directories is named like a temporary place; links are never followed, other
file systems never entered. Where a mount is named, only what lies on it is cleaned. Must not: delete a directory that
is not empty, anything young, or what a process holds open.
"""

from __future__ import annotations

import os
import stat
import time
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

from .fileage import Inode, held_open, newest
from .mounts import NOTHING, has_journal, lies_on, no_mount, nothing
from .native import Context, Ran, done, failed, step

TEMPORARY = {"tmp", "temp", ".tmp", "cache", ".cache", "var-tmp", "spool-tmp"}
NO_TEMPORARY = {"/var/cache"}  # named like one, and full of what programs want to find again
TEMP_AGE_H = 24.0
VAR_TMP_AGE_H = 30 * 24.0  # what is meant to survive a reboot
LOG_AGE_H = 7 * 24.0
CORE_AGE_H = 24.0
_ROTATED = (".gz", ".xz", ".bz2", ".zst", ".old", ".1", ".2", ".3", ".4", ".5", ".6", ".7", ".8", ".9")
_LEAVE = ("systemd-private-", ".X11-unix", ".ICE-unix", ".font-unix", ".XIM-unix", ".X", "ssh-")


def _any(_name: str) -> bool:
    return True


def _package(name: str) -> bool:
    return name.endswith((".deb", ".rpm"))


def _rotated(name: str) -> bool:
    return name.endswith(_ROTATED)


class CleanableDirectory(NamedTuple):
    path: str
    hours: float
    wanted: Callable[[str], bool]


PLACES: Dict[str, Tuple[CleanableDirectory, ...]] = {
    "temp": (CleanableDirectory("/tmp", TEMP_AGE_H, _any), CleanableDirectory("/var/tmp", VAR_TMP_AGE_H, _any)),
    "archives": (CleanableDirectory("/var/cache/apt/archives", 0.0, _package),),
    "logs": (CleanableDirectory("/var/log", LOG_AGE_H, _rotated),),
    "cores": (CleanableDirectory("/var/lib/systemd/coredump", CORE_AGE_H, _any),),
    "crashes": (CleanableDirectory("/var/crash", CORE_AGE_H, _any),),
}
OF_A_DISK = ("temp", "archives", "logs", "cores")


@step
def clean_temp(context: Context) -> Ran:
    """One directory, or the temporary places of one mount; /tmp when neither is named."""
    given, mount, hours = context.params.path, context.params.mount, context.params.max_age_hours
    wrong = no_mount(mount)
    if wrong:
        return failed(wrong)
    if given is None and mount is not None:
        return _cleaned([place._replace(hours=_hours(place.path, hours)) for place in _temporary(mount)], mount)
    path = os.path.realpath(given or "/tmp")
    if not TEMPORARY & set(path.split("/")):
        return failed(f"not_allowed: {path} is not a place for temporary files")
    if not os.path.isdir(path):
        return failed(f"there is no directory {path}")
    return _cleaned(_here([CleanableDirectory(path, _hours(path, hours), _any)], mount), mount)


@step
def clean_disk(context: Context) -> Ran:
    mount = os.path.realpath(context.params.mount or "/")
    wrong = no_mount(mount)
    if wrong:
        return failed(wrong)
    places = [place for part in OF_A_DISK for place in PLACES[part]]
    return _cleaned([*_here(places, mount), *_of_its_own(mount)], mount)


@step
def clean_storage(context: Context) -> Ran:
    """Clean the parts that are named, all the safe parts when none is."""
    known = {
        "temp": _swept("temp"),
        "logs": _swept("logs"),
        "cores": _swept("cores", "crashes"),
        "packages": _packages,
        "journal": _journal,
        "images": _images,
    }
    wanted = context.params.targets or ["temp", "logs", "cores", "packages", "journal"]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        return failed(f"bad_params: unknown targets {', '.join(unknown)}; known are {', '.join(known)}")
    mount = context.params.mount
    wrong = no_mount(mount)
    if wrong:
        return failed(wrong)
    output, worst, idle = b"", "done", 0
    for name in wanted:
        ran = known[name](context)
        output += f"{name}: {ran.reason or ran.status}\n".encode() + ran.output
        if mount is not None and (ran.reason or "").startswith(NOTHING):
            idle += 1
        else:
            worst = ran.status if ran.status != "done" else worst
    if idle == len(wanted):
        return nothing(mount, "none of these parts lies there", output)
    return Ran(worst, 0 if worst == "done" else None, output, None if worst == "done" else "not all parts were cleaned")


# ---- mounts
def _here(places: List[CleanableDirectory], mount: Optional[str]) -> List[CleanableDirectory]:
    return [place for place in places if os.path.isdir(place.path) and lies_on(place.path, mount)]


def _of_its_own(mount: str) -> List[CleanableDirectory]:
    known = {place.path for place in PLACES["temp"]} | NO_TEMPORARY
    paths = [os.path.join(mount, name) for name in sorted(TEMPORARY)] if mount != "/" else []
    return _here(
        [CleanableDirectory(path, _hours(path, TEMP_AGE_H), _any) for path in paths if path not in known], mount
    )


def _temporary(mount: str) -> List[CleanableDirectory]:
    return [*_here(list(PLACES["temp"]), mount), *_of_its_own(mount)]


def _hours(path: str, asked: float) -> float:
    """The age that is asked for, but never less than the place keeps its files."""
    longer = [
        place.hours
        for place in PLACES["temp"]
        if place.hours > TEMP_AGE_H and os.path.commonpath((path, place.path)) == place.path
    ]
    return max([asked, *longer])


# ---- parts
def _swept(*parts: str) -> Callable[[Context], Ran]:
    def sweep(context: Context) -> Ran:
        mount = context.params.mount
        own = _of_its_own(mount) if mount is not None and "temp" in parts else []
        return _cleaned([*_here([place for part in parts for place in PLACES[part]], mount), *own], mount)

    return sweep


def _packages(context: Context) -> Ran:
    mount = context.params.mount
    if not lies_on("/var/cache", mount):
        return nothing(mount, "no package cache lies there")
    for argv in (
        ["apt-get", "clean"],
        ["dnf", "clean", "all"],
        ["zypper", "--non-interactive", "clean", "--all"],
        ["apk", "cache", "clean"],
    ):
        if context.capabilities.usable(argv[0]):
            return context.run(argv)
    return done("no package manager works here: nothing to clean")


def _journal(context: Context) -> Ran:
    mount = context.params.mount
    if not has_journal(mount):
        return nothing(mount, "no journal lies there")
    if not context.capabilities.usable("journalctl"):
        return done("no journal here: nothing to clean")
    return context.run(["journalctl", "--vacuum-size=200M"])


def _images(context: Context) -> Ran:
    mount = context.params.mount
    for runtime, store in (("podman", "{{.Store.GraphRoot}}"), ("docker", "{{.DockerRootDir}}")):
        if context.capabilities.usable(runtime):
            if mount is not None:
                asked = context.run([runtime, "info", "--format", store])
                if not lies_on(asked.output.decode("utf-8", "replace").strip(), mount):
                    return nothing(mount, "no images lie there")
            return context.run([runtime, "image", "prune", "--force"])
    return done("no container runtime works here: nothing to clean")


# ---- files
def _cleaned(places: List[CleanableDirectory], mount: Optional[str] = None) -> Ran:
    if not places and mount is not None:
        return nothing(mount, "there is no place that may be cleaned")
    held = held_open()
    lines = ["{}: {} files, {} bytes freed".format(*_sweep(*place, held=held)) for place in places]
    return done("\n".join(lines) or "nothing to clean")


def _sweep(path: str, hours: float, wanted: Callable[[str], bool], held: Set[Inode]) -> Tuple[str, int, int]:
    """(path, files, bytes) deleted."""
    before = time.time() - hours * 3600
    files = size = 0
    for name, handle, about in _old_files(path, before):
        if wanted(name) and (about.st_dev, about.st_ino) not in held:
            try:
                os.unlink(name, dir_fd=handle)
            except OSError:
                continue  # in the meantime gone, or immutable: the count tells what was really freed
            files += 1
            size += about.st_blocks * 512
    return path, files, size


def _old_files(path: str, before: float) -> Iterator[Tuple[str, int, os.stat_result]]:
    """Regular files with one name that nobody has read, written or made since; by directory handles, never through
    links."""
    device = os.stat(path).st_dev
    for _root, directories, names, handle in os.fwalk(path, follow_symlinks=False, onerror=None):
        directories[:] = [
            name for name in directories if not name.startswith(_LEAVE) and _device(name, handle) == device
        ]
        for name in names:
            try:
                about = os.stat(name, dir_fd=handle, follow_symlinks=False)
            except OSError:
                continue  # gone meanwhile, or in a directory that may be listed and no more
            if stat.S_ISREG(about.st_mode) and about.st_nlink == 1 and newest(about, name, handle) < before:
                yield name, handle, about


def _device(name: str, handle: int) -> int:
    try:
        return os.stat(name, dir_fd=handle, follow_symlinks=False).st_dev
    except OSError:
        return -1
