"""What `opsapp doctor` and GET /api/doctor look at: the machine and the files around the store. Changes nothing.

A room adds to it by an `IFinder` about the installation, or an `IStoreFinder` about what is stored.
"""

from __future__ import annotations

import resource
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from zope.interface import Interface

from opsapp.runtime.store.settings import Settings

from .secrets import seals
from .store import backup

if TYPE_CHECKING:
    from opsapp.tree.root import Root

    from .base import NodeBase

OK, WARN, FAIL = "ok", "warn", "FAIL"
LEAST_FREE = 1 << 30
LEAST_FILES = 4096


class Finding(NamedTuple):
    level: str
    what: str
    said: str


class IFinder(Interface):
    """Named utility: `fn(configuration)` answers one Finding."""


class IStoreFinder(Interface):
    """Named utility: `fn(root, now, configuration)` answers one Finding, in a transaction that only reads."""


def stored(registry: Any, root: Root, now: float, config: Any) -> list[Finding]:
    return [finder(root, now, config) for _, finder in sorted(registry.getUtilitiesFor(IStoreFinder))]


def clock(node: NodeBase) -> Iterator[Finding]:
    """Findings about the clock of a running node."""
    for step in node.clock_steps.recent():
        yield Finding(OK, "clock", f"{step.told(node)}. The service goes by the time it shows now")


def files_limit() -> Finding:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    enough = hard == resource.RLIM_INFINITY or hard >= LEAST_FILES
    return Finding(OK if enough else WARN, "open files", f"at most {hard}" + ("" if enough else ", which is few"))


def data(settings: Settings) -> Iterator[Finding]:
    places = {path.parent for path in backup.files_of(settings)}
    places |= {Path(settings["opsapp.data"])} if settings.get("opsapp.data") else set()
    for place in sorted(places):
        if not place.is_dir():
            yield Finding(FAIL, "data", f"there is no directory {place}: `opsapp init` makes it")
            continue
        free = shutil.disk_usage(place).free
        level = OK if free >= LEAST_FREE else WARN
        yield Finding(level, "data", f"{place} has {free // (1 << 20)} MiB free")
        for path in sorted(place.iterdir()):
            if path.name.endswith((".index", ".lock")):
                continue  # where in the store things are, and who has it: nothing of what they are
            if path.is_file() and stat.S_IMODE(path.stat().st_mode) & 0o077:
                yield Finding(FAIL, "data", f"others may read {path}: chmod 600")
        if (place / "admin-password").exists():
            yield Finding(WARN, "data", f"{place / 'admin-password'} still has the first admin's password: delete it")


def master_key(settings: Settings) -> Iterator[Finding]:
    path = seals.key_file(settings)
    if path is None or not path.exists():
        yield Finding(WARN, "master key", f"{path or 'none'} is not there; the first start of a new store makes it")
        return
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        yield Finding(FAIL, "master key", f"others may read {path}: chmod 600")
    count = len(seals.read(path))
    yield Finding(OK if count else FAIL, "master key", f"{path} has {count or 'no'} key{'s' if count > 1 else ''}")
