"""How old the newest backup of each set is, how one is made, how it is proved to be readable.

The sets are the operator's (local.py). An age that cannot be found out is unknown, never fresh.
Must not: delete anything.
"""

from __future__ import annotations

import glob
import json
import os
import re
import time
from datetime import datetime
from typing import IO, List, Optional

from .local import Backup
from .native import Context, Ran, done, failed, not_configured, step
from .services import ask

ASK_S = 60.0


def newest_at(backup: Backup) -> Optional[float]:
    """The time of the newest backup, None when nobody can tell. No backup at all counts as made in 1970."""
    if backup.files:
        path = _newest_file(backup.files)
        return 0.0 if path is None else os.path.getmtime(path)
    argv = list(backup.newest) or [*restic(backup), "snapshots", "--json", "--latest", "1"]
    code, output = ask(argv, ASK_S)
    if code != 0:
        return None
    return _restic_time(output) if backup.restic and not backup.newest else _epoch(output)


def _newest_file(pattern: str) -> Optional[str]:
    return max(filter(os.path.isfile, glob.glob(pattern)), key=os.path.getmtime, default=None)


def age_hours(backup: Backup) -> Optional[float]:
    at = newest_at(backup)
    return None if at is None else round(max(0.0, time.time() - at) / 3600, 3)


def restic(backup: Backup) -> List[str]:
    return ["restic", "--repo", backup.restic, "--password-file", backup.password_file]


@step
def trigger_backup(context: Context) -> Ran:
    backup = context.config.backups.get(context.params.source)
    if backup is None:
        return not_configured("backup", context.params.source, context.config.backups)
    if backup.run:
        return context.run(list(backup.run))
    if backup.unit:
        return context.run(["systemctl", "start", "--", backup.unit])
    if backup.restic:
        return context.run([*restic(backup), "backup", "--", *backup.paths])
    return failed(f"no_capable_handler: nothing says how the backup {backup.name!r} is made (run, unit or restic)")


@step
def verify_backup(context: Context) -> Ran:
    backup = context.config.backups.get(context.params.backup_set)
    if backup is None:
        return not_configured("backup", context.params.backup_set, context.config.backups)
    if backup.verify:
        return context.run(list(backup.verify))
    if backup.restic:
        return context.run([*restic(backup), "check"])
    if not backup.files:
        return failed(f"no_capable_handler: nothing says how the backup {backup.name!r} is verified")
    path = _newest_file(backup.files)
    return failed(f"there is no backup at {backup.files}") if path is None else _read_through(context, path)


def _read_through(context: Context, path: str) -> Ran:
    """Every byte of an archive, as its own format checks it."""
    if os.stat(path).st_size == 0:
        return failed(f"{path} is empty")
    if re.search(r"\.(tar|tgz|tbz2|txz|tar\.\w+)$", path):
        return _read_tar(context, path)
    for ending, program in ((".gz", "gzip"), (".bz2", "bzip2"), (".xz", "xz"), (".zst", "zstd")):
        if path.endswith(ending):
            return context.run([program, "--test", "--", path])
    with open(path, "rb") as file:
        return _late(context, file) or done(f"{path} was read whole")


def _late(context: Context, content: IO[bytes]) -> Optional[Ran]:
    """None once all of it was read in time."""
    while content.read(1024 * 1024):
        if context.cancel or time.monotonic() > context.deadline:
            return Ran("timeout", None, b"", "ran into its time-out")
    return None


def _read_tar(context: Context, path: str) -> Ran:
    import tarfile  # with bz2 and lzma, memory that an agent at rest does not need

    count = 0
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                count += 1
                content = archive.extractfile(member) if member.isreg() else None
                late = _late(context, content) if content else None
                if late:
                    return late
    except (tarfile.TarError, OSError, EOFError, ValueError) as error:
        return failed(f"{path} cannot be read: {error}")
    return done(f"{path}: {count} entries were read whole") if count else failed(f"{path} holds nothing")


def _epoch(output: str) -> Optional[float]:
    match = re.search(r"\d+(\.\d+)?", output)
    return float(match.group(0)) if match else None


def _restic_time(output: str) -> Optional[float]:
    try:
        rows = json.loads(output)
        return max((_moment(row["time"]) for row in rows), default=0.0)
    except (ValueError, KeyError, TypeError):
        return None


def _moment(text: str) -> float:
    """restic writes nanoseconds, which this Python may not read."""
    return datetime.fromisoformat(re.sub(r"\.\d+", "", text).replace("Z", "+00:00")).timestamp()
