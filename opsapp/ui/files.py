"""Static files: the address has a digest of all of them, so that a browser keeps them for a year and never has an old
one beside a new page. Modules import each other by relative names, so under the same digest. Must not: serve what
lies outside `static`."""

from __future__ import annotations

import gzip
import mimetypes
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent / "static"
KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
YEAR_S = 31_536_000
LEVEL = 9


class StaticFile(NamedTuple):
    kind: str
    plain: bytes
    packed: bytes


@cache
def files() -> dict[str, StaticFile]:
    """They are few and small, and do not change while the service runs."""
    file_by_name = {}
    for path in sorted(HERE.iterdir()):
        plain = path.read_bytes()
        kind = KINDS.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        file_by_name[path.name] = StaticFile(kind, plain, gzip.compress(plain, LEVEL, mtime=0))
    return file_by_name


@cache
def digest() -> str:
    whole = sha256()
    for name, file in files().items():
        whole.update(f"{name} {len(file.plain)} ".encode() + file.plain)
    return whole.hexdigest()[:16]


def address(name: str) -> str:
    """A name that there is not is a mistake of the template."""
    return f"/static/{digest()}/{name}" if name in files() else _missing(name)


def _missing(name: str) -> str:
    raise LookupError(f"there is no static file {name!r}")
