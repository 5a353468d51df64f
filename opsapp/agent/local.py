"""What only the operator can say about a host: its backups, certificates, media servers; from the configuration.

Must not: run or reach anything. backups.py and media.py do.
"""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Mapping, NamedTuple, Tuple

from opsapp.wire.urls import web_problem

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@:-]{0,254}")
_UNIT = re.compile(r"[A-Za-z0-9_@.:][A-Za-z0-9_@.:\\-]*")
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


def read_backups(value: Any) -> Mapping[str, Backup]:
    found = {name: _backup(name, one) for name, one in _table("backups", value).items()}
    for name, one in found.items():
        if one.restic and not (one.password_file and one.paths):
            raise Wrong(f"backups: {name}: restic needs password_file and paths")
        if not (one.files or one.newest or one.restic):
            raise Wrong(f"backups: {name}: say how its age is known: files, newest or restic")
    return found


def read_certificates(value: Any) -> Mapping[str, Certificate]:
    found = {}
    for name, one in _table("certificates", value).items():
        where = f"certificates: {name}"
        _known(where, one, ("file", "run"))
        found[name] = Certificate(name, _text(where, one, "file"), _argv(where, one, "run"))
        if not found[name].file.startswith("/") or not found[name].run:
            raise Wrong(f"{where}: give the absolute path of its file, and the program (run) that renews it")
    return found


def read_instances(value: Any) -> Mapping[str, Instance]:
    found = {}
    for name, one in _table("instances", value).items():
        where = f"instances: {name}"
        texts = {key: _text(where, one, key) for key in ("kind", "url", "key_file")}
        if texts["kind"] not in MEDIA_KINDS:
            raise Wrong(f"{where}: kind must be one of {', '.join(MEDIA_KINDS)}")
        wrong = web_problem(texts["url"], credentials=False)
        if wrong:
            raise Wrong(f"{where}: url must be an http or https URL: it {wrong}")
        if not texts["key_file"].startswith("/"):
            raise Wrong(f"{where}: key_file must be an absolute path")
        _known(where, one, ("kind", "url", "key_file"))
        found[name] = Instance(name, **{**texts, "url": texts["url"].rstrip("/")})
    return found


def _backup(name: str, one: Mapping[str, Any]) -> Backup:
    where = f"backups: {name}"
    _known(where, one, Backup._fields[1:])
    found: Dict[str, Any] = {key: _text(where, one, key) for key in ("files", "unit", "restic", "password_file")}
    found.update((key, _argv(where, one, key)) for key in ("newest", "run", "verify", "paths"))
    for key in ("files", "password_file"):
        if found[key] and not found[key].startswith("/"):
            raise Wrong(f"{where}: {key} must be an absolute path")
    if found["unit"] and not _UNIT.fullmatch(found["unit"]):
        raise Wrong(f"{where}: unit must be the name of a unit")
    return Backup(name, **found)


def _table(what: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(one, dict) for one in value.values()):
        raise Wrong(f"{what} must be an object of objects, by name")
    wrong = [name for name in value if not _NAME.fullmatch(name)]
    if wrong:
        raise Wrong(f"{what}: {wrong[0]!r} cannot be a name")
    return value


def _known(where: str, one: Mapping[str, Any], names: Tuple[str, ...]) -> None:
    unknown = sorted(set(one) - set(names))
    if unknown:
        raise Wrong(f"{where}: unknown keys: {', '.join(unknown)}")


def _text(where: str, one: Mapping[str, Any], key: str) -> str:
    value = one.get(key, "")
    if not isinstance(value, str) or "\0" in value:
        raise Wrong(f"{where}: {key} must be a text")
    return value


def _argv(where: str, one: Mapping[str, Any], key: str) -> Tuple[str, ...]:
    """An argument list. No string is ever read by a shell."""
    value: List[Any] = one.get(key, [])
    if not isinstance(value, list) or not all(isinstance(part, str) and part and "\0" not in part for part in value):
        raise Wrong(f"{where}: {key} must be a list of texts")
    if key in ("newest", "run", "verify") and value and not os.path.isabs(value[0]):
        raise Wrong(f"{where}: {key} must begin with the absolute path of a program")
    return tuple(value)
