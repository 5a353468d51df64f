"""On what the servers of the tests keep their stores: files, a ZEO server or PostgreSQL, as `pytest --engine` says."""

import atexit
import os
import tempfile
from functools import lru_cache
from pathlib import Path

ENGINES = ("file", "zeo", "postgresql")
CHOSEN = "OPSAPP_TEST_ENGINE"


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
    atexit.register(server.end)
    return server
