"""Where a command works: the ini file, the data directory or the store that its options name."""

from __future__ import annotations

import argparse
import configparser
from pathlib import Path
from typing import Any

from paste.deploy import appconfig
from pyramid.config import Configurator
from zc.lockfile import LockError

from opsapp import app


class Mistaken(Exception):
    """What the person at the shell should know, in a sentence."""


def add_options(command: argparse.ArgumentParser, *, ini: bool = True) -> None:
    """The options that say where. `opsapp serve` takes the ini file as an argument instead."""
    if ini:
        command.add_argument("--ini", metavar="FILE", help="take the places from this ini file")
    command.add_argument("--data", metavar="DIR", help="the data directory of an embedded store")
    command.add_argument(
        "--store", metavar="URI", help="the store, as zodburi reads it: file://, zeo://, postgresql://"
    )
    command.add_argument("--history-store", metavar="URI", help="the store for what was measured, if it is another one")
    command.add_argument("--config", metavar="YAML", help="the configuration file")


def settings_of(asked: argparse.Namespace) -> dict[str, Any]:
    """The ini file's settings, overridden by the options."""
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


def ini_settings(path: str) -> dict[str, Any]:
    if not Path(path).is_file():
        raise Mistaken(f"there is no file {path}")
    try:
        return dict(appconfig(f"config:{Path(path).absolute()}", name="main"))
    except (LookupError, configparser.Error, ValueError) as problem:
        raise Mistaken(f"{path} cannot be used: {problem}") from None


def configured(settings: dict[str, Any]) -> Configurator:
    """The system with its store open, or a sentence that says why not."""
    try:
        return app.configure(settings)
    except LockError:
        raise Mistaken("the store is in use by another process: stop it first, or ask the running server") from None
    except (OSError, ValueError) as problem:
        raise Mistaken(f"the store cannot be opened: {problem}") from None
