"""`opsapp doctor`: what is wrong with this installation, its configuration and its data. It changes nothing."""

from __future__ import annotations

import argparse
import json
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pyramid.registry import Registry
from zc.lockfile import LockError, LockFile

from opsapp.healing.interfaces import HealingSettings, trace
from opsapp.lib.problems import Problem
from opsapp.runtime import findings
from opsapp.runtime.cluster import certificateplaces, certificates, tls
from opsapp.runtime.findings import FAIL, OK, WARN, Finding, IFinder
from opsapp.runtime.secrets import seals
from opsapp.runtime.secrets.chainkey import chain_key
from opsapp.runtime.store import backup, embedded, inspection, upgrades
from opsapp.runtime.store.settings import Settings, store_settings
from opsapp.tree import evolve
from opsapp.tree.evolve import EvolveStep, StepsApart
from opsapp.tree.root import KEY
from opsapp.web import configfile
from opsapp.wire.version import VERSION

from .config import bare_registry, known_steps
from .places import Mistaken, add_options, plain, reading, settings_of

NAMED = 20  # objects in one line


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
    yield findings.files_limit()
    yield from _looked("configuration", lambda: _configuration(settings))
    yield from _looked("data", lambda: findings.data(settings))
    yield from _looked("master key", lambda: findings.master_key(settings))
    yield from _looked("certificate", lambda: _certificates(settings))
    yield from _looked("store", lambda: _store(settings))
    if url:
        yield _server(url)


