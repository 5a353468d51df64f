"""`opsapp status-export DIR`: the public status page as static files, which outlive this service."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from opsapp import app
from opsapp.maintenance.engine import prepare_board
from opsapp.monitoring.engine import register_of, status_document
from opsapp.monitoring.records import StatusDocument
from opsapp.runtime import serieswork
from opsapp.statuspages.engine import public_page
from opsapp.statuspages.records import PublicPage
from opsapp.ui import statuspage
from opsapp.web import configfile
from opsapp.wire.records import made
from opsapp.wire.records import plain as as_json

from .places import Mistaken, add_options, existing, opened, plain, settings_of
from .remote import ask

ABOUT, DOCUMENT = "/api/status/page", "/api/monitoring/status-page"


def add_commands(commands: Any) -> None:
    export = commands.add_parser("status-export", help="write the status page, feed and badges as files into DIR")
    export.add_argument("directory", metavar="DIR")
    export.add_argument("--url", help="the address of a running server: ask it instead of opening the store")
    export.add_argument("--public-url", metavar="URL", default="", help="where the files will be served, for the feed")
    add_options(export)
    export.set_defaults(run=export_status)


def export_status(asked: argparse.Namespace) -> None:
    about, document = fetch(asked.url) if asked.url else read(asked)
    try:
        write(Path(asked.directory), about, document, asked.public_url.rstrip("/") or (asked.url or "").rstrip("/"))
    except OSError as problem:
        raise Mistaken(f"the files cannot be written: {plain(problem)}") from None
    print(f"{len(document.monitors)} components written")


def fetch(url: str) -> tuple[PublicPage, StatusDocument]:
    about, document = (ask(url, None, "GET", path, patience=30) for path in (ABOUT, DOCUMENT))
    return made(PublicPage, about), made(StatusDocument, document)


def read(asked: argparse.Namespace) -> tuple[PublicPage, StatusDocument]:
    """The page is read from the store. What nobody has looked at for too long is unknown."""
    with opened(existing(settings_of(asked))) as (config, node):
        app.bring_up_to_date(config, node)
        configfile.consult(config.registry)
        prepare_board(node)
        node.transact(register_of(node).catch_up)
        serieswork.follow(node)
        return node.transact(lambda root: (public_page(root), status_document(node, root)))


def write(directory: Path, about: PublicPage, document: StatusDocument, base_url: str) -> None:
    """Each file is replaced whole, so that who reads meanwhile sees the old or the new one. Badges of unpublished
    monitors go."""
    badges = directory / "status" / "badge"
    badges.mkdir(parents=True, exist_ok=True)
    files = {
        directory / "index.html": statuspage.page(about, document, statuspage.FILE),
        **{directory / name: statuspage.file_text(name) for name in statuspage.FILES},
        directory / "status.rss": statuspage.feed(document, base_url),
        directory / "status.json": json.dumps(as_json(document)),
        **{badges / f"{monitor.id}.svg": statuspage.badge(monitor) for monitor in document.monitors},
    }
    for path in set(badges.glob("*.svg")) - set(files):
        path.unlink()
    for path, text in files.items():
        fresh = path.with_name(path.name + ".new")
        fresh.write_text(text, encoding="utf-8")
        fresh.chmod(0o644)  # these are for everybody, whatever the umask
        os.replace(fresh, path)
    for place in (directory, directory / "status", badges):
        place.chmod(0o755)
