"""Where the data is: the settings of the ini file and the command line as store addresses.

`opsapp.data` names a directory: an embedded FileStorage, one process. `opsapp.store` is a URI as zodburi reads it,
`opsapp.history_store` a second one for what was measured; without it history lives in the first store, except beside a
file, where it gets a file of its own.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

FILE, POSTGRESQL = "file://", "postgresql://"
Settings = Mapping[str, str]  # of the ini file and the command line


def store_settings(settings: Settings) -> dict[str, str]:
    """The settings that pyramid_zodbconn and the node need, from those that people write."""
    data = settings.get("opsapp.data")
    main = settings.get("opsapp.store") or settings.get("zodbconn.uri") or _file_in(data, "main.fs")
    history = settings.get("opsapp.history_store") or settings.get("zodbconn.uri.history") or _beside(main)
    derived = {"zodbconn.uri": main, "opsapp.shared_store": "false" if main.startswith(FILE) else "true"}
    if history:
        derived["zodbconn.uri.history"] = history
    return derived


def _file_in(data: str | None, name: str) -> str:
    if not data:
        raise ValueError("say where the data is: opsapp.data or opsapp.store in the ini file, --data or --store")
    return FILE + str(Path(data).absolute() / name)


def _beside(main: str) -> str | None:
    """An embedded main store keeps its history in a file next to it."""
    if not main.startswith(FILE):
        return None
    path, _, options = main.partition("?")
    return path.rpartition("/")[0] + "/history.fs" + (f"?{options}" if options else "")


def check_apart(settings: Settings) -> None:
    """A database of PostgreSQL holds one store; files and ZEO's storages have locks for that."""
    main, history = (settings.get(name, "").partition("?")[0] for name in ("zodbconn.uri", "zodbconn.uri.history"))
    if main == history and main.startswith(POSTGRESQL):
        raise ValueError("the history store is the store itself: name another database, or leave it out")


def make_data_directory(settings: Settings) -> None:
    """The data directory, and that of an embedded store, for the owner only."""
    uris = [settings.get("zodbconn.uri", ""), settings.get("zodbconn.uri.history", "")]
    paths = [Path(uri[len(FILE) :].partition("?")[0]).parent for uri in uris if uri.startswith(FILE)]
    for path in paths + ([Path(settings["opsapp.data"])] if settings.get("opsapp.data") else []):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)


@contextlib.contextmanager
def private_files() -> Iterator[None]:
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)