def _looked(what: str, look: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    """What cannot even be looked at is a finding too."""
    try:
        yield from look()
    except (Problem, OSError, ValueError, Mistaken) as problem:
        yield Finding(FAIL, what, str(problem))


def _configuration(settings: Settings) -> Iterator[Finding]:
    path = settings.get("opsapp.config")
    with bare_registry() as registry:
        config = configfile.read(path, registry.opsapp_sections)
        yield Finding(OK, "configuration", f"{path} is valid" if path else "none, so the defaults")
        yield from (finder(config) for _, finder in sorted(registry.getUtilitiesFor(IFinder)))


def _certificates(settings: Settings) -> Iterator[Finding]:
    directory, now = certificateplaces.directory_of(settings), certificates.now()
    if directory is None:
        return
    yield from certificates.findings(directory, now)
    where = urlsplit(settings["zodbconn.uri"])
    if where.scheme == "zeos":
        end = tls.end_of_server(where.hostname or "", where.port or tls.PORT, directory)
        yield certificates.ending(f"that of the store at {where.netloc}", end, now)


def _store(settings: Settings) -> Iterator[Finding]:
    files = backup.files_of(settings)
    if embedded.unfinished(files):
        message = "a restore or a pack was interrupted: the next start, or `opsapp init`, finishes it"
        yield Finding(FAIL, "store", message)
        return
    told = embedded.incomplete(files, seals.file_beside(settings)) if files else None
    if told:
        yield Finding(FAIL, "store", told)
        return
    keys = seals.Seal(seals.read(seals.key_file(settings)))
    for path in files:
        if not path.exists():
            yield Finding(FAIL, "store", f"there is no {path}: `opsapp init` makes it")
            return
        if _is_held(path):
            yield Finding(OK, "store", f"{path} is open in another process")
            yield Finding(OK, "store", f"{path.name} is whole for {backup.whole_until(path)} bytes")
        else:
            yield _whole(path)
        yield from _ahead(path)
        yield from (Finding(FAIL, "store", f"{path.name}: damaged: {damage}") for damage in inspection.damaged(path))
        yield from _unopened(path, keys)
    if any(_is_held(path) for path in files):
        yield _version(upgrades.steps_of_file(files[-1], known_steps()), [], None, files)
        return
    with reading(settings) as (registry, top):
        steps = registry.opsapp_evolve_steps
        missing, apart, begun = evolve.pending(top, steps), evolve.apart(top, steps), upgrades.under_way(top)
        sealed_with = top[KEY].system.get(seals.CHECK) if KEY in top else None
        stored = [] if missing or KEY not in top else _stored(settings, registry, top[KEY])
    yield _version(apart, missing, begun, files)
    yield from stored
    if sealed_with is not None and not keys.knows(sealed_with):
        yield Finding(FAIL, "store", "its secrets are sealed with a master key that is not here: put that file back")


def _stored(settings: Settings, registry: Registry, root: Any) -> list[Finding]:
    config = configfile.read(settings.get("opsapp.config"), registry.opsapp_sections)
    return findings.stored(registry, root, registry["opsapp.node"].clock.now(), config)


def _ahead(path: Path) -> Iterator[Finding]:
    changes = embedded.ahead(path)
    if changes is not None:
        since, until = embedded.said(changes.first), embedded.said(changes.last)
        yield Finding(
            WARN,
            "store",
            f"{path.name} has {changes.number} changes from times that have not come yet, since {since} UTC and until "
            f"{until} UTC: the clock of this machine was set back. Nothing is lost, and new changes get later times",
        )


def _version(
    apart: StepsApart, missing: list[EvolveStep], begun: upgrades.UpgradeBegun | None, files: list[Path]
) -> Finding:
    """Whether this version may use the store, and what a start would do with it."""
    refusal = upgrades.refused(apart, files)
    if refusal:
        return Finding(FAIL, "store", refusal)
    if begun is not None:
        kept = f"; as it was before: {begun.copy}" if begun.copy else ""
        return Finding(
            WARN, "store", f"an upgrade to {begun.version} has begun and not ended: the next start ends it{kept}"
        )
    if missing:
        keeps = "which copies it first" if files else "which cannot copy it: make a backup first"
        return Finding(
            WARN, "store", f"of an older version: {len(missing)} steps come with the next start or `init`, {keeps}"
        )
    if apart.foreign:
        named = ", ".join(f"{step.name} ({step.version})" for step in apart.foreign)
        return Finding(OK, "store", f"was used by a newer version: {named}. This version may go on with it")
    return Finding(OK, "store", "is of this version")


def _trace(settings: Settings) -> Iterator[Finding]:
    if any(not path.exists() or _is_held(path) for path in backup.files_of(settings)):
        yield Finding(FAIL, "trace", "the store is not there or in use: stop the service, or take a copy of it")
        return
    with bare_registry() as registry:
        config = configfile.read(settings.get("opsapp.config"), registry.opsapp_sections)
    with reading(settings) as (_, top):
        broken = trace(top[KEY], chain_key(top[KEY]), config[HealingSettings]) if KEY in top else []
    for mistake in broken:
        yield Finding(
            FAIL, "trace", f"ledger entry {mistake.entry_id}: {mistake.what}" if mistake.entry_id else mistake.what
        )
    if not broken:
        yield Finding(OK, "trace", "the ledger and the cases are as the pipeline writes them")


def _unopened(path: Path, keys: seals.Seal) -> Iterator[Finding]:
    sealed = inspection.unopened(path, keys)
    if sealed:
        more = f" and {len(sealed) - NAMED} more" if len(sealed) > NAMED else ""
        message = f"{path.name}: sealed with a master key that is not here: {', '.join(sealed[:NAMED])}{more}"
        yield Finding(FAIL, "store", message)


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
    return Finding(
        WARN, "store", f"{path} ends in {size - end} bytes of an unfinished change; the next start removes them"
    )


def _server(url: str) -> Finding:
    try:
        with urllib.request.urlopen(url.rstrip("/") + "/api/status/public", timeout=10) as answer:
            ready = json.load(answer)
    except urllib.error.HTTPError as refusal:
        return Finding(FAIL, "server", f"{url} answers {refusal.code}")
    except (urllib.error.URLError, OSError, ValueError) as problem:
        return Finding(FAIL, "server", f"{url} cannot be asked: {plain(problem)}")
    level = OK if ready.get("version") == VERSION else WARN
    return Finding(level, "server", f"{url} answers: {ready.get('status')}, version {ready.get('version')}")
