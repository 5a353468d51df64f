"""`opsapp export --archive DIR` and `verify-archive DIR`: what is over, as JSON lines, before it is forgotten. The
manifest says how many rows each file has, its SHA-256, and what is needed to check the ledger. It is written beside
its place and put there whole. Must not: hold more than a page."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from opsapp import app
from opsapp.audit.engine import SHELL, note
from opsapp.healing import interfaces as healing
from opsapp.lib.jsontypes import JsonObject
from opsapp.monitoring.engine import archived_incidents
from opsapp.runtime.secrets.chainkey import chain_key
from opsapp.runtime.store.archive import ArchivePage
from opsapp.tree.root import KEY
from opsapp.web import configfile
from opsapp.wire.dataclass import frozen
from opsapp.wire.kinds import AnyValues
from opsapp.wire.records import made
from opsapp.wire.records import plain as as_json
from opsapp.wire.version import VERSION

from . import remote
from .places import Mistaken, add_options, configured, existing, plain, reading, settings_of

LEDGER, MANIFEST = "ledger.jsonl", "manifest.json"
ARCHIVED = "/api/healing/ledger/archived"
BLOCK = 1 << 20


class ArchivePart(NamedTuple):
    name: str
    path: str
    page: Callable[[Any, str], ArchivePage]


PARTS = (
    ArchivePart(LEDGER, "/api/healing/ledger/archive", healing.ledger_page),
    ArchivePart("cases.jsonl", "/api/healing/cases/archive", healing.case_page),
    ArchivePart("incidents.jsonl", "/api/monitoring/incidents/archive", archived_incidents),
)
Ask = Callable[[ArchivePart, str], ArchivePage]
Tell = Callable[[int, str], Any]  # how many links of the ledger are archived, and the head of these


@frozen
class ArchivedFile:
    rows: int
    unreadable: int
    sha256: str


@frozen
class ArchiveManifest:
    """`ledger`: what is needed to check its entries, as `healing.check` takes it."""

    opsapp: str
    ledger: AnyValues
    files: dict[str, ArchivedFile]


def add_commands(commands: Any) -> None:
    verify = commands.add_parser(
        "verify-archive", help="check what `export --archive` wrote, with the key of the store that it is from"
    )
    verify.add_argument("directory", metavar="DIR")
    add_options(verify)
    verify.set_defaults(run=verify_archive)


def export_archive(asked: argparse.Namespace) -> None:
    place = Path(asked.archive)
    if place.exists():
        raise Mistaken(f"{place} is there already: name another place")
    with _source(asked) as (ask, tell), _writing(place) as directory:
        manifest = _write(directory, ask)
        os.replace(directory, place)
        tell(manifest.ledger["links"], manifest.ledger["head"])
    for name, file in manifest.files.items():
        lacking = f"; {file.unreadable} cannot be read: `opsapp doctor` names it" if file.unreadable else ""
        print(f"{name}\t{file.rows} rows{lacking}")


@contextlib.contextmanager
def _writing(place: Path) -> Iterator[Path]:
    """Nothing is left beside the place where it does not come to its end."""
    partial = place.with_name(place.name + ".partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(mode=0o700)
        yield partial
    except OSError as problem:
        raise Mistaken(f"the archive cannot be written: {plain(problem)}") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextlib.contextmanager
def _source(asked: argparse.Namespace) -> Iterator[tuple[Ask, Tell]]:
    if asked.url:
        token = remote.token_of(asked)

        def ask(part: ArchivePart, after: str) -> ArchivePage:
            query = urlencode({"after": after}) if after else ""
            return ArchivePage(**remote.ask(asked.url, token, "GET", f"{part.path}?{query}"))

        yield ask, lambda links, head: remote.ask(asked.url, token, "POST", ARCHIVED, {"links": links, "head": head})
        return
    config = configured(existing(settings_of(asked)))
    node = app.prepare(config, configfile.consult)
    try:
        yield lambda part, after: node.transact(part.page, after), partial(node.transact, _archived)
    finally:
        node.stop()


def _archived(root: Any, links: int, head: str) -> None:
    healing.archived(root, links, head)
    note(root, SHELL, "healing.ledger.archived", "ledger", after={"links": links, "head": head})


def _write(directory: Path, ask: Ask) -> ArchiveManifest:
    manifest = ArchiveManifest(VERSION, {}, {})
    for part in PARTS:
        digest, rows, unreadable, after = hashlib.sha256(), 0, 0, ""
        with _new(directory / part.name) as file:
            while True:
                page = ask(part, after)
                manifest.ledger.update(page.about)
                for row in page.rows:
                    line = json.dumps(row, separators=(",", ":")).encode() + b"\n"
                    digest.update(line)
                    file.write(line)
                rows, unreadable = rows + len(page.rows), unreadable + page.unreadable
                if page.after is None:
                    break
                after = page.after
        manifest.files[part.name] = ArchivedFile(rows, unreadable, digest.hexdigest())
    with _new(directory / MANIFEST) as file:
        file.write(json.dumps(as_json(manifest), indent=2).encode() + b"\n")
    return manifest


@contextlib.contextmanager
def _new(path: Path) -> Iterator[Any]:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


# -- checking


def verify_archive(asked: argparse.Namespace) -> None:
    directory = Path(asked.directory)
    with reading(existing(settings_of(asked))) as (_, top):
        key = chain_key(top[KEY]) if KEY in top else b""
    if not key:
        raise Mistaken("the key of the chain cannot be opened: the store's master key is needed too")
    try:
        manifest = made(ArchiveManifest, _parsed((directory / MANIFEST).read_bytes(), MANIFEST))
        for part in PARTS:
            if _sha256(directory / part.name) != manifest.files[part.name].sha256:
                raise Mistaken(f"{part.name} is not as it was written: its checksum is another one")
        verdict = healing.check(_rows(directory / LEDGER), manifest.ledger, key)
    except OSError as problem:
        raise Mistaken(f"the archive cannot be read: {plain(problem)}") from None
    except (KeyError, TypeError, AttributeError):
        raise Mistaken(f"{directory} is no archive of this program") from None
    if verdict.mistake:
        raise Mistaken(f"{LEDGER}: {verdict.mistake}")
    first = manifest.ledger["folded"]["links"] + 1
    span = f", links {first} to {manifest.ledger['links']}" if verdict.entries else ""
    masked = f"; {verdict.masked} of them hold `***` and are signed like that" if verdict.masked else ""
    print(f"{LEDGER}\t{verdict.entries} entries{span}: as they were written{masked}")
    for part in PARTS[1:]:
        print(f"{part.name}\t{manifest.files[part.name].rows} rows: the checksum fits, and nothing signs them")


def _rows(path: Path) -> Iterator[JsonObject]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            yield _parsed(line, f"{path.name}: line {number}")


def _parsed(text: bytes, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise Mistaken(f"{where} is no JSON") from None


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()
