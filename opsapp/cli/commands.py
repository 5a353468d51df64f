"""All commands of `opsapp`: arguments, messages for people, exit codes.

Lives here: the parser and what becomes of a problem. Must not: decide anything that the service does not decide too.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import warnings

# Pyramid's own import says this to people who can do nothing about it.
warnings.filterwarnings("ignore", message="pkg_resources is deprecated")

from opsapp.lib.problems import Invalid, Problem  # noqa: E402
from opsapp.wire.version import VERSION  # noqa: E402

from . import agentfile, ascode, config, demo, doctor, rekey, serve, statusexport, store, storeserver, users  # noqa: E402
from .places import Mistaken  # noqa: E402


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="opsapp", description="Self-hosted infrastructure operations.")
    top.add_argument("--version", action="version", version=f"opsapp {VERSION}")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for room in (serve, store, storeserver, users, config, ascode, agentfile, doctor, statusexport, rekey, demo):
        room.add_commands(commands)
    return top


def run(arguments: list[str] | None = None) -> int:
    """Run one command; its exit code."""
    asked = parser().parse_args(arguments)
    if asked.run is not serve.serve:
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
    except BrokenPipeError:  # whoever read the output has seen enough; what is left must not be written at the exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 1
