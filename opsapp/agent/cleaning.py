"""Cleaning up: old temporary files, caches, rotated logs. Restraint first: only files, only old, only in places for it.

A path is cleaned only if one of its own directories is named like a temporary place; links are never followed, other
file systems never entered. Must not: delete a directory that is not empty, or anything young.
"""
from __future__ import annotations

import os
import stat
import time
from typing import Callable, Dict, Iterator, List, NamedTuple, Tuple

from .native import Context, Ran, done, failed

TEMPORARY = {"tmp", "temp", ".tmp", "cache", ".cache", "var-tmp", "spool-tmp"}
TEMP_AGE_H = 24.0
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


class Place(NamedTuple):
    """A directory in which files that are old enough and called so may go."""

    path: str
    hours: float
    wanted: Callable[[str], bool]


PLACES: Dict[str, Tuple[Place, ...]] = {
    "temp": (Place("/tmp", TEMP_AGE_H, _any), Place("/var/tmp", TEMP_AGE_H, _any)),
    "archives": (Place("/var/cache/apt/archives", 0.0, _package),),
    "logs": (Place("/var/log", LOG_AGE_H, _rotated),),
    "cores": (Place("/var/lib/systemd/coredump", CORE_AGE_H, _any),),
    "crashes": (Place("/var/crash", CORE_AGE_H, _any),),
}
OF_A_DISK = ("temp", "archives", "logs", "cores")


def clean_temp(context: Context) -> Ran:
    path = os.path.realpath(context.params["path"])
    if not TEMPORARY & set(path.split("/")):
        return failed(f"not_allowed: {path} is not a place for temporary files")
    if not os.path.isdir(path):
        return failed(f"there is no directory {path}")
    return _told([_sweep(path, context.params["max_age_hours"], _any)])


def clean_disk(context: Context) -> Ran:
    """What can go on one mount: temporary files, package caches, rotated logs, old core dumps."""
    mount = os.path.realpath(context.params["mount"])
    if not os.path.ismount(mount):
        return failed(f"{mount} is no mount point")
    device = os.stat(mount).st_dev
    places = [place for part in OF_A_DISK for place in PLACES[part]]
    if mount != "/":
        places += [Place(os.path.join(mount, name), TEMP_AGE_H, _any) for name in sorted(TEMPORARY)]
    here = [place for place in places if os.path.isdir(place.path) and os.stat(place.path).st_dev == device]
    return _told([_sweep(*place) for place in here])


def clean_storage(context: Context) -> Ran:
    """Named parts of the host's storage; all the safe ones when none is named."""
    known = {"temp": _swept("temp"), "logs": _swept("logs"), "cores": _swept("cores", "crashes"), "packages": _packages,
             "journal": _journal, "images": _images}
    wanted = context.params["targets"] or ["temp", "logs", "cores", "packages", "journal"]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        return failed(f"bad_params: unknown targets {', '.join(unknown)}; known are {', '.join(known)}")
    output, worst = b"", "done"
    for name in wanted:
        ran = known[name](context)
        output += f"{name}: {ran.reason or ran.status}\n".encode() + ran.output
        worst = ran.status if ran.status != "done" else worst
    return Ran(worst, 0 if worst == "done" else None, output, None if worst == "done" else "not all parts were cleaned")


def _swept(*parts: str) -> Callable[[Context], Ran]:
    return lambda _context: _told([_sweep(*place) for part in parts for place in PLACES[part]])


def _packages(context: Context) -> Ran:
    for argv in (["apt-get", "clean"], ["dnf", "clean", "all"], ["zypper", "--non-interactive", "clean", "--all"],
                 ["apk", "cache", "clean"]):
        if context.capabilities.usable(argv[0]):
            return context.run(argv)
    return done("no package manager works here: nothing to clean")


def _journal(context: Context) -> Ran:
    if not context.capabilities.usable("journalctl"):
        return done("no journal here: nothing to clean")
    return context.run(["journalctl", "--vacuum-size=200M"])


def _images(context: Context) -> Ran:
    for runtime in ("podman", "docker"):
        if context.capabilities.usable(runtime):
            return context.run([runtime, "image", "prune", "--force"])
    return done("no container runtime works here: nothing to clean")


def _sweep(path: str, hours: float, wanted: Callable[[str], bool]) -> Tuple[str, int, int]:
    """Delete old files below a directory; (path, files, bytes)."""
    before = time.time() - hours * 3600
    files = size = 0
    for name, handle, about in _old_files(path, before):
        if wanted(name):
            try:
                os.unlink(name, dir_fd=handle)
            except OSError:
                continue    # in the meantime gone, or immutable: the count tells what was really freed
            files += 1
            size += about.st_blocks * 512
    return path, files, size


def _old_files(path: str, before: float) -> Iterator[Tuple[str, int, os.stat_result]]:
    """Regular files with one name that nobody has read or written since; by directory handles, never through links."""
    if not os.path.isdir(path):
        return
    device = os.stat(path).st_dev
    for _root, directories, names, handle in os.fwalk(path, follow_symlinks=False, onerror=None):
        directories[:] = [name for name in directories
                          if not name.startswith(_LEAVE) and _device(name, handle) == device]
        for name in names:
            try:
                about = os.stat(name, dir_fd=handle, follow_symlinks=False)
            except OSError:
                continue    # gone meanwhile, or in a directory that may be listed and no more
            if stat.S_ISREG(about.st_mode) and max(about.st_atime, about.st_mtime) < before and about.st_nlink == 1:
                yield name, handle, about


def _device(name: str, handle: int) -> int:
    try:
        return os.stat(name, dir_fd=handle, follow_symlinks=False).st_dev
    except OSError:
        return -1


def _told(swept: List[Tuple[str, int, int]]) -> Ran:
    lines = [f"{path}: {files} files, {size} bytes freed" for path, files, size in swept if os.path.isdir(path)]
    return done("\n".join(lines) or "nothing to clean")
