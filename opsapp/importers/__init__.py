"""`opsapp import --from`: what other programs watch, as a document of configuration as code and a report about it.

One module for each program: pure functions from its file's content to an `Estate`. Must not: open a store, leave
anything out without saying it, or be imported by anything but that command.
"""

from __future__ import annotations

from collections.abc import Callable

from . import blackbox, gatus, kuma
from .estate import Estate


def read(program: str, path: str, modules: str | None, zone: Callable[[], str]) -> Estate:
    """`modules`: the exporter's own file; `zone`: by whose clock windows are here. ValueError when the file is of
    something else."""
    if program == "kuma":
        return kuma.read(path, zone())
    return gatus.read(path) if program == "gatus" else blackbox.read(path, modules)
