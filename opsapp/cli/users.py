"""`opsapp user add|passwd|list|disable|unlock`: users without the API.

Passwords come from the prompt or standard input.
"""

from __future__ import annotations

import argparse
import contextlib
import getpass
import sys
from collections.abc import Iterator
from typing import Any

from opsapp import app
from opsapp.auth import engine
from opsapp.tree.acl import ROLES
from opsapp.web import configfile

from .places import add_options, existing, opened, settings_of


def add_commands(commands: Any) -> None:
    user = commands.add_parser("user", help="add, list and disable users, set passwords").add_subparsers(
        dest="what", required=True, metavar="WHAT"
    )
    add = user.add_parser("add", help="a new user; the password is asked for, or read from standard input")
    add.add_argument("username")
    add.add_argument("--role", choices=ROLES, default="viewer")
    passwd = user.add_parser("passwd", help="a new password; ends the user's sessions")
    passwd.add_argument("username")
    listing = user.add_parser("list", help="all users")
    disable = user.add_parser("disable", help="this user cannot sign in any more; ends the user's sessions")
    disable.add_argument("username")
    unlock = user.add_parser("unlock", help="forget the failed attempts to sign in as this user")
    unlock.add_argument("username")
    runs = {add: add_user, passwd: set_password, listing: list_users, disable: disable_user, unlock: unlock_user}
    for command, run in runs.items():
        add_options(command)
        command.set_defaults(run=run)


@contextlib.contextmanager
def _opened(asked: argparse.Namespace, *, anew: bool = False) -> Iterator[Any]:
    """The node of a store; with `anew`, of one that may be made here and now."""
    settings = settings_of(asked)
    with opened(settings if anew else existing(settings)) as (config, node):
        app.bring_up_to_date(config, node)
        configfile.consult(config.registry)
        yield node


def ask_password() -> str:
    if sys.stdin.isatty():
        return getpass.getpass("Password: ")
    return sys.stdin.readline().rstrip("\r\n")


def add_user(asked: argparse.Namespace) -> None:
    with _opened(asked, anew=True) as node:
        engine.add_user(node, asked.username, asked.role, ask_password())
    print(f"added {asked.username} as {asked.role}")


def set_password(asked: argparse.Namespace) -> None:
    with _opened(asked) as node:
        engine.set_password(node, asked.username, ask_password())
    print(f"changed the password of {asked.username}")


def list_users(asked: argparse.Namespace) -> None:
    with _opened(asked) as node:
        for user in engine.list_users(node):
            state = "disabled" if user.disabled else "enabled"
            print(f"{user.username}\t{user.role}\t{state}\t{user.source}")


def disable_user(asked: argparse.Namespace) -> None:
    with _opened(asked) as node:
        engine.disable_user(node, asked.username)
    print(f"disabled {asked.username}")


def unlock_user(asked: argparse.Namespace) -> None:
    with _opened(asked) as node:
        engine.unlock_user(node, asked.username)
    print(f"unlocked {asked.username}")
