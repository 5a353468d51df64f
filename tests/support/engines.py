"""On what the servers of the tests keep their stores: files, a ZEO server or PostgreSQL, as `pytest --engine` says."""

import atexit
import contextlib
import os
import shutil
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

ENGINES = ("file", "zeo", "postgresql")
CHOSEN = "OPSAPP_TEST_ENGINE"
_THIS = sys.modules[__name__]
_of_module = contextlib.ExitStack()


@lru_cache
def uris(data):
    """What `opsapp serve` takes so that the data of this directory is in the chosen engine; the same each time."""
    engine = os.environ.get(CHOSEN, "file")
    if engine == "zeo":
        return _zeo(data).uris()
    return _postgres().uris() if engine == "postgresql" else {}


@lru_cache
def _postgres():
    from .postgres import Postgres

    server = Postgres()
    server.start()
    atexit.register(server.remove)
    return server


def _zeo(data):
    from .process import Zeo

    server = Zeo(Path(tempfile.mkdtemp(prefix="opsapp-zeo-")))
    server.start()
    _of_module.callback(shutil.rmtree, server.directory, ignore_errors=True)
    _of_module.callback(server.end)
    return server


def end_of_module():
    """Whoever used a store that was given out until now is gone: one server for each test would fill the memory."""
    uris.cache_clear()
    _of_module.close()


def is_used_by(module):
    """Whether what is in this test module can keep anything in the chosen engine."""
    from .process import Serve

    return any(
        value is _THIS or (isinstance(value, type) and issubclass(value, Serve)) for value in vars(module).values()
    )
