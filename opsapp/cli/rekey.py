"""`opsapp rekey`: a new master key for the secrets at rest."""

from __future__ import annotations

import argparse
from typing import Any

from opsapp import app
from opsapp.runtime.secrets import sealedstore

from .places import add_options, existing, opened, settings_of


def add_commands(commands: Any) -> None:
    rekey = commands.add_parser("rekey", help="make a new master key and seal every stored secret anew with it")
    add_options(rekey)
    rekey.set_defaults(run=rekey_store)


def rekey_store(asked: argparse.Namespace) -> None:
    with opened(existing(settings_of(asked))) as (config, node):
        app.bring_up_to_date(config, node)
        count = sealedstore.rekey(node)
    print(f"made a new master key and sealed {count} secrets anew")
