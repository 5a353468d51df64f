"""`opsapp check-config` and `opsapp openapi`: what the system says of itself, without a store of anybody's."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opsapp import app
from opsapp.tree.evolve import EvolveStep
from opsapp.web import configfile, openapi

from .places import Mistaken, ini_settings


def add_commands(commands: Any) -> None:
    check = commands.add_parser("check-config", help="validate the configuration file; every mistake with its line")
    check.add_argument("--config", metavar="YAML")
    check.add_argument("--ini", metavar="FILE", help="check the file that this ini file names")
    check.set_defaults(run=check_config)
    document = commands.add_parser("openapi", help="print the OpenAPI document of this version")
    document.set_defaults(run=print_openapi)


@contextmanager
def bare_registry() -> Iterator[Any]:
    """That of all rooms, over an empty store that is thrown away with its directory."""
    with tempfile.TemporaryDirectory() as data:
        yield app.configure({"opsapp.data": data, "opsapp.store": "memory://"}).registry


def known_steps() -> list[EvolveStep]:
    with bare_registry() as registry:
        steps: list[EvolveStep] = registry.opsapp_evolve_steps
    return steps


def check_config(asked: argparse.Namespace) -> None:
    path = asked.config or (ini_settings(asked.ini).get("opsapp.config") if asked.ini else None)
    if not path:
        raise Mistaken("say which file: --config YAML, or --ini FILE that names one")
    with bare_registry() as registry:
        configfile.read(path, registry.opsapp_sections)
    print(f"{path} is valid")


def print_openapi(_asked: argparse.Namespace) -> None:
    with bare_registry() as registry:
        print(json.dumps(openapi.document(registry), indent=2, sort_keys=True))
