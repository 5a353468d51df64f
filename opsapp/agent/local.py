"""What only the operator can say about a host: its backups, certificates, media servers; from the configuration.

Must not: run or reach anything. backups.py and media.py do.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Annotated, Any, Callable, Dict, Mapping, Optional, Tuple, TypeVar

from opsapp.wire.checks import OnWire, checks_of
from opsapp.wire.dataclass import frozen
from opsapp.wire.fields import FieldProblem, listing, mapping, nested, text
from opsapp.wire.kinds import Choice, Text
from opsapp.wire.urls import web_problem

R = TypeVar("R")
MEDIA_KINDS = ("jellyfin", "emby", "plex", "sonarr", "radarr", "lidarr")


class Wrong(ValueError):
    """A mistake in what the operator said."""


def _absolute(path: str) -> Optional[str]:
    return None if path.startswith("/") or not path else "must be an absolute path"


def _web_address(url: str) -> Optional[str]:
    wrong = web_problem(url, credentials=False)
    return f"must be an http or https URL: it {wrong}" if wrong else None


_WORDS = listing(text(65536, low=1), 1000)
_NAME = text(255, low=1, pattern=r"[A-Za-z0-9_][A-Za-z0-9_.@:-]*")


def _words(value: Any) -> Tuple[str, ...]:
    return tuple(_WORDS(value))


def _program(value: Any) -> Tuple[str, ...]:
    words = _words(value)
    if words and not os.path.isabs(words[0]):
        raise FieldProblem("must begin with the absolute path of a program")
    return words


OptionalPath = Annotated[str, OnWire(text(4096, also=_absolute))]
NeededPath = Annotated[str, OnWire(text(4096, low=1, also=_absolute))]
Program = Annotated[Tuple[str, ...], OnWire(_program)]  # an argument list: no string is ever read by a shell


@frozen
class Backup:
    """One backup set: how old it is (`files`, `newest` or a restic repository), how it is made and how it is proved."""

    name: str
    files: OptionalPath = ""  # a glob pattern: the newest match is the newest backup
    newest: Program = ()  # it prints when the newest backup was made (epoch seconds)
    unit: Annotated[str, Text(0, 255, r"([A-Za-z0-9_@.:][A-Za-z0-9_@.:\\-]*)?")] = ""  # of systemd, which makes it
    run: Program = ()  # or a program
    verify: Program = ()
    restic: Annotated[str, Text(0, 4096)] = ""  # or a restic repository: all three by restic
    password_file: OptionalPath = ""
    paths: Annotated[Tuple[str, ...], OnWire(_words)] = ()


@frozen
class Certificate:
    """A certificate that something else than a known client renews."""

    name: str
    file: NeededPath
    run: Program


@frozen
class Instance:
    """A media server on this host; its key stays in a file."""

    name: str
    kind: Annotated[str, Choice(*MEDIA_KINDS)]
    url: Annotated[str, OnWire(text(2048, low=1, also=_web_address))]
    key_file: NeededPath


def read_backups(value: Any) -> Mapping[str, Backup]:
    backups = _rows("backups", value, Backup)
    for name, backup in backups.items():
        if backup.restic and not (backup.password_file and backup.paths):
            raise Wrong(f"backups: {name}: restic needs password_file and paths")
        if not (backup.files or backup.newest or backup.restic):
            raise Wrong(f"backups: {name}: say how its age is known: files, newest or restic")
    return backups


def read_certificates(value: Any) -> Mapping[str, Certificate]:
    certificates = _rows("certificates", value, Certificate)
    for name, certificate in certificates.items():
        if not certificate.run:
            raise Wrong(f"certificates: {name}: give the program (run) that renews it")
    return certificates


def read_instances(value: Any) -> Mapping[str, Instance]:
    rows = _rows("instances", value, Instance)
    return {name: replace(instance, url=instance.url.rstrip("/")) for name, instance in rows.items()}


def _rows(what: str, value: Any, record: Callable[..., R]) -> Dict[str, R]:
    checks = checks_of(record)
    del checks["name"]
    try:
        rows = mapping(nested(checks, unknown="refuse"), 10000, _NAME)(value)
    except FieldProblem as problem:
        raise Wrong(f"{what}: {problem}") from None
    return {name: record(name, **row) for name, row in rows.items()}
