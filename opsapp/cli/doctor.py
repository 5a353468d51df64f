"""`opsapp doctor`: what is wrong with this installation, its configuration and its data. It changes nothing."""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import stat
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import transaction
from pyramid.registry import Registry
from zc.lockfile import LockError, LockFile

from opsapp import app
from opsapp.agents.config import ExecutorSettings
from opsapp.agents.engine import kept_apart
from opsapp.healing.interfaces import HealingSettings, trace
from opsapp.lib.problems import Problem
from opsapp.runtime import backup, embedded, inspecting, sealing
from opsapp.runtime.chainkey import chain_key
from opsapp.runtime.settings import Settings, store_settings
from opsapp.tree import evolve
from opsapp.tree.root import KEY
from opsapp.web import configfile
from opsapp.wire.version import VERSION

from .config import _bare_system
from .places import Mistaken, add_options, plain, settings_of

OK, WARN, FAIL = "ok", "warn", "FAIL"
LEAST_FREE = 1 << 30
LEAST_FILES = 4096
NAMED = 20  # objects in one line


class Finding(NamedTuple):
    level: str
    what: str
    said: str


def add_commands(commands: Any) -> None:
    command = commands.add_parser("doctor", help="look for what is wrong with the installation, configuration and data")
    command.add_argument("--url", help="also ask the running server at this address")
    command.add_argument(
        "--trace", action="store_true", help="also look for ledger entries and cases that no sound pipeline has written"
    )
    add_options(command)
    command.set_defaults(run=examine)


def examine(asked: argparse.Namespace) -> int:
    """1 when something is wrong."""
    settings = settings_of(asked)
    settings |= store_settings(settings)
    findings = [*_findings(settings, asked.url), *(_looked("trace", lambda: _trace(settings)) if asked.trace else ())]
    for finding in findings:
        print(f"{finding.level:4}  {finding.what}: {finding.said}")
    return int(any(finding.level == FAIL for finding in findings))


def _findings(settings: Settings, url: str | None) -> Iterator[Finding]:
    yield Finding(OK, "opsapp", f"{VERSION} on Python {sys.version.split()[0]}")
    yield _files_limit()
    yield from _looked("configuration", lambda: _configuration(settings))
    yield from _looked("data", lambda: _data(settings))
    yield from _looked("master key", lambda: _master_key(settings))
    yield from _looked("store", lambda: _store(settings))
    if url:
        yield _server(url)


