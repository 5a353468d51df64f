"""Monitors as code (see `opsapp.runtime.ascode`). A name twice means two monitors, in the order they were made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from opsapp.lib.problems import Invalid
from opsapp.monitoring.logic.settings import complete as with_defaults
from opsapp.monitoring.logic.settings import options, problems, without_secrets
from opsapp.monitoring.resources import monitors_of
from opsapp.runtime.ascode import HIDDEN, Stored, kept
from opsapp.runtime.node import Node
from opsapp.tree.root import Root

from . import changes


def stored(_node: Node, root: Root) -> Iterator[Stored]:
    for monitor in sorted(monitors_of(root).values(), key=lambda monitor: (monitor.created_at, monitor.series)):
        yield Stored(monitor.id, dict(monitor.settings))


def complete(node: Node, _root: Root, given: dict[str, Any], present: dict[str, Any] | None) -> dict[str, Any]:
    fields = with_defaults(given, options(node.config)["defaults"])
    fields["url"] = _with_credentials(fields["url"], present["url"] if present else None)
    before = present["headers"] if present else {}
    fields["headers"] = {
        name: kept(f"headers.{name}", value, before.get(name)) for name, value in fields["headers"].items()
    }
    wrong = problems(fields)
    if wrong:
        raise Invalid(wrong)
    return fields


def _with_credentials(url: str, present: str | None) -> str:
    parts = urlsplit(url)
    if not parts.netloc.startswith(f"{HIDDEN}@"):
        return url
    known = urlsplit(present or "").netloc.rpartition("@")[0] or None
    credentials = kept("url", HIDDEN, known)
    return parts._replace(netloc=f"{credentials}@{parts.netloc.rpartition('@')[2]}").geturl()


shown = without_secrets


def create(node: Node, root: Root, fields: dict[str, Any]) -> str:
    return changes.create(root, fields, node.series.numbers.take()[0], node.clock.now())


def update(node: Node, root: Root, each: str, fields: dict[str, Any]) -> None:
    changes.update(root, monitors_of(root)[each], fields, node.clock.now())


def delete(node: Node, root: Root, each: str) -> None:
    changes.delete(root, monitors_of(root)[each], node.clock.now())
