"""The agent program as one file: opsapp.agent and opsapp.wire, and the wsproto and h11 that it needs.

Entries are sorted, stored uncompressed and dated 1980, so that the file can be pinned by its hash and built on any node
of a cluster. Must not: carry any code of the server.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import io
import pathlib
import zipfile
from functools import lru_cache
from typing import NamedTuple

SHEBANG = b"#!/usr/bin/env python3\n"
MAIN = b'''"""Start of the opsapp agent."""
import sys

if sys.version_info < (3, 9):
    sys.exit("opsapp-agent needs Python 3.9 or later, this is " + sys.version.split()[0])

from opsapp.agent.main import main

sys.exit(main())
'''
OWN = ("opsapp.agent", "opsapp.wire")
CARRIED = ("wsproto", "h11")
_EPOCH = (1980, 1, 1, 0, 0, 0)


class AgentFile(NamedTuple):
    data: bytes
    sha256: str


@lru_cache(maxsize=1)
def agent_file() -> AgentFile:
    """The agent's file, built once a process."""
    data = build()
    return AgentFile(data, hashlib.sha256(data).hexdigest())


def build() -> bytes:
    entries = {"__main__.py": MAIN, "opsapp/__init__.py": b""}
    for name in OWN + CARRIED:
        entries.update(_sources(name))
    for name in CARRIED:
        entries.update(_licences(name))
    buffer = io.BytesIO()
    buffer.write(SHEBANG)
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(entries):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.create_system = 3
            info.external_attr = 0o100644 << 16
            archive.writestr(info, entries[name])
    return buffer.getvalue()


def _sources(name: str) -> dict[str, bytes]:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(f"the package {name} is not installed")
    root = pathlib.Path(next(iter(spec.submodule_search_locations)))
    place = name.replace(".", "/")
    paths = (path for path in root.rglob("*.py") if "tests" not in path.relative_to(root).parts)
    return {f"{place}/{path.relative_to(root).as_posix()}": path.read_bytes() for path in paths}


def _licences(name: str) -> dict[str, bytes]:
    files = importlib.metadata.files(name) or []
    texts = (file for file in files if file.name.upper().startswith(("LICENSE", "LICENCE", "COPYING")))
    return {f"licences/{name}-{file.name}": file.read_binary() for file in texts}
