"""`opsapp check-config` and `opsapp openapi`: what the system says of itself, without a store of anybody's."""

from __future__ import annotations

import argparse
import json
import tempfile
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


def _bare_system() -> Any:
    """All rooms over an empty store that is thrown away."""
    return app.configure({"opsapp.data": tempfile.mkdtemp(), "opsapp.store": "memory://"})


def known_steps() -> list[EvolveStep]:
    """The evolve steps of this version."""
    steps: list[EvolveStep] = _bare_system().registry.opsapp_evolve_steps
    return steps


def check_config(asked: argparse.Namespace) -> None:
    path = asked.config or (ini_settings(asked.ini).get("opsapp.config") if asked.ini else None)
    if not path:
        raise Mistaken("say which file: --config YAML, or --ini FILE that names one")
    configfile.read(path, _bare_system().registry.opsapp_sections)
    print(f"{path} is valid")


def print_openapi(_asked: argparse.Namespace) -> None:
    print(json.dumps(openapi.document(_bare_system().registry), indent=2, sort_keys=True))
