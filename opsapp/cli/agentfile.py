"""`opsapp agent-file OUT`: the agent program as one file."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from opsapp.agents import zipapp

from .places import Mistaken


def add_commands(commands: Any) -> None:
    command = commands.add_parser("agent-file", help="write the agent program (opsapp-agent.pyz) to OUT")
    command.add_argument("out", metavar="OUT", help="a file, or a directory to put opsapp-agent.pyz into")
    command.set_defaults(run=write)


def write(asked: argparse.Namespace) -> None:
    made, out = zipapp.agent_file(), Path(asked.out)
    if out.is_dir():
        out /= "opsapp-agent.pyz"
    fresh = out.with_name(out.name + ".new")
    try:
        fresh.write_bytes(made.data)
        fresh.chmod(0o755)
        os.replace(fresh, out)
    except OSError as problem:
        raise Mistaken(f"{out} cannot be written: {problem.strerror}") from None
    print(f"{out}\t{len(made.data)} bytes\tsha256 {made.sha256}")
