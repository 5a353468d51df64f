"""`opsapp store`: the ZEO server that the nodes of a cluster share."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from opsapp.runtime.store import zeoserver

from .places import Mistaken


def add_commands(commands: Any) -> None:
    serve = commands.add_parser("store", help="serve the store of a cluster by ZEO; a node that hangs is cut off")
    serve.add_argument("conf", metavar="ZEO_CONF", help="addresses and storages, as runzeo reads them")
    serve.add_argument(
        "--held", type=float, default=zeoserver.HELD_S, metavar="S",
        help=f"how long a node may keep others from committing (default {zeoserver.HELD_S:g})",
    )  # fmt: skip
    serve.set_defaults(run=serve_store)


def serve_store(asked: argparse.Namespace) -> None:
    if not Path(asked.conf).is_file():
        raise Mistaken(f"there is no file {asked.conf}")
    if not asked.held > 0:
        raise Mistaken("--held must be more than 0")
    zeoserver.serve(asked.conf, asked.held)
