"""`opsapp serve`: the server."""

from __future__ import annotations

import argparse
import configparser
import logging
import logging.config
import os
import re
import socket
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from opsapp import app
from opsapp.runtime import memory
from opsapp.runtime.store.settings import Settings
from opsapp.web.address import netloc
from opsapp.wire.urls import web_problem

from .places import Mistaken, add_options, ini_settings, opening, refuse_root, settings_of

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
ROLES = ("web", "engine")


def add_commands(commands: Any) -> None:
    command = commands.add_parser("serve", help="serve until SIGTERM; SIGHUP reloads the configuration file")
    command.add_argument("ini", metavar="INI")
    command.add_argument("--host", help="the address to listen at")
    command.add_argument("--port", type=_port, help="the port to listen at; 0 takes a free one")
    command.add_argument("--node", help="this process' name in a cluster")
    command.add_argument("--address", help="where the other nodes of a cluster reach this one: https://10.0.0.5:6443")
    command.add_argument("--roles", help="what this process does: web, engine or web,engine")
    command.add_argument("--demo", action="store_true", help="as `opsapp demo`, with its data below the data directory")
    add_options(command, ini=False)
    command.set_defaults(run=serve)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError("a port is a number from 0 to 65535")
    return int(text)


def serve(asked: argparse.Namespace) -> int:
    from opsapp.web.server import Limits, require_free
    from opsapp.web.server import serve as serve_until_told

    memory.keep_together()
    server = server_settings(asked.ini)
    host = asked.host or server.get("host", "127.0.0.1")
    try:
        port = _port(server.get("port", "6080")) if asked.port is None else asked.port
        limits = Limits().with_settings(server)
    except (argparse.ArgumentTypeError, ValueError) as problem:
        raise Mistaken(f"{asked.ini}: [server:main]: {problem}") from None
    if asked.demo:
        return _demonstrate(settings_of(asked), host, port)
    reuse_port = server.get("reuse_port", "").lower() in {"1", "true", "yes", "on"}
    require_free(host, port, reuse_port=reuse_port)
    ours = {} if set_up_logging(asked.ini) else {"opsapp.logs": "true"}
    settings = ours | settings_of(asked) | _node_settings(asked)
    application = make_application(settings)
    return serve_until_told(
        application,
        host,
        port,
        node=application.registry["opsapp.node"],
        limits=limits,
        reuse_port=reuse_port,
        on_ready=_tell_ready,
        on_hangup=application.registry["opsapp.reload"],
    )


def _tell_ready(running: Any) -> None:
    """It tells people, and systemd, whose `start` returns then (a unit of Type=notify)."""
    print(f"Serving at {address(running)}", flush=True)
    manager = os.environ.get("NOTIFY_SOCKET")
    if manager:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to_manager:
            to_manager.connect("\0" + manager[1:] if manager.startswith("@") else manager)
            to_manager.sendall(b"READY=1")


def _demonstrate(settings: Settings, host: str, port: int) -> int:
    if "opsapp.data" not in settings:
        raise Mistaken("a demo needs a data directory: --data DIR, or `opsapp demo`")
    code: int = import_module("opsapp.demo").demonstrate(Path(settings["opsapp.data"]) / "demo", host, port)
    return code


def make_application(settings: Settings) -> Any:
    refuse_root(settings)
    with opening("another process serves this data already"):
        return app.main({}, **settings)


def _node_settings(asked: argparse.Namespace) -> dict[str, str]:
    settings = {}
    if asked.address:
        if not re.fullmatch(r"https?://[A-Za-z0-9.\[\]:_-]+/?", asked.address) or web_problem(asked.address):
            raise Mistaken("an address is http://HOST:PORT or https://HOST:PORT, without a path")
        settings["opsapp.address"] = asked.address
    if asked.node:
        if not NAME.fullmatch(asked.node):
            raise Mistaken("a node's name is 1 to 63 of a-z, 0-9, '.', '_', '-'")
        settings["opsapp.node"] = asked.node
    if asked.roles:
        roles = [role.strip() for role in asked.roles.split(",")]
        if any(role not in ROLES for role in roles):
            raise Mistaken("roles are web, engine, or both with a comma")
        settings["opsapp.roles"] = " ".join(roles)
    return settings


def server_settings(ini: str) -> dict[str, str]:
    ini_settings(ini)
    parser = configparser.ConfigParser({"here": str(Path(ini).absolute().parent)}, interpolation=None)
    parser.read(ini)
    section = "server:main"
    return dict(parser.items(section)) if parser.has_section(section) else {}


def set_up_logging(ini: str) -> bool:
    """Whether the ini file says how logs look; else the YAML file's `log` section does. No format here shows a process,
    a thread or a line of code: their search is left out."""
    logging.logProcesses = logging.logThreads = logging.logMultiprocessing = False
    logging._srcfile = None
    ini_settings(ini)
    parser = configparser.RawConfigParser()
    parser.read(ini)
    if parser.has_section("loggers"):
        logging.config.fileConfig(ini, disable_existing_loggers=False)
        return True
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    return False


def address(running: Any) -> str:
    host, port = running.address[:2]
    return f"http://{netloc(host, port)}/"
