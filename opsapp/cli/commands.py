"""All commands of `opsapp`: the parser, and what becomes of a problem."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import warnings
from importlib import import_module

# Pyramid's own import says this to people who can do nothing about it.
warnings.filterwarnings("ignore", message="pkg_resources is deprecated")

from opsapp.lib.problems import Invalid, Problem  # noqa: E402
from opsapp.wire.version import VERSION  # noqa: E402

from .places import Mistaken, ToldAlready  # noqa: E402

# The modules of the commands, in the order of the help. A server runs for months: it does not hold what the others
# need, so only the module of the command that is asked for is imported.
MODULES = {
    "opsapp.cli.serve": ("serve",),
    "opsapp.cli.store": ("init", "pack", "backup", "restore"),
    "opsapp.cli.storeserver": ("store",),
    "opsapp.cli.users": ("user",),
    "opsapp.cli.config": ("check-config", "openapi"),
    "opsapp.cli.ascode": ("apply", "import", "export"),
    "opsapp.cli.archive": ("verify-archive",),
    "opsapp.cli.agentfile": ("agent-file",),
    "opsapp.cli.doctor": ("doctor",),
    "opsapp.cli.statusexport": ("status-export",),
    "opsapp.cli.rekey": ("rekey",),
    "opsapp.demo": ("demo",),
}
SELDOM = 50_000  # how many things more than before are made until the collector looks


def parser(asked_for: str | None = None) -> argparse.ArgumentParser:
    """The parser of the command that begins with this word; of all commands where none does."""
    top = argparse.ArgumentParser(prog="opsapp", description="Self-hosted infrastructure operations.")
    top.add_argument("--version", action="version", version=f"opsapp {VERSION}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    named = [name for name, words in MODULES.items() if asked_for in words]
    for name in named or MODULES:
        import_module(name).add_commands(commands)
    return top


def _parsed(given: list[str]) -> argparse.Namespace:
    """What argparse refuses ends with 2; where that means that something would change, with 1."""
    try:
        return parser(given[0] if given else None).parse_args(given)
    except SystemExit as ending:
        if ending.code and given and given[0] in MODULES["opsapp.cli.ascode"]:
            raise SystemExit(1) from None
        raise


def run(arguments: list[str] | None = None) -> int:
    given = sys.argv[1:] if arguments is None else arguments
    asked = _parsed(given)
    if asked.command != "serve":
        gc.set_threshold(SELDOM)  # many a command has yet to make an application
        gc.enable()
    os.umask(0o077)  # whatever a command writes is the owner's alone
    try:
        code = asked.run(asked) or 0
        sys.stdout.flush()
        return code
    except Invalid as problem:
        for field, message in problem.fields.items():
            print(f"opsapp: {field} {message}", file=sys.stderr)
        return 1
    except (Problem, Mistaken) as problem:
        print(f"opsapp: {problem}", file=sys.stderr)
        return 1
    except ToldAlready:
        return 1
    except BrokenPipeError:  # whoever read the output has seen enough; what is left must not be written at the exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 1
