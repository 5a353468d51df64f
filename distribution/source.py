"""What is built, and from when it says that it is. Must not: take in a file that the project does not keep."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def copy_of(place):
    """The files that git lists, as they are in the working tree, with one mode and one date for all."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes((ROOT / name).read_bytes())
    settle(place, epoch())
    return place


def epoch():
    """Seconds: $SOURCE_DATE_EPOCH, else the date of the last commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given:
        return int(given)
    told = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True)
    return int(told.stdout)


def settle(place, seconds):
    """Modes and dates that do not tell who built it, or when."""
    for path in sorted(place.rglob("*"), reverse=True):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        os.utime(path, (seconds, seconds), follow_symlinks=False)
