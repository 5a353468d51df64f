"""A new store as the product leaves it after its first start, made once for each process and copied for each test.

What the first start itself does is tried by every test whose store is not the usual one, and by all real processes.
Must not: be made while a test runs, which may have changed for itself what a start does.
"""

from __future__ import annotations

import os
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from opsapp.runtime.cluster.fence import store_id

from .clock import FakeClock

PASSWORD = "OPSAPP_ADMIN_PASSWORD"
FIRST_PASSWORD = "first admin password"
FILES = ("main.fs", "history.fs", "secret.key")
INDEXES = ("main.fs.index", "history.fs.index")  # so that the files need not be gone through when they are opened
ELSEWHERE = ("zodbconn.", "opsapp.data", "opsapp.store", "opsapp.history_store", "opsapp.shared_store", "opsapp.node")


class ReadyStore(NamedTuple):
    """The files of a store by name, and its identity, of which each copy gets another."""

    files: dict[str, bytes]
    identity: bytes


_ready: dict[str | None, ReadyStore] = {}  # by the first admin's password; None: nobody is there


def make(start: Any) -> None:
    """Before the first test. `start(directory)` is what makes the application of a test."""
    for password in (FIRST_PASSWORD, None):
        with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as name:
            patch.delenv(PASSWORD, raising=False)
            if password is not None:
                patch.setenv(PASSWORD, password)
            service = start(name)
            identity = service.transact(store_id).encode()
            service.close()
            _ready[password] = ReadyStore(
                {file: (Path(name) / file).read_bytes() for file in (*FILES, *INDEXES)}, identity
            )


@contextmanager
def put_down(directory: Path, clock: Any, settings: Mapping[str, Any]) -> Iterator[None]:
    """While an application starts: the files of a ready store are in a directory that has none, where a start would
    make just that store."""
    ready = _ready.get(os.environ.get(PASSWORD))
    if ready is None or not _is_usual(directory, clock, settings):
        yield
        return
    identity = secrets.token_hex(len(ready.identity) // 2).encode()
    for name, content in ready.files.items():
        descriptor = os.open(directory / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.replace(ready.identity, identity))
    yield
    for name in INDEXES:
        (directory / name).unlink()


def _is_usual(directory: Path, clock: Any, settings: Mapping[str, Any]) -> bool:
    """Nothing is there yet, and time, names and places are those with which the ready store was made."""
    return (
        "OPSAPP_SECRET_FILE" not in os.environ
        and type(clock) is FakeClock
        and clock.now() == FakeClock().now()
        and not any(name.startswith(ELSEWHERE) for name in settings)
        and directory.is_dir()
        and not any(directory.glob("*.fs*"))
        and not (directory / "secret.key").exists()
    )
