"""What only the operator can say about a host: its backups, certificates, media servers; from the configuration.

Must not: run or reach anything. backups.py and media.py do.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

from opsapp.wire.fields import FieldProblem, JsonObject, WireField, choice, listing, mapping, may, need, nested, text
from opsapp.wire.urls import web_problem

MEDIA_KINDS = ("jellyfin", "emby", "plex", "sonarr", "radarr", "lidarr")


class Wrong(ValueError):
    """A mistake in what the operator said."""


class Backup(NamedTuple):
    """One set: how old it is (`files`, `newest` or a restic repository), how it is made and how it is proved."""

    name: str
    files: str = ""  # a glob pattern: the newest match is the newest backup
    newest: Tuple[str, ...] = ()  # a program that prints when the newest backup was made (epoch seconds)
    unit: str = ""  # a systemd unit that makes it
    run: Tuple[str, ...] = ()  # or a program
    verify: Tuple[str, ...] = ()
    restic: str = ""  # or a restic repository: all three by restic
    password_file: str = ""
    paths: Tuple[str, ...] = ()


class Certificate(NamedTuple):
    """A certificate that something else than a known client renews."""

    name: str
    file: str
    run: Tuple[str, ...]


class Instance(NamedTuple):
    """A media server on this host; its key stays in a file."""

    name: str
    kind: str
    url: str
    key_file: str


def _absolute(path: str) -> Optional[str]:
    return None if path.startswith("/") or not path else "must be an absolute path"


def _web_address(url: str) -> Optional[str]:
    wrong = web_problem(url, credentials=False)
    return f"must be an http or https URL: it {wrong}" if wrong else None


def _words(value: Any) -> Tuple[str, ...]:
    return tuple(_WORDS(value))


def _program(value: Any) -> Tuple[str, ...]:
    """An argument list. No string is ever read by a shell."""
    words = _words(value)
    if words and not os.path.isabs(words[0]):
        raise FieldProblem("must begin with the absolute path of a program")
    return words


_WORDS = listing(text(65536, low=1), 1000)
_PATH = text(4096, also=_absolute)
_PROGRAM = may(_program, ())
_NAME = text(255, low=1, pattern=r"[A-Za-z0-9_][A-Za-z0-9_.@:-]*")
_UNIT = text(255, pattern=r"([A-Za-z0-9_@.:][A-Za-z0-9_@.:\\-]*)?")
_BACKUP = {
    "files": may(_PATH, ""),
    "newest": _PROGRAM,
    "unit": may(_UNIT, ""),
    "run": _PROGRAM,
    "verify": _PROGRAM,
    "restic": may(text(4096), ""),
    "password_file": may(_PATH, ""),
    "paths": may(_words, ()),
}
_CERTIFICATE = {"file": need(text(4096, low=1, also=_absolute)), "run": need(_program)}
_INSTANCE = {
    "kind": need(choice(*MEDIA_KINDS)),
    "url": need(text(2048, low=1, also=_web_address)),
    "key_file": need(text(4096, low=1, also=_absolute)),
}


def read_backups(value: Any) -> Mapping[str, Backup]:
    backups = {name: Backup(name, **row) for name, row in _rows("backups", value, _BACKUP).items()}
    for name, backup in backups.items():
        if backup.restic and not (backup.password_file and backup.paths):
            raise Wrong(f"backups: {name}: restic needs password_file and paths")
        if not (backup.files or backup.newest or backup.restic):
            raise Wrong(f"backups: {name}: say how its age is known: files, newest or restic")
    return backups


def read_certificates(value: Any) -> Mapping[str, Certificate]:
    certificates = {name: Certificate(name, **row) for name, row in _rows("certificates", value, _CERTIFICATE).items()}
    for name, certificate in certificates.items():
        if not certificate.run:
            raise Wrong(f"certificates: {name}: give the program (run) that renews it")
    return certificates


def read_instances(value: Any) -> Mapping[str, Instance]:
    rows = _rows("instances", value, _INSTANCE)
    return {name: Instance(name, row["kind"], row["url"].rstrip("/"), row["key_file"]) for name, row in rows.items()}


def _rows(what: str, value: Any, fields: Dict[str, WireField]) -> Dict[str, JsonObject]:
    """The operator's objects by name, checked."""
    try:
        rows: Dict[str, JsonObject] = mapping(nested(fields, unknown="refuse"), 10000, _NAME)(value)
    except FieldProblem as problem:
        raise Wrong(f"{what}: {problem}") from None
    return rows