def _looked(what: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """What cannot even be looked at is a finding too."""
    try:
        yield from look()
    except (Problem, OSError, ValueError, Mistaken) as problem:
        yield Finding(FAIL, what, str(problem))


def _files_limit() -> Finding:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    enough = hard == resource.RLIM_INFINITY or hard >= LEAST_FILES
    return Finding(OK if enough else WARN, "open files", f"at most {hard}" + ("" if enough else ", which is few"))


def _configuration(settings: Settings) -> Iterator[Finding]:
    path = settings.get("opsapp.config")
    config = configfile.read(path, _bare_system().registry.opsapp_sections)
    yield Finding(OK, "configuration", f"{path} is valid" if path else "none, so the defaults")
    apart, said = kept_apart(config[ExecutorSettings])
    yield Finding(OK if apart else WARN, "executor", said)


def _data(settings: Settings) -> Iterator[Finding]:
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


def _master_key(settings: Settings) -> Iterator[Finding]:
    path = sealing.key_file(settings)
    if path is None or not path.exists():
        yield Finding(WARN, "master key", f"{path or 'none'} is not there; the first start of a new store makes it")
        return
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        yield Finding(FAIL, "master key", f"others may read {path}: chmod 600")
    count = len(sealing.read(path))
    yield Finding(OK if count else FAIL, "master key", f"{path} has {count or 'no'} key{'s' if count > 1 else ''}")


def _store(settings: Settings) -> Iterator[Finding]:
    files = backup.files_of(settings)
    if embedded.unfinished(files):
        said = "a restore or a pack was interrupted: the next start, or `opsapp init`, finishes it"
        yield Finding(FAIL, "store", said)
        return
    told = embedded.incomplete(files, sealing.file_beside(settings)) if files else None
    if told:
        yield Finding(FAIL, "store", told)
        return
    keys = sealing.Seal(sealing.read(sealing.key_file(settings)))
    for path in files:
        if not path.exists():
            yield Finding(FAIL, "store", f"there is no {path}: `opsapp init` makes it")
            return
        if _is_held(path):
            yield Finding(OK, "store", f"{path} is open in another process")
            yield Finding(OK, "store", f"{path.name} is whole for {backup.whole_until(path)} bytes")
        else:
            yield _whole(path)
        yield from (Finding(FAIL, "store", f"{path.name}: damaged: {each}") for each in inspecting.damaged(path))
        yield from _unopened(path, keys)
    if any(_is_held(path) for path in files):
        return
    with _opened(settings) as (registry, top):
        missing = evolve.pending(top, registry.opsapp_evolve_steps)
        too_new = evolve.unknown(top, registry.opsapp_evolve_steps)
        sealed_with = top[KEY].system.get(sealing.CHECK) if KEY in top else None
    if too_new:
        yield Finding(FAIL, "store", evolve.newer(too_new))
    elif missing:
        yield Finding(WARN, "store", f"of an older version: {len(missing)} steps come with the next start or `init`")
    else:
        yield Finding(OK, "store", "is of this version")
    if sealed_with is not None and not keys.knows(sealed_with):
        yield Finding(FAIL, "store", "its secrets are sealed with a master key that is not here: put that file back")


@contextmanager
def _opened(settings: Settings) -> Iterator[tuple[Registry, Any]]:
    """The registry, and what is at the top of the store. It is only read."""
    registry = app.configure(settings).registry
    registry[sealing.REGISTRY_KEY] = sealing.Seal(sealing.read(sealing.key_file(settings)))
    node = registry["opsapp.node"]
    try:
        manager = transaction.TransactionManager(explicit=True)
        connection = node.store.db.open(transaction_manager=manager)
        manager.begin()
        yield registry, connection.root()
        manager.abort()
        connection.close()
    finally:
        node.stop()


def _trace(settings: Settings) -> Iterator[Finding]:
    """The ledger and the cases against what the pipeline can have written."""
    if any(not path.exists() or _is_held(path) for path in backup.files_of(settings)):
        yield Finding(FAIL, "trace", "the store is not there or in use: stop the service, or take a copy of it")
        return
    config = configfile.read(settings.get("opsapp.config"), _bare_system().registry.opsapp_sections)
    with _opened(settings) as (_, top):
        broken = trace(top[KEY], chain_key(top[KEY]), config[HealingSettings]) if KEY in top else []
    for each in broken:
        yield Finding(FAIL, "trace", f"ledger entry {each.entry_id}: {each.what}" if each.entry_id else each.what)
    if not broken:
        yield Finding(OK, "trace", "the ledger and the cases are as the pipeline writes them")


def _unopened(path: Path, keys: sealing.Seal) -> Iterator[Finding]:
    found = inspecting.unopened(path, keys)
    if found:
        more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        said = f"{path.name}: sealed with a master key that is not here: {', '.join(found[:NAMED])}{more}"
        yield Finding(FAIL, "store", said)


def _is_held(path: Path) -> bool:
    lock = Path(f"{path}.lock")
    if not lock.exists():
        return False
    try:
        LockFile(str(lock)).close()
    except LockError:
        return True
    return False


def _whole(path: Path) -> Finding:
    end, size = backup.whole_until(path), path.stat().st_size
    if end == size:
        return Finding(OK, "store", f"{path} is whole, {size} bytes")
    return Finding(WARN, "store", f"{path} ends in {size - end} bytes of a change that was never answered; they go")


def _server(url: str) -> Finding:
    try:
        with urllib.request.urlopen(url.rstrip("/") + "/api/status/public", timeout=10) as answer:
            said = json.load(answer)
    except urllib.error.HTTPError as refusal:
        return Finding(FAIL, "server", f"{url} answers {refusal.code}")
    except (urllib.error.URLError, OSError, ValueError) as problem:
        return Finding(FAIL, "server", f"{url} cannot be asked: {plain(problem)}")
    level = OK if said.get("version") == VERSION else WARN
    return Finding(level, "server", f"{url} answers: {said.get('status')}, version {said.get('version')}")
