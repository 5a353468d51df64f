"""`opsapp init|pack|backup|restore`: the store as a whole."""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from opsapp import app
from opsapp.lib.problems import Conflict
from opsapp.runtime.cluster import fence
from opsapp.runtime.secrets import seals
from opsapp.runtime.store import backup, pack, upgrades
from opsapp.runtime.store.settings import Settings, make_data_directory, private_files, store_settings
from opsapp.web import configfile

from . import cluster, remote
from .config import known_steps
from .places import Mistaken, add_options, existing, opened, plain, refuse_root, settings_of


def add_commands(commands: Any) -> None:
    init = commands.add_parser("init", help="make the store and the first admin, or upgrade the store")
    init.add_argument("--new-history", action="store_true", help="replace the lost history file with an empty one")
    init.add_argument(
        "--no-backup", action="store_true", help="upgrade the store without a copy of it: you have a backup"
    )
    cluster.add_options(init)
    add_options(init)
    init.set_defaults(run=init_store)
    packs = commands.add_parser("pack", help="remove the store's old revisions; with --url, a running server does it")
    remote.add_options(packs)
    packs.add_argument("--days", type=int, default=1, help="keep the history of so many days (default 1)")
    add_options(packs)
    packs.set_defaults(run=pack_store)
    save = commands.add_parser("backup", help="copy an embedded store into DIR, also while a server runs")
    save.add_argument("directory", metavar="DIR")
    save.add_argument("--damaged", action="store_true", help="copy a store with damaged objects too, and say which")
    add_options(save)
    save.set_defaults(run=save_store)
    restore = commands.add_parser("restore", help="replace an embedded store by a backup; the old store is kept")
    restore.add_argument("directory", metavar="DIR")
    add_options(restore)
    restore.set_defaults(run=restore_store)


def init_store(asked: argparse.Namespace) -> None:
    if asked.cluster:
        with _copying():
            cluster.make(asked)
        return
    with opened(settings_of(asked), new_history=asked.new_history) as (config, node):
        app.bring_up_to_date(config, node, copy=not asked.no_backup)
        configfile.load(config.registry)
        for prepare in config.registry.opsapp_preparations:
            prepare(node)
    print("the store is ready")


def pack_store(asked: argparse.Namespace) -> None:
    if asked.url:
        remote.ask(asked.url, remote.token_of(asked), "POST", "/api/store/pack", {"days": asked.days})
    else:
        with opened(existing(settings_of(asked))) as (_, node):
            pack.pack(node.store, asked.days, node.clock.now())
    print("packed")


def _files(settings: Settings) -> list[Path]:
    """The FileStorage files of an embedded store."""
    settings = {**settings, **store_settings(settings)}
    files = backup.files_of(settings)
    if not files:
        raise Mistaken(
            "only an embedded store (file://) is copied here; a ZEO server or PostgreSQL has tools of its own: "
            "docs/guide/cluster.md"
        )
    return files


@contextlib.contextmanager
def _copying() -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise Mistaken(f"it cannot be copied: {plain(problem)}") from None


def save_store(asked: argparse.Namespace) -> None:
    settings = settings_of(asked)
    with private_files(), _copying():
        files = _files(existing(settings))
        _refuse_apart(files[-1], files)
        copied = backup.save(files, Path(asked.directory), damaged=asked.damaged)
    for copy in copied:
        print(f"{copy.name}\t{copy.size} bytes")
    _print_lacking(Path(asked.directory))
    key = seals.key_file(settings)
    if key is not None and key.exists():
        print(f"the master key {key} is not in it: keep a copy of it in another place")


def _print_lacking(directory: Path) -> None:
    for name in backup.lacking(directory):
        print(f"this backup lacks objects that cannot be read: {name}")


def _refuse_apart(main: Path, files: list[Path]) -> None:
    """Conflict where this version must not use this file."""
    refusal = upgrades.refused(upgrades.steps_of_file(main, known_steps()), files)
    if refusal:
        raise Conflict(refusal)


def restore_store(asked: argparse.Namespace) -> None:
    settings = settings_of(asked)
    with private_files(), _copying():
        files = _files(settings)
        refuse_root(settings)
        make_data_directory(settings | store_settings(settings))
        _refuse_apart(Path(asked.directory) / files[-1].name, files)
        given_out = max(fence.newest_token(path) for path in files)
        aside = backup.restore(
            Path(asked.directory), files, lambda copy: fence.keep_ahead(copy, given_out, time.time())
        )
    print("restored")
    _print_lacking(Path(asked.directory))
    for path in aside:
        print(f"what was there is now {path}: delete it once it is not needed")
    key = seals.key_file(settings)
    if key is None or not key.exists():
        print(f"that store's master key belongs at {key or seals.ENVIRONMENT}: without it no secret can be read")
