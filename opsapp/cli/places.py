"""Where a command works: the ini file, the data directory or the store."""

from __future__ import annotations

import argparse
import configparser
import contextlib
import os
import pwd
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import transaction
from paste.deploy import appconfig
from pyramid.config import Configurator
from pyramid.registry import Registry
from zc.lockfile import LockError
from ZEO.Exceptions import ClientDisconnected
from ZODB.FileStorage.FileStorage import FileStorageError
from zodburi import NoResolverForScheme

from opsapp import app
from opsapp.runtime.secrets import seals
from opsapp.runtime.store import backup, embedded, upgrades
from opsapp.runtime.store.settings import Settings, store_settings
from opsapp.wire.version import VERSION


class Mistaken(Exception):
    """What the person at the shell should know, in a sentence."""


class ToldAlready(Exception):
    """What went wrong is said: there is nothing to add."""


def add_options(command: argparse.ArgumentParser, *, ini: bool = True) -> None:
    if ini:
        command.add_argument("--ini", metavar="FILE", help="take the places from this ini file")
    command.add_argument("--data", metavar="DIR", help="the data directory of an embedded store")
    command.add_argument(
        "--store", metavar="URI", help="the store, as zodburi reads it: file://, zeo://, postgresql://"
    )
    command.add_argument("--history-store", metavar="URI", help="the store for what was measured, if it is another one")
    command.add_argument("--config", metavar="YAML", help="the configuration file")


def settings_of(asked: argparse.Namespace) -> dict[str, str]:
    settings = ini_settings(asked.ini) if asked.ini else {}
    given = {
        "opsapp.data": asked.data and str(Path(asked.data).absolute()),
        "opsapp.store": asked.store,
        "opsapp.history_store": asked.history_store,
        "opsapp.config": asked.config and str(Path(asked.config).absolute()),
    }
    if asked.data and not asked.store:
        # Another directory means another store than the one that the file names.
        for name in ("opsapp.store", "opsapp.history_store", "zodbconn.uri", "zodbconn.uri.history"):
            settings.pop(name, None)
    if asked.store and not asked.history_store:
        settings.pop("opsapp.history_store", None)
    settings |= {name: value for name, value in given.items() if value}
    if not any(settings.get(name) for name in ("opsapp.data", "opsapp.store", "zodbconn.uri")):
        raise Mistaken("say where the data is: --ini FILE, --data DIR or --store URI")
    return settings


def ini_settings(path: str) -> dict[str, str]:
    if not Path(path).is_file():
        raise Mistaken(f"there is no file {path}")
    try:
        return dict(appconfig(f"config:{Path(path).absolute()}", name="main"))
    except (LookupError, ImportError, configparser.Error, ValueError) as problem:
        raise Mistaken(f"{path} cannot be used: {problem}") from None


POSTGRESQL = ("psycopg2", "relstorage")  # what the extra of that name brings
HELD = "the store is in use by another process: stop it first, or ask the running server"


def configured(settings: Settings, *, new_history: bool = False) -> Configurator:
    refuse_root(settings)
    with opening(HELD):
        config = app.configure(settings, new_history=new_history)
    node = config.registry["opsapp.node"]
    try:
        upgrades.refuse_apart(node, backup.files_of(config.registry.settings))
    except BaseException:
        node.stop()
        raise
    return config


@contextlib.contextmanager
def opened(settings: Settings, *, new_history: bool = False) -> Iterator[tuple[Configurator, Any]]:
    """The application of a store, and its node, which is stopped afterwards."""
    config = configured(settings, new_history=new_history)
    node = config.registry["opsapp.node"]
    try:
        yield config, node
    finally:
        node.stop()


def refuse_root(settings: Settings) -> None:
    """What root writes beside another user's files, that user's service could not read."""
    for path in backup.files_of({**settings, **store_settings(settings)}) if os.geteuid() == 0 else []:
        place = path if path.exists() else path.parent
        owner = place.stat().st_uid if place.exists() else 0
        if owner:
            raise Mistaken(
                f"{place} belongs to the user {_name(owner)}, who could not read what root writes there: "
                f"runuser -u {_name(owner)} -- opsapp ..."
            )


def _name(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"#{user}"


def existing(settings: Settings) -> Settings:
    """The store must be there: a mistyped place is not made a new one."""
    settings = {**settings, **store_settings(settings)}
    files, key = backup.files_of(settings), seals.file_beside(settings)
    if embedded.unfinished(files):
        with opening(HELD):
            embedded.make_ready(files, key)
    missing = [path for path in files if not path.exists()]
    if missing:
        told = embedded.incomplete(files, key)
        if told:
            raise Mistaken(told)
        raise Mistaken(f"there is no store at {missing[-1]}: `opsapp init` makes one")
    return settings


@contextlib.contextmanager
def opening(locked: str) -> Iterator[None]:
    """What a store that cannot be opened is told as; `locked` when another process has it."""
    try:
        yield
    except LockError:
        raise Mistaken(locked) from None
    except NoResolverForScheme as unknown:
        scheme = unknown.uri.partition(":")[0]  # the rest may hold a password
        raise Mistaken(f"the store cannot be opened: {scheme}: is not a known kind of store") from None
    except ModuleNotFoundError as lacking:
        if lacking.name not in POSTGRESQL:
            raise
        # By its file: under the name alone an index has a stranger's package.
        wheel = f"./opsapp-{VERSION}-py3-none-any.whl[postgresql]"
        raise Mistaken(f"the store cannot be opened: PostgreSQL needs `pip install '{wheel}'`") from None
    except ClientDisconnected as away:
        reason = str(away).partition("\n")[0]
        ending = f": {reason}" if reason else ""
        raise Mistaken(f"the store cannot be opened: its server does not answer{ending}") from None
    except FileStorageError as problem:
        raise Mistaken(f"the store cannot be opened: {problem} is damaged, or is no store") from None
    except OSError as problem:
        raise Mistaken(f"the store cannot be opened: {plain(problem)}") from None
    except ValueError as problem:
        raise Mistaken(f"the store cannot be opened: {problem}") from None


@contextlib.contextmanager
def reading(settings: Settings) -> Iterator[tuple[Registry, Any]]:
    with opening(HELD):
        registry = app.configure(settings).registry
    registry[seals.REGISTRY_KEY] = seals.Seal(seals.read(seals.key_file(settings)))
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


def plain(problem: Exception) -> str:
    reason = getattr(problem, "reason", problem)  # urllib wraps what the socket said
    words = getattr(reason, "strerror", None) or str(reason)
    name = getattr(reason, "filename", None)
    return f"{name}: {words}" if isinstance(name, str) else words
