"""Why a file system is full, or takes nothing: read-only, its inodes, deleted files that somebody holds, the largest.

Must not: change anything; leave the file system that it looks at.
"""

from __future__ import annotations

import os
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

from opsapp.wire.causes import HostCause, cause_of

from .disks import is_read_only_at
from .holders import deleted_on

HELD_SHARE = 0.1  # of what is used: deleted files that hold so much are the cause
FULL = 90.0  # percent of a file system or of its inodes
NAMED = 5  # largest directories and files as evidence
_UNITS = ("B", "KB", "MB", "GB", "TB")
Going = Callable[[], bool]


class Usage(NamedTuple):
    percent: float
    used: int
    inodes_percent: float

    @property
    def lacks_inodes(self) -> bool:
        return self.inodes_percent >= FULL and self.inodes_percent > self.percent


class Walked(NamedTuple):
    """What a walk found by directory: bytes and number of files right in it; the largest files; whether all of it was
    seen."""

    sizes: Dict[str, int]
    counts: Dict[str, int]
    files: List[Tuple[int, str]]
    whole: bool


def look(mount: str, going: Going) -> Optional[HostCause]:
    if is_read_only_at(mount):
        return cause_of("read_only", mount=mount)
    usage, device = usage_of(mount), os.stat(mount).st_dev
    if usage.lacks_inodes:  # a deleted file that somebody holds is only one of them
        return _by_number(mount, usage, walk(mount, device, going))
    held = deleted_on(mount, going)
    if held and held[0].size >= HELD_SHARE * usage.used:
        first = held[0]
        lines = [f"{size_of(files.size)} {files.holder.name} (pid {files.holder.pid}): {', '.join(files.paths[:3])}"
                 for files in held[:NAMED]]  # fmt: skip
        return cause_of("disk_held", *lines, mount=mount, percent=round(usage.percent), size=size_of(first.size),
                     process=first.holder.name, pid=first.holder.pid)  # fmt: skip
    return _by_size(mount, usage, walk(mount, device, going))


def of_no_space(mount: str, going: Going) -> Optional[HostCause]:
    """Why the mount has no space left, None where it has some now. A quota or a limit of the kernel says the same."""
    usage = usage_of(mount)
    return look(mount, going) if usage.lacks_inodes or usage.percent >= FULL else None


def mount_of(path: str) -> str:
    """The mount on which a path lies, or would lie."""
    path = os.path.abspath(path)
    while path != "/" and not os.path.ismount(path):
        path = os.path.dirname(path)
    return path


def usage_of(mount: str) -> Usage:
    """Counted as `df` does: what only root may use is not free."""
    about = os.statvfs(mount)
    used = about.f_blocks - about.f_bfree
    inodes = about.f_files - about.f_ffree
    return Usage(
        100.0 * used / max(1, used + about.f_bavail),
        used * about.f_frsize,
        100.0 * inodes / about.f_files if about.f_files else 0.0,
    )


def walk(mount: str, device: int, going: Going) -> Walked:
    """Walk the mount's directories as long as there is time."""
    walked, waiting = Walked({}, {}, [], True), [mount]
    while waiting:
        if not going():
            return walked._replace(whole=False)
        directory = waiting.pop()
        try:
            waiting += _take_in(walked, directory, device)
        except OSError:  # gone meanwhile, or not ours to read
            continue
    return walked


def _take_in(walked: Walked, directory: str, device: int) -> List[str]:
    """Count the files of one directory and return the directories below it, which are still to come."""
    below, size, count = [], 0, 0
    with os.scandir(directory) as entries:
        for entry in entries:
            about = entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                if about.st_dev == device:  # else another file system is mounted there
                    below.append(entry.path)
                    count += 1
                continue
            count += 1  # in an overlay, the device of a file is that of the file system it lies on
            taken = about.st_blocks * 512
            size += taken
            if len(walked.files) < NAMED or taken > walked.files[-1][0]:
                walked.files.append((taken, entry.path))
                walked.files.sort(reverse=True)
                del walked.files[NAMED:]
    walked.sizes[directory], walked.counts[directory] = size, count
    return below


def _by_size(mount: str, usage: Usage, walked: Walked) -> Optional[HostCause]:
    largest = _most(walked.sizes)
    if not largest or not largest[0][1]:
        return None
    lines = [f"{size_of(size)} {path}/" for path, size in largest]
    lines += [f"{size_of(size)} {path}" for size, path in walked.files]
    shown = f"{largest[0][0]} ({size_of(largest[0][1])}{_part(walked)})"
    return cause_of("disk_full", *lines, mount=mount, percent=round(usage.percent), largest=shown)


def _by_number(mount: str, usage: Usage, walked: Walked) -> Optional[HostCause]:
    most = _most(walked.counts)
    if not most:
        return None
    lines = [f"{count} files in {path}/" for path, count in most]
    shown = f"{most[0][0]} ({most[0][1]}{_part(walked)})"
    return cause_of("inodes_full", *lines, mount=mount, percent=round(usage.inodes_percent), largest=shown)


def _most(figures: Dict[str, int]) -> List[Tuple[str, int]]:
    return sorted(figures.items(), key=lambda figure: -figure[1])[:NAMED]


def _part(walked: Walked) -> str:
    return "" if walked.whole else ", of the part that could be seen in time"


def size_of(size: float) -> str:
    for unit in _UNITS[:-1]:
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} {_UNITS[-1]}"
